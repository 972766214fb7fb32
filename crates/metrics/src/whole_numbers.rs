//! Counts of small whole numbers such as message sizes, each in its own cell: counting is one addition, and the scrape
//! assigns the numbers to buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use crate::shard::{OWNED_SHARDS, Shard};

/// Numbers below this have a cell; most messages are shorter.
pub(crate) const CELLS_PER_STRIPE: usize = 512;

#[derive(Debug)]
pub(crate) struct WholeNumbers {
    /// Number of shards with a stripe of their own; all others share one more.
    own_stripes: usize,
    /// Stripe after stripe, each by number.
    cells: Box<[AtomicU64]>,
}

impl WholeNumbers {
    pub fn new() -> WholeNumbers {
        let own_stripes = available_parallelism().map_or(1, usize::from).min(OWNED_SHARDS);
        let cells = (0..(own_stripes + 1) * CELLS_PER_STRIPE).map(|_| AtomicU64::new(0)).collect();
        WholeNumbers { own_stripes, cells }
    }

    /// Counts a number below [`CELLS_PER_STRIPE`].
    #[inline]
    pub fn inc(&self, number: usize, shard: Shard) {
        let stripe = shard.number().min(self.own_stripes);
        let Some(cell) = self.cells.get(stripe * CELLS_PER_STRIPE + number) else { return };
        if stripe < self.own_stripes {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        } else {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The count of each number.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; CELLS_PER_STRIPE];
        for (at, cell) in self.cells.iter().enumerate() {
            counts[at % CELLS_PER_STRIPE] += cell.load(Ordering::Relaxed);
        }
        counts
    }
}
