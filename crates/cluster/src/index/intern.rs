//! Interns values that many objects share: port lists and keys.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::key::Key;
use crate::object::Ports;
use crate::snapshot::Snapshot;

/// Smaller tables are not swept for unused lists.
const MIN_SWEEP_SIZE: usize = 64;

/// The distinct port lists of all objects.
pub(super) struct PortLists {
    lists: HashTable<Ports>,
    seed: RandomState,
    /// The number of lists at which unused ones are dropped.
    sweep_at: usize,
}

impl PortLists {
    pub fn new() -> Self {
        Self { lists: HashTable::new(), seed: RandomState::default(), sweep_at: MIN_SWEEP_SIZE }
    }

    /// Replaces a list by the equal one in the table, or adds it.
    pub fn intern(&mut self, ports: &mut Ports) {
        if ports.is_empty() {
            return;
        }
        if self.lists.len() >= self.sweep_at {
            self.sweep_unused();
        }
        let hash = |list: &Ports| self.seed.hash_one(list);
        match self.lists.entry(hash(ports), |known| known == ports, hash) {
            Entry::Occupied(known) => *ports = Arc::clone(known.get()),
            Entry::Vacant(place) => drop(place.insert(Arc::clone(ports))),
        }
    }

    fn sweep_unused(&mut self) {
        self.lists.retain(|list| Arc::strong_count(list) > 1);
        self.sweep_at = MIN_SWEEP_SIZE.max(2 * self.lists.len());
    }
}

impl Snapshot {
    /// Replaces a key by the equal one of its entry, if there is one.
    pub(super) fn intern_key(&self, key: &mut Key) {
        if let Some(entry) = self.entry(key.as_bytes()) {
            key.clone_from(&entry.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Port;

    fn list(number: u16) -> Ports {
        [Port { name: "http".into(), protocol: "TCP".into(), number: Some(number) }].into()
    }

    #[test]
    fn equal_lists_share_memory_and_unused_ones_are_dropped() {
        let mut lists = PortLists::new();
        let (mut one, mut other, mut different) = (list(80), list(80), list(81));
        for ports in [&mut one, &mut other, &mut different] {
            lists.intern(ports);
        }
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &different));
        assert_eq!((&one, &different), (&list(80), &list(81)));
        for number in 100..10_000 {
            lists.intern(&mut list(number));
        }
        assert!(lists.lists.len() <= MIN_SWEEP_SIZE, "{} lists of which 2 are used", lists.lists.len());
        let mut again = list(80);
        lists.intern(&mut again);
        assert!(Arc::ptr_eq(&one, &again));
    }
}
