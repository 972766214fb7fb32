//! Small whole numbers, each in a cell of its own. Sizes of messages are such numbers; which buckets they belong to is
//! found out at a scrape, and counting one is nothing but an addition.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use crate::shard::{OWNED, Shard};

/// Numbers below this have a cell: most messages are shorter.
pub(crate) const SMALL: usize = 512;

#[derive(Debug)]
pub(crate) struct Whole {
    /// The shards that have a stripe for themselves; one more is for all others.
    own_stripes: usize,
    /// By stripe, then by number.
    cells: Box<[AtomicU64]>,
}

impl Whole {
    pub fn new() -> Whole {
        let own_stripes = available_parallelism().map_or(1, usize::from).min(OWNED);
        Whole { own_stripes, cells: (0..(own_stripes + 1) * SMALL).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts a number below [`SMALL`].
    #[inline]
    pub fn inc(&self, number: usize, shard: Shard) {
        let stripe = shard.number().min(self.own_stripes);
        let Some(cell) = self.cells.get(stripe * SMALL + number) else { return };
        if stripe < self.own_stripes {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        } else {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often each number came.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; SMALL];
        for (at, cell) in self.cells.iter().enumerate() {
            counts[at % SMALL] += cell.load(Ordering::Relaxed);
        }
        counts
    }
}
