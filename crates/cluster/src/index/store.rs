//! The objects of one kind by key, and which of them the current list contains.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::Indexed;

pub(super) struct Store<T> {
    records: HashTable<Record<T>>,
    seed: RandomState,
    /// The number of the latest list.
    list: u32,
    listing: bool,
}

struct Record<T> {
    object: Arc<T>,
    /// The number of the latest list when the object last arrived.
    last_list: u32,
}

impl<T: Indexed> Store<T> {
    pub fn new() -> Self {
        Self { records: HashTable::new(), seed: RandomState::default(), list: 0, listing: false }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Stores an object. Returns the replaced one, if any, and the new one; None if they are equal.
    pub fn put(&mut self, object: T) -> Option<(Option<Arc<T>>, Arc<T>)> {
        let (seed, last_list) = (&self.seed, self.list);
        let key = object.key();
        let same = |record: &Record<T>| record.object.key() == key;
        match self.records.entry(hash(seed, key), same, |record| hash(seed, record.object.key())) {
            Entry::Occupied(mut entry) => {
                let record = entry.get_mut();
                record.last_list = last_list;
                if *record.object == object {
                    return None;
                }
                let new = Arc::new(object);
                let old = std::mem::replace(&mut record.object, Arc::clone(&new));
                Some((Some(old), new))
            }
            Entry::Vacant(entry) => {
                let new = Arc::new(object);
                entry.insert(Record { object: Arc::clone(&new), last_list });
                Some((None, new))
            }
        }
    }

    pub fn mark_listed(&mut self, key: &[u8]) {
        let list = self.list;
        let record = self.records.find_mut(hash(&self.seed, key), |record| record.object.key() == key);
        record.into_iter().for_each(|record| record.last_list = list);
    }

    pub fn all(&self) -> Vec<Arc<T>> {
        self.records.iter().map(|record| Arc::clone(&record.object)).collect()
    }

    pub fn remove(&mut self, key: &[u8]) -> Option<Arc<T>> {
        let found = self.records.find_entry(hash(&self.seed, key), |record| record.object.key() == key);
        let taken = found.ok()?.remove().0.object;
        self.shrink();
        Some(taken)
    }

    /// A previous list that did not end is discarded: only objects of this one stay.
    pub fn list_begins(&mut self) {
        self.list = self.list.wrapping_add(1);
        self.listing = true;
    }

    /// Removes and returns the objects that the list did not contain.
    pub fn list_ends(&mut self) -> Vec<Arc<T>> {
        if !std::mem::take(&mut self.listing) {
            return Vec::new();
        }
        let list = self.list;
        let missing =
            self.records.extract_if(|record| record.last_list != list).map(|record| record.object).collect();
        self.shrink();
        missing
    }

    /// Shrinks a mostly empty table, with room left so that the next object does not make it grow again.
    fn shrink(&mut self) {
        let room = 4 * self.records.len();
        if room < self.records.capacity() {
            let seed = &self.seed;
            self.records.shrink_to(room / 2, |record| hash(seed, record.object.key()));
        }
    }
}

fn hash(seed: &RandomState, key: &[u8]) -> u64 {
    let mut hasher = seed.build_hasher();
    hasher.write(key);
    hasher.finish()
}
