//! Objects that make the code panic. They are skipped, named in the log and counted; all others are served.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::object::{Identity, Kind};

/// No more are remembered. Others are tried again with every list.
const MOST: usize = 1000;

/// An object that panicked in so many versions is not tried again before it was deleted.
const TRIES: u32 = 3;

/// Tells the versions of an object apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version(u64);

impl Version {
    pub(crate) fn of(resource_version: &str) -> Self {
        Self(FixedState::default().hash_one(resource_version))
    }

    /// Of an object in a file, by how many files were read before.
    pub(crate) fn of_reading(number: u64) -> Self {
        Self(number)
    }
}

#[derive(Debug, Default)]
pub(super) struct Quarantine(BTreeMap<Identity, Entry>);

#[derive(Debug)]
struct Entry {
    /// The version that is skipped; None if its watch could not read it: one that arrives here was read.
    version: Option<Version>,
    panics: u32,
    /// The current list has it, or began before it was put here.
    listed: bool,
}

impl Quarantine {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts an object here. Returns what to do about it, if that was not logged for this version.
    pub fn put(&mut self, identity: &Identity, version: Option<Version>) -> Option<&'static str> {
        let known = self.0.get(identity);
        let is_new = known.is_none_or(|entry| version.is_some() && entry.version != version);
        let panics = known.map_or(1, |entry| entry.panics + u32::from(is_new));
        if known.is_some() || self.0.len() < MOST {
            self.0.insert(identity.clone(), Entry { version, panics, listed: true });
        }
        is_new.then_some(if panics < TRIES { "fix or delete it" } else { "delete it, changes are ignored" })
    }

    pub fn skips(&mut self, identity: &Identity, version: Version) -> bool {
        let Some(entry) = self.0.get_mut(identity) else { return false };
        entry.listed = true;
        entry.version.is_some_and(|skipped| skipped == version || entry.panics >= TRIES)
    }

    /// The object is gone, or is served again. Returns whether it was here.
    pub fn remove(&mut self, identity: &Identity) -> bool {
        self.0.remove(identity).is_some()
    }

    pub fn list_begins(&mut self, kind: Kind) {
        self.0.iter_mut().filter(|(it, _)| it.kind() == kind).for_each(|(_, entry)| entry.listed = false);
    }

    /// What the list did not have was deleted.
    pub fn list_ends(&mut self, kind: Kind) {
        self.0.retain(|identity, entry| identity.kind() != kind || entry.listed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_skipped_until_it_changes_a_few_times() {
        let web = Identity::new(Kind::Service, "shop", "web").expect("a name");
        let version = |n: u64| Version::of(&n.to_string());
        let mut quarantine = Quarantine::default();
        assert!(!quarantine.skips(&web, version(1)));
        for n in 1..=3 {
            let advice = if n < 3 { "fix or delete it" } else { "delete it, changes are ignored" };
            assert_eq!(quarantine.put(&web, Some(version(n))), Some(advice));
            assert_eq!(quarantine.put(&web, Some(version(n))), None, "said already");
            assert!(quarantine.skips(&web, version(n)));
            assert_eq!(quarantine.skips(&web, version(n + 1)), n == 3);
        }
        assert!(quarantine.remove(&web) && !quarantine.skips(&web, version(3)));
        assert_eq!(quarantine.put(&web, None), Some("fix or delete it"));
        assert!(!quarantine.skips(&web, version(3)), "its watch could read it now");
    }

    #[test]
    fn what_a_list_does_not_have_is_gone() {
        let service = |name: &str| Identity::new(Kind::Service, "shop", name).expect("a name");
        let mut quarantine = Quarantine::default();
        for name in ["stays", "goes"] {
            quarantine.put(&service(name), Some(Version::default()));
        }
        quarantine.put(&Identity::new(Kind::Pod, "shop", "other").expect("a name"), None);
        quarantine.list_begins(Kind::Service);
        quarantine.put(&service("new"), None);
        assert!(quarantine.skips(&service("stays"), Version::default()));
        quarantine.list_ends(Kind::Service);
        let left: Vec<String> = quarantine.0.keys().map(ToString::to_string).collect();
        assert_eq!(left, ["Service shop/new", "Service shop/stays", "Pod shop/other"]);
    }

    #[test]
    fn there_is_an_end_to_it() {
        let mut quarantine = Quarantine::default();
        for n in 0..2 * MOST {
            let identity = Identity::new(Kind::Pod, "shop", &n.to_string()).expect("a name");
            assert!(quarantine.put(&identity, None).is_some());
        }
        assert_eq!(quarantine.len(), MOST);
    }
}
