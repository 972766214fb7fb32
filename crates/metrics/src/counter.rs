//! Counters: monotonic totals.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::gather::Value;
use crate::shard::{Padded, SHARDS, Shard};
use crate::text::{Kind, Metric};

/// A sharded counter. Relaxed is enough: nothing is ordered by it, and a scrape may miss concurrent increments.
#[derive(Debug)]
pub struct Counter {
    cells: [Padded<AtomicU64>; SHARDS],
}

impl Counter {
    pub const fn new() -> Self {
        Counter { cells: [const { Padded(AtomicU64::new(0)) }; SHARDS] }
    }

    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    #[inline]
    pub fn add(&self, n: u64) {
        self.add_at(Shard::current(), n);
    }

    #[inline]
    pub fn inc_at(&self, shard: Shard) {
        self.add_at(shard, 1);
    }

    #[inline]
    fn add_at(&self, shard: Shard, n: u64) {
        shard.add(&self.cells[shard.number()].0, n, Ordering::Relaxed);
    }

    /// The sum over all workers.
    pub fn get(&self) -> u64 {
        self.cells.iter().fold(0, |sum, cell| sum.wrapping_add(cell.0.load(Ordering::Relaxed)))
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Metric for Counter {
    const KIND: Kind = Kind::Counter;

    fn make(_bounds: &'static [f64]) -> Self {
        Self::new()
    }

    fn read(&self) -> Value {
        // Go's client keeps counters as floats: a million is written 1e+06.
        Value::Number(self.get() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_shard;

    #[test]
    fn sums_over_threads() {
        static SUM: Counter = Counter::new();
        std::thread::scope(|scope| {
            for i in 0..2 * SHARDS {
                scope.spawn(move || {
                    // Half own a shard, half get one assigned.
                    if i % 2 == 0 {
                        set_shard(i);
                    }
                    (0..1000).for_each(|_| SUM.inc());
                    SUM.add(5);
                });
            }
        });
        assert_eq!(SUM.get(), 2 * SHARDS as u64 * 1005);
    }

    #[test]
    fn a_shard_writes_only_its_own_cell() {
        let c = Counter::new();
        set_shard(11);
        c.add(7);
        let cells: Vec<u64> = c.cells.iter().map(|cell| cell.0.load(Ordering::Relaxed)).collect();
        assert_eq!(cells.iter().sum::<u64>(), 7);
        assert_eq!(cells[11], 7);
        assert_eq!(size_of_val(&c.cells[0]), 64);
    }
}
