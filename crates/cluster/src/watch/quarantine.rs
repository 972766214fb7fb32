//! Objects whose current version makes the code panic: skipped, logged and counted, while all others are served.

use std::collections::BTreeMap;

use kube_api::Version;

use crate::object::{Identity, Kind};

/// Maximum number of entries. Objects beyond it are tried again with every list.
const CAPACITY: usize = 1000;

/// After panics in this many versions an object is skipped until it is deleted.
const TRIES: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Quarantine(BTreeMap<Identity, Entry>);

#[derive(Debug)]
struct Entry {
    /// The version to skip; None if the reflector could not decode it: a version that reaches the writer was decoded.
    version: Option<Version>,
    panics: u32,
    /// The current list contains the object, or began before this entry was added.
    listed: bool,
}

impl Quarantine {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds an object. Returns advice to log, unless this version was logged before.
    pub fn put(&mut self, identity: &Identity, version: Option<Version>) -> Option<&'static str> {
        let entry = self.0.get(identity);
        let is_new = entry.is_none_or(|entry| version.is_some() && entry.version != version);
        let panics = entry.map_or(1, |entry| entry.panics + u32::from(is_new));
        if entry.is_some() || self.0.len() < CAPACITY {
            self.0.insert(identity.clone(), Entry { version, panics, listed: true });
        }
        is_new.then_some(if panics < TRIES { "fix or delete it" } else { "delete it, changes are ignored" })
    }

    pub fn skips(&mut self, identity: &Identity, version: Version) -> bool {
        let Some(entry) = self.0.get_mut(identity) else { return false };
        entry.listed = true;
        entry.version.is_some_and(|skipped| skipped == version || entry.panics >= TRIES)
    }

    /// Removes an object that was deleted or is served again. Returns whether it was present.
    pub fn remove(&mut self, identity: &Identity) -> bool {
        self.0.remove(identity).is_some()
    }

    pub fn list_begins(&mut self, kind: Kind) {
        self.0.iter_mut().filter(|(it, _)| it.kind() == kind).for_each(|(_, entry)| entry.listed = false);
    }

    /// Removes the objects that the list did not contain: they were deleted.
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
            assert_eq!(quarantine.put(&web, Some(version(n))), None, "logged already");
            assert!(quarantine.skips(&web, version(n)));
            assert_eq!(quarantine.skips(&web, version(n + 1)), n == 3);
        }
        assert!(quarantine.remove(&web) && !quarantine.skips(&web, version(3)));
        assert_eq!(quarantine.put(&web, None), Some("fix or delete it"));
        assert!(!quarantine.skips(&web, version(3)), "the reflector decoded it this time");
    }

    #[test]
    fn a_list_removes_entries_it_does_not_contain() {
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
    fn the_number_of_entries_is_limited() {
        let mut quarantine = Quarantine::default();
        for n in 0..2 * CAPACITY {
            let identity = Identity::new(Kind::Pod, "shop", &n.to_string()).expect("a name");
            assert!(quarantine.put(&identity, None).is_some());
        }
        assert_eq!(quarantine.len(), CAPACITY);
    }
}
