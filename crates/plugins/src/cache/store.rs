//! Where entries lie: 256 shards of buckets, read without a lock.
//!
//! ```text
//! hash ─┬─ low 8 bits ──→ shard ─────┐
//!       └─ bits above ──→ bucket ────┴─→ ArcSwapOption<Bucket> ──→ (hash, entry), seldom more than one
//! ```
//!
//! A bucket is never changed, only replaced, by whoever holds its shard's lock. A reader holds the bucket it
//! loaded and with it all entries in it, whatever happens meanwhile. Beside each bucket lies an octet with a bit for
//! each of its hashes: most look-ups of what is not here end there, without holding anything.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwapOption, Guard};

use super::entry::{Answering, Entry};

const SHARDS: usize = 256;
/// However small a capacity is asked for, a shard holds this many.
const LEAST: usize = 4;
/// Beyond this many buckets lie longer instead of there being more: nobody knows whether they will ever be used.
const MOST_BUCKETS: usize = 4096;

/// Entries by hash, up to a number per shard; more put a random one out.
pub(super) struct Store {
    buckets: Box<[ArcSwapOption<Bucket>]>,
    tags: Box<[AtomicU8]>,
    /// How many belong to a shard; a power of two.
    per_shard: usize,
    capacity: usize,
    /// How many entries each shard has; whoever writes to a shard holds its lock.
    lens: Box<[Mutex<usize>]>,
    len: AtomicUsize,
}

#[derive(Clone)]
struct Slot {
    hash: u64,
    entry: Arc<Entry>,
}

/// Entries whose hashes fall together. The first, mostly the only one, lies in place.
#[derive(Clone)]
struct Bucket {
    first: Slot,
    more: Vec<Slot>,
}

impl Bucket {
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        std::iter::once(&self.first).chain(&self.more)
    }

    fn of(slots: impl IntoIterator<Item = Slot>) -> Option<Arc<Bucket>> {
        let mut slots = slots.into_iter();
        let first = slots.next()?;
        Some(Arc::new(Bucket { first, more: slots.collect() }))
    }
}

/// An entry that was found, held as long as this is.
pub(super) struct Found {
    bucket: Guard<Option<Arc<Bucket>>>,
    /// The number of the slot.
    at: usize,
    last_good: bool,
}

impl Found {
    pub fn entry(&self) -> Option<&Arc<Entry>> {
        let bucket = self.bucket.as_ref()?;
        let slot = if self.at == 0 { &bucket.first } else { bucket.more.get(self.at - 1)? };
        if self.last_good { slot.entry.last_good.as_ref() } else { Some(&slot.entry) }
    }

    /// The one of two that was said to answer.
    pub fn choose(mut self, answering: Answering) -> Option<Found> {
        self.last_good = answering == Answering::LastGood;
        (answering != Answering::None).then_some(self)
    }
}

impl Store {
    /// `capacity` entries, less what does not divide by 256. One below zero is taken for none.
    pub fn new(capacity: i64) -> Store {
        let capacity = (usize::try_from(capacity).unwrap_or(0) / SHARDS).max(LEAST);
        let per_shard = capacity.min(MOST_BUCKETS).next_power_of_two();
        Store {
            buckets: (0..SHARDS * per_shard).map(|_| ArcSwapOption::empty()).collect(),
            tags: (0..SHARDS * per_shard).map(|_| AtomicU8::new(0)).collect(),
            per_shard,
            capacity,
            lens: (0..SHARDS).map(|_| Mutex::new(0)).collect(),
            len: AtomicUsize::new(0),
        }
    }

    pub fn get(&self, hash: u64) -> Option<Found> {
        let place = self.place(hash);
        if self.tags[place].load(Ordering::Acquire) & tag(hash) == 0 {
            return None;
        }
        let bucket = self.buckets[place].load();
        let at = bucket.as_ref()?.slots().position(|slot| slot.hash == hash)?;
        Some(Found { bucket, at, last_good: false })
    }

    /// Stores an entry in the place of the one with its hash. True if another had to go for it.
    pub fn insert(&self, entry: Arc<Entry>) -> bool {
        let hash = entry.hash;
        let mut len = self.lock(hash);
        let place = self.place(hash);
        let known = self.buckets[place]
            .load_full()
            .is_some_and(|bucket| bucket.slots().any(|slot| slot.hash == hash));
        let evicted = !known && *len >= self.capacity && self.evict(shard(hash), &mut len);
        if !known {
            *len += 1;
            self.len.fetch_add(1, Ordering::Relaxed);
        }
        // Loaded again: the one that went may have lain here.
        let others = self.rest(place, hash);
        self.put(place, Bucket::of(std::iter::once(Slot { hash, entry }).chain(others)));
        evicted
    }

    pub fn remove(&self, hash: u64) {
        let place = self.place(hash);
        // Mostly there is none, and then there is nothing to lock for.
        if self.buckets[place].load().is_none() {
            return;
        }
        let mut len = self.lock(hash);
        self.take_out(place, hash, &mut len);
    }

    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Moves all entries to new, adjacent memory. The old ones are freed at the end: freed one by one, the allocator
    /// would reuse their places for the next.
    pub fn compact(&self) {
        let mut before = Vec::new();
        for shard in 0..SHARDS {
            let _len = self.lock(shard as u64);
            for place in shard * self.per_shard..(shard + 1) * self.per_shard {
                let Some(bucket) = self.buckets[place].load_full() else { continue };
                let moved = bucket.slots().map(|slot| Slot { hash: slot.hash, entry: slot.entry.moved() });
                self.put(place, Bucket::of(moved));
                before.push(bucket);
            }
        }
    }

    /// Puts a random entry of the shard out.
    fn evict(&self, shard: usize, len: &mut usize) -> bool {
        let random: u64 = rand::random();
        let first = shard * self.per_shard;
        for step in 0..self.per_shard {
            let place = first + (random as usize + step) % self.per_shard;
            if let Some(bucket) = self.buckets[place].load_full() {
                let number = (random >> 32) as usize % (1 + bucket.more.len());
                let Some(hash) = bucket.slots().nth(number).map(|slot| slot.hash) else { continue };
                self.take_out(place, hash, len);
                return true;
            }
        }
        false
    }

    fn take_out(&self, place: usize, hash: u64, len: &mut usize) {
        let Some(bucket) = self.buckets[place].load_full() else { return };
        let others: Vec<Slot> = self.rest(place, hash).collect();
        if others.len() == 1 + bucket.more.len() {
            return;
        }
        self.put(place, Bucket::of(others));
        *len -= 1;
        self.len.fetch_sub(1, Ordering::Relaxed);
    }

    /// Where the bucket of a hash lies.
    fn place(&self, hash: u64) -> usize {
        let within = (hash as usize / SHARDS) & (self.per_shard - 1);
        shard(hash) * self.per_shard + within
    }

    fn put(&self, place: usize, bucket: Option<Arc<Bucket>>) {
        let tags =
            bucket.iter().flat_map(|bucket| bucket.slots()).fold(0, |tags, slot| tags | tag(slot.hash));
        self.buckets[place].store(bucket);
        self.tags[place].store(tags, Ordering::Release);
    }

    /// The slots of a bucket with other hashes.
    fn rest(&self, place: usize, hash: u64) -> impl Iterator<Item = Slot> + use<> {
        let bucket = self.buckets[place].load_full();
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

/// The bit of a hash; from its upper end, since the lower one says where it lies.
fn tag(hash: u64) -> u8 {
    1 << (hash >> 61)
}
