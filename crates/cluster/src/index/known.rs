//! The objects of one kind by their keys, and which of them the current list has shown.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::Indexed;

pub(super) struct Known<T> {
    records: HashTable<Record<T>>,
    seed: RandomState,
    /// The number of the last list that began.
    list: u32,
    listing: bool,
}

struct Record<T> {
    object: Arc<T>,
    /// The number of the list during which, or after which, the object came last.
    seen: u32,
}

impl<T: Indexed> Known<T> {
    pub fn new() -> Self {
        Self { records: HashTable::new(), seed: RandomState::default(), list: 0, listing: false }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Keeps an object and returns the one it replaces, if any, and itself. None: nothing is different.
    pub fn put(&mut self, object: T) -> Option<(Option<Arc<T>>, Arc<T>)> {
        let (seed, seen) = (&self.seed, self.list);
        let key = object.key();
        let same = |record: &Record<T>| record.object.key() == key;
        match self.records.entry(hash(seed, key), same, |record| hash(seed, record.object.key())) {
            Entry::Occupied(mut entry) => {
                let record = entry.get_mut();
                record.seen = seen;
                if *record.object == object {
                    return None;
                }
                let new = Arc::new(object);
                let old = std::mem::replace(&mut record.object, Arc::clone(&new));
                Some((Some(old), new))
            }
            Entry::Vacant(entry) => {
                let new = Arc::new(object);
                entry.insert(Record { object: Arc::clone(&new), seen });
                Some((None, new))
            }
        }
    }

    pub fn keep(&mut self, key: &[u8]) {
        let list = self.list;
        let record = self.records.find_mut(hash(&self.seed, key), |record| record.object.key() == key);
        record.into_iter().for_each(|record| record.seen = list);
    }

    pub fn all(&self) -> Vec<Arc<T>> {
        self.records.iter().map(|record| Arc::clone(&record.object)).collect()
    }

    pub fn take(&mut self, key: &[u8]) -> Option<Arc<T>> {
        let found = self.records.find_entry(hash(&self.seed, key), |record| record.object.key() == key);
        let taken = found.ok()?.remove().0.object;
        self.shrink();
        Some(taken)
    }

    /// A list that never ended is forgotten: only what this one shows counts.
    pub fn list_begins(&mut self) {
        self.list = self.list.wrapping_add(1);
        self.listing = true;
    }

    /// Gives up and returns what the list did not show.
    pub fn list_ends(&mut self) -> Vec<Arc<T>> {
        if !std::mem::take(&mut self.listing) {
            return Vec::new();
        }
        let list = self.list;
        let missing =
            self.records.extract_if(|record| record.seen != list).map(|record| record.object).collect();
        self.shrink();
        missing
    }

    /// A table that was much larger once becomes smaller; not by so little that the next object makes it grow again.
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
