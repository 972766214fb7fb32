//! Derives the next version of a zone's contents, and the difference between both.

use std::collections::BTreeSet;

use wire::{Name, Rtype};

use super::{Contents, check_owner, count, is_cut};
use crate::difference::Difference;
use crate::key::{self, Key};
use crate::record::Refusal;
use crate::set::{OwnedSets, Sets};
use wire::message::Record;

/// Changes to a zone that become visible together or not at all.
pub struct Editor<'c> {
    before: &'c Contents,
    after: Contents,
    changed: BTreeSet<Box<[u8]>>,
}

impl Contents {
    pub fn edit(&self) -> Editor<'_> {
        Editor { before: self, after: self.clone(), changed: BTreeSet::new() }
    }
}

impl<'c> Editor<'c> {
    /// The contents with the changes so far, unchecked.
    pub fn contents(&self) -> &Contents {
        &self.after
    }

    /// Adds a record; the whole set gets its TTL (RFC 2181 §5.2). False if nothing changes.
    pub fn add(&mut self, record: &Record<'_>) -> Result<bool, Refusal> {
        let key = self.after.admit(record)?;
        Ok(self.change(key.bytes(), |sets| {
            // The only type that replaces its predecessor: a zone has exactly one.
            if record.rtype == Rtype::SOA {
                sets.remove_type(Rtype::SOA);
            }
            let added = sets.add(record.rtype, record.ttl, record.data);
            let retimed = sets.set_mut(record.rtype, record.data).is_some_and(|set| {
                let old = std::mem::replace(&mut set.ttl, record.ttl);
                old != record.ttl
            });
            added || retimed
        }))
    }

    /// Removes a record, whatever its TTL; false if it is not there.
    pub fn remove(&mut self, record: &Record<'_>) -> bool {
        let Some(key) = Key::of(record.owner, self.after.origin()) else { return false };
        self.change(key.bytes(), |sets| sets.remove(record.rtype, record.data))
    }

    /// Removes the set of a type; false if there is none.
    pub fn remove_set(&mut self, owner: Name<'_>, rtype: Rtype) -> bool {
        let Some(key) = Key::of(owner, self.after.origin()) else { return false };
        self.change(key.bytes(), |sets| sets.remove_type(rtype))
    }

    /// Replaces the record sets of one owner by what `change` makes of them; it returns whether it changed anything.
    fn change(&mut self, key: &[u8], change: impl FnOnce(&mut OwnedSets) -> bool) -> bool {
        let old = self.after.tree.get(key).unwrap_or_default();
        let mut sets = OwnedSets::new(old);
        if !change(&mut sets) {
            return false;
        }
        let mut packed = Vec::with_capacity(old.0.len() + 64);
        sets.pack(&mut packed);
        let (had, has) = (is_cut(key, old), is_cut(key, Sets(&packed)));
        self.after.cuts = self.after.cuts + usize::from(has) - usize::from(had);
        self.after.records = self.after.records + count(Sets(&packed)) - count(old);
        self.after.tree.set(key, &packed);
        if !self.changed.contains(key) {
            self.changed.insert(key.into());
        }
        true
    }

    /// The next contents and the difference, if the changes leave a valid zone. The serial is the caller's to raise.
    pub fn finish(self) -> Result<(Contents, Difference), Refusal> {
        let Editor { before, after, changed } = self;
        for key in &changed {
            let sets = after.tree.get(key).unwrap_or_default();
            check_owner(|| key::name_of(key, after.origin()).to_string(), sets)?;
        }
        if after.soa_set().is_none() {
            return Err(Refusal::NoSoa { origin: after.origin.to_string() });
        }
        let difference = Difference::of_owners(before, &after, changed.iter().map(|key| &**key));
        Ok((after, difference))
    }
}
