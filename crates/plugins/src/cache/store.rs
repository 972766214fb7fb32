//! The entry store: 256 shards of buckets, read without a lock.
//!
//! ```text
//! hash ─┬─ low 8 bits ──→ shard ─────┐
//!       └─ bits above ──→ bucket ────┴─→ ArcSwapOption<Bucket> ──→ (hash, entry), rarely more than one
//! ```
//!
//! Buckets are immutable; a writer replaces them under its shard's lock. A reader's guard keeps the bucket it loaded,
//! with its entries, alive. Beside each bucket is an octet with a bit per hash, where most misses end without loading
//! the bucket.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwapOption, Guard};

use super::entry::{AnsweringEntry, Entry};

const SHARDS: usize = 256;
/// Minimum capacity of a shard, whatever the configured capacity.
const MIN_SHARD_CAPACITY: usize = 4;
/// Maximum number of buckets per shard. Beyond it buckets grow instead, since a large capacity may never be used.
const MAX_BUCKETS: usize = 4096;

/// Entries by hash, up to a capacity per shard; a full shard evicts a random entry.
pub(super) struct Store {
    buckets: Box<[ArcSwapOption<Bucket>]>,
    tags: Box<[AtomicU8]>,
    /// Buckets per shard; a power of two.
    per_shard: usize,
    capacity: usize,
    /// Entries per shard; writers hold the lock of their shard.
    lens: Box<[Mutex<usize>]>,
    len: AtomicUsize,
}

#[derive(Clone)]
struct Slot {
    hash: u64,
    entry: Arc<Entry>,
}

/// Entries whose hashes share a bucket. The first, usually the only one, is stored inline.
#[derive(Clone)]
struct Bucket {
    first: Slot,
    more: Vec<Slot>,
}

impl Bucket {
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        std::iter::once(&self.first).chain(&self.more)
    }

    fn from_slots(slots: impl IntoIterator<Item = Slot>) -> Option<Arc<Bucket>> {
        let mut slots = slots.into_iter();
        let first = slots.next()?;
        Some(Arc::new(Bucket { first, more: slots.collect() }))
    }
}

/// A guard on an entry in the store.
pub(super) struct EntryRef {
    bucket: Guard<Option<Arc<Bucket>>>,
    /// Index of the slot.
    at: usize,
    last_good: bool,
}

impl EntryRef {
    pub fn entry(&self) -> Option<&Arc<Entry>> {
        let bucket = self.bucket.as_ref()?;
        let slot = if self.at == 0 { &bucket.first } else { bucket.more.get(self.at - 1)? };
        if self.last_good { slot.entry.last_good.as_ref() } else { Some(&slot.entry) }
    }

    /// Points to the entry that answers; None if neither does.
    pub fn choose(mut self, answering: AnsweringEntry) -> Option<EntryRef> {
        self.last_good = answering == AnsweringEntry::LastGood;
        (answering != AnsweringEntry::None).then_some(self)
    }
}

impl Store {
    /// Capacity is rounded down to a multiple of 256; a negative one is taken as zero.
    pub fn new(capacity: i64) -> Store {
        let capacity = (usize::try_from(capacity).unwrap_or(0) / SHARDS).max(MIN_SHARD_CAPACITY);
        let per_shard = capacity.min(MAX_BUCKETS).next_power_of_two();
        Store {
            buckets: (0..SHARDS * per_shard).map(|_| ArcSwapOption::empty()).collect(),
            tags: (0..SHARDS * per_shard).map(|_| AtomicU8::new(0)).collect(),
            per_shard,
            capacity,
            lens: (0..SHARDS).map(|_| Mutex::new(0)).collect(),
            len: AtomicUsize::new(0),
        }
    }

    pub fn get(&self, hash: u64) -> Option<EntryRef> {
        let index = self.bucket_index(hash);
        if self.tags[index].load(Ordering::Acquire) & tag(hash) == 0 {
            return None;
        }
        let bucket = self.buckets[index].load();
        let at = bucket.as_ref()?.slots().position(|slot| slot.hash == hash)?;
        Some(EntryRef { bucket, at, last_good: false })
    }

    /// Stores an entry, replacing the one with the same hash. True if another was evicted.
    pub fn insert(&self, entry: Arc<Entry>) -> bool {
        let hash = entry.hash;
        let mut len = self.lock(hash);
        let index = self.bucket_index(hash);
        let known = self.buckets[index]
            .load_full()
            .is_some_and(|bucket| bucket.slots().any(|slot| slot.hash == hash));
        let evicted = !known && *len >= self.capacity && self.evict(shard(hash), &mut len);
        if !known {
            *len += 1;
            self.len.fetch_add(1, Ordering::Relaxed);
        }
        // Loaded again: the evicted entry may have been in this bucket.
        let others = self.other_slots(index, hash);
        self.replace(index, Bucket::from_slots(std::iter::once(Slot { hash, entry }).chain(others)));
        evicted
    }

    pub fn remove(&self, hash: u64) {
        let index = self.bucket_index(hash);
        // Most often there is none, and no need for the lock.
        if self.buckets[index].load().is_none() {
            return;
        }
        let mut len = self.lock(hash);
        self.remove_slot(index, hash, &mut len);
    }

    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Moves all entries to new, adjacent memory. The old ones are freed at the end: if freed one by one, the allocator
    /// would reuse their memory for the next.
    pub fn compact(&self) {
        let mut before = Vec::new();
        for shard in 0..SHARDS {
            let _len = self.lock(shard as u64);
            for index in shard * self.per_shard..(shard + 1) * self.per_shard {
                let Some(bucket) = self.buckets[index].load_full() else { continue };
                let moved =
                    bucket.slots().map(|slot| Slot { hash: slot.hash, entry: slot.entry.relocated() });
                self.replace(index, Bucket::from_slots(moved));
                before.push(bucket);
            }
        }
    }

    /// Evicts a random entry of the shard.
    fn evict(&self, shard: usize, len: &mut usize) -> bool {
        let random: u64 = rand::random();
        let first = shard * self.per_shard;
        for step in 0..self.per_shard {
            let index = first + (random as usize + step) % self.per_shard;
            if let Some(bucket) = self.buckets[index].load_full() {
                let number = (random >> 32) as usize % (1 + bucket.more.len());
                let Some(hash) = bucket.slots().nth(number).map(|slot| slot.hash) else { continue };
                self.remove_slot(index, hash, len);
                return true;
            }
        }
        false
    }

    fn remove_slot(&self, index: usize, hash: u64, len: &mut usize) {
        let Some(bucket) = self.buckets[index].load_full() else { return };
        let others: Vec<Slot> = self.other_slots(index, hash).collect();
        if others.len() == 1 + bucket.more.len() {
            return;
        }
        self.replace(index, Bucket::from_slots(others));
        *len -= 1;
        self.len.fetch_sub(1, Ordering::Relaxed);
    }

    /// The bucket index of a hash.
    fn bucket_index(&self, hash: u64) -> usize {
        let within = (hash as usize / SHARDS) & (self.per_shard - 1);
        shard(hash) * self.per_shard + within
    }

    fn replace(&self, index: usize, bucket: Option<Arc<Bucket>>) {
        let tags =
            bucket.iter().flat_map(|bucket| bucket.slots()).fold(0, |tags, slot| tags | tag(slot.hash));
        self.buckets[index].store(bucket);
        self.tags[index].store(tags, Ordering::Release);
    }

    /// The slots of a bucket that have other hashes.
    fn other_slots(&self, index: usize, hash: u64) -> impl Iterator<Item = Slot> + use<> {
        let bucket = self.buckets[index].load_full();
        let slots: Vec<Slot> = bucket
            .iter()
            .flat_map(|bucket| bucket.slots())
            .filter(|slot| slot.hash != hash)
            .cloned()
            .collect();
        slots.into_iter()
    }

    fn lock(&self, hash: u64) -> MutexGuard<'_, usize> {
        self.lens[shard(hash)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shard(hash: u64) -> usize {
    hash as usize % SHARDS
}

/// The tag bit of a hash, from its upper bits: the lower ones choose the bucket.
fn tag(hash: u64) -> u8 {
    1 << (hash >> 61)
}
