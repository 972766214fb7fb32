//! What is alike in many objects is kept once: lists of ports, and the names that objects call each other by.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::key::Key;
use crate::object::Ports;
use crate::snapshot::Snapshot;

/// Below this it is not worth to look for lists that nobody has any more.
const FEW: usize = 64;

/// Every list of ports that some object has.
pub(super) struct PortLists {
    lists: HashTable<Ports>,
    seed: RandomState,
    /// How many there may be before those that nobody has any more are dropped.
    most: usize,
}

impl PortLists {
    pub fn new() -> Self {
        Self { lists: HashTable::new(), seed: RandomState::default(), most: FEW }
    }

    /// Replaces a list by the one that is known, or makes it known.
    pub fn share(&mut self, ports: &mut Ports) {
        if ports.is_empty() {
            return;
        }
        if self.lists.len() >= self.most {
            self.drop_unused();
        }
        let hash = |list: &Ports| self.seed.hash_one(list);
        match self.lists.entry(hash(ports), |known| known == ports, hash) {
            Entry::Occupied(known) => *ports = Arc::clone(known.get()),
            Entry::Vacant(place) => drop(place.insert(Arc::clone(ports))),
        }
    }

    fn drop_unused(&mut self) {
        self.lists.retain(|list| Arc::strong_count(list) > 1);
        self.most = FEW.max(2 * self.lists.len());
    }
}

impl Snapshot {
    /// Replaces a key by that of the entry it leads to, if that is there: they are equal, and now the same.
    pub(super) fn share_key(&self, key: &mut Key) {
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
    fn like_lists_are_one_and_unused_ones_go() {
        let mut lists = PortLists::new();
        let (mut one, mut other, mut different) = (list(80), list(80), list(81));
        for ports in [&mut one, &mut other, &mut different] {
            lists.share(ports);
        }
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &different));
        assert_eq!((&one, &different), (&list(80), &list(81)));
        for number in 100..10_000 {
            lists.share(&mut list(number));
        }
        assert!(lists.lists.len() <= FEW, "{} lists of which 2 are used", lists.lists.len());
        let mut again = list(80);
        lists.share(&mut again);
        assert!(Arc::ptr_eq(&one, &again));
    }
}
