//! Which cell the calling thread counts into.
//!
//! A worker has a cell of its own, into which nobody else writes: it counts with a load and a store, where others need
//! an addition that is atomic and takes ten times as long.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Cells per counter.
pub const SHARDS: usize = 16;

/// The cells that have an owner, if anybody asks for them. Workers are at most 8 by default; the cells behind these are
/// for all other threads.
pub(crate) const OWNED: usize = 12;

const UNSET: usize = usize::MAX;

static NEXT: AtomicUsize = AtomicUsize::new(0);
/// A bit for each owned cell that has its owner.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(UNSET) };
    static OWNERSHIP: Cell<Option<Ownership>> = const { Cell::new(None) };
}

/// Ends with its thread; then another may have the cell.
struct Ownership(usize);

/// Gives the calling thread cell `i` for itself. Workers call it once, with their number. Where there is no such cell,
/// or another thread has it, this one shares a cell with others, as threads do that never ask.
pub fn set_shard(i: usize) {
    OWNERSHIP.take();
    if i < OWNED && TAKEN.fetch_or(1 << i, Ordering::Acquire) & (1 << i) == 0 {
        SHARD.set(i);
        OWNERSHIP.set(Some(Ownership(i)));
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // What the thread still counts on its way out goes elsewhere.
        let _ = SHARD.try_with(|shard| shard.set(shared()));
        TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
    }
}

/// The cell of the calling thread. Whoever counts several things asks for it once.
#[derive(Clone, Copy)]
pub struct Shard(usize);

impl Shard {
    #[inline]
    pub fn here() -> Shard {
        let i = SHARD.get();
        Shard(if i == UNSET { assign() } else { i })
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        self.0
    }

    /// Nobody else writes into the cell.
    #[inline]
    pub(crate) fn is_owned(self) -> bool {
        self.0 < OWNED
    }

    /// Adds to a number in this cell. `order` is that of the write.
    #[inline]
    pub(crate) fn add(self, number: &AtomicU64, n: u64, order: Ordering) {
        if self.is_owned() {
            number.store(number.load(Ordering::Relaxed).wrapping_add(n), order);
        } else {
            number.fetch_add(n, order);
        }
    }

    /// The same for a float that is kept as bits.
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
    let i = shared();
    SHARD.set(i);
    i
}

/// The next of the cells without an owner.
fn shared() -> usize {
    OWNED + NEXT.fetch_add(1, Ordering::Relaxed) % (SHARDS - OWNED)
}

/// A value with a cache line of its own: neighbours written by other workers would otherwise slow it down.
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
            Shard::here().number()
        };
        let elsewhere = move |i: usize| std::thread::spawn(move || number(i)).join().unwrap();
        std::thread::spawn(move || {
            assert_eq!(number(9), 9);
            assert!(elsewhere(9) >= OWNED, "it is taken");
            assert!(number(SHARDS + 3) >= OWNED, "there is no such cell");
            assert_eq!((elsewhere(9), elsewhere(9)), (9, 9), "threads that ended leave it");
        })
        .join()
        .unwrap();
        let (first, second) =
            std::thread::spawn(|| (Shard::here().number(), Shard::here().number())).join().unwrap();
        assert_eq!(first, second);
        assert!((OWNED..SHARDS).contains(&first));
    }
}
