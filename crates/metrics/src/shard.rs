//! Selects the cell that the calling thread counts into.
//!
//! A worker owns a cell that no other thread writes: it counts with a load and a store, where others need an atomic
//! addition, which takes ten times as long.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Cells per counter.
pub const SHARDS: usize = 16;

/// Cells that a thread can own. There are at most 8 workers by default; all other threads share the remaining cells.
pub(crate) const OWNED_SHARDS: usize = 12;

const UNSET: usize = usize::MAX;

static NEXT: AtomicUsize = AtomicUsize::new(0);
/// A bit for each cell that has an owner.
static OWNED_BITS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(UNSET) };
    static OWNERSHIP: Cell<Option<Ownership>> = const { Cell::new(None) };
}

/// Dropped at the end of its thread, which frees the cell for another.
struct Ownership(usize);

/// Makes the calling thread the owner of cell `i`. Workers call it once, with their number. If there is no such cell,
/// or another thread owns it, the thread shares a cell, like threads that never call this.
pub fn set_shard(i: usize) {
    OWNERSHIP.take();
    if i < OWNED_SHARDS && OWNED_BITS.fetch_or(1 << i, Ordering::Acquire) & (1 << i) == 0 {
        SHARD.set(i);
        OWNERSHIP.set(Some(Ownership(i)));
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // Later counts of the ending thread go to a shared cell.
        let _ = SHARD.try_with(|shard| shard.set(next_shared()));
        OWNED_BITS.fetch_and(!(1 << self.0), Ordering::Release);
    }
}

/// The cell of the calling thread; get it once to count into several metrics.
#[derive(Clone, Copy)]
pub struct Shard(usize);

impl Shard {
    #[inline]
    pub fn current() -> Shard {
        let i = SHARD.get();
        Shard(if i == UNSET { assign() } else { i })
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        self.0
    }

    /// Whether no other thread writes the cell.
    #[inline]
    pub(crate) fn is_owned(self) -> bool {
        self.0 < OWNED_SHARDS
    }

    /// Adds to a number in this cell. `order` is the ordering of the write.
    #[inline]
    pub(crate) fn add(self, number: &AtomicU64, n: u64, order: Ordering) {
        if self.is_owned() {
            number.store(number.load(Ordering::Relaxed).wrapping_add(n), order);
        } else {
            number.fetch_add(n, order);
        }
    }

    /// The same for a float stored as bits.
    #[inline]
    pub(crate) fn add_float(self, bits: &AtomicU64, value: f64) {
        if self.is_owned() {
            let sum = f64::from_bits(bits.load(Ordering::Relaxed)) + value;
            bits.store(sum.to_bits(), Ordering::Relaxed);
        } else {
            crate::gauge::add_bits(bits, value);
        }
    }
}

#[cold]
fn assign() -> usize {
    let i = next_shared();
    SHARD.set(i);
    i
}

/// The next shared cell, round robin.
fn next_shared() -> usize {
    OWNED_SHARDS + NEXT.fetch_add(1, Ordering::Relaxed) % (SHARDS - OWNED_SHARDS)
}

/// A value in a cache line of its own, against false sharing.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Padded<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_one_owner_at_a_time() {
        let number = |i: usize| {
            set_shard(i);
            Shard::current().number()
        };
        let elsewhere = move |i: usize| std::thread::spawn(move || number(i)).join().unwrap();
        std::thread::spawn(move || {
            assert_eq!(number(9), 9);
            assert!(elsewhere(9) >= OWNED_SHARDS, "it has an owner");
            assert!(number(SHARDS + 3) >= OWNED_SHARDS, "there is no such cell");
            assert_eq!((elsewhere(9), elsewhere(9)), (9, 9), "ended threads free it");
        })
        .join()
        .unwrap();
        let (first, second) =
            std::thread::spawn(|| (Shard::current().number(), Shard::current().number())).join().unwrap();
        assert_eq!(first, second);
        assert!((OWNED_SHARDS..SHARDS).contains(&first));
    }
}
