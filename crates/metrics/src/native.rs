//! Native histograms: buckets whose bounds grow by a fixed factor.
//!
//! Bucket `key` counts the values in `(2^((key-1)/16), 2^(key/16)]`. Go's client keeps a map of the buckets in use.
//! Here they are an array of cells around the classic bounds: counting is one addition into the worker's own cell.
//!
//! ```text
//! stripe 0   zero │ lowest … keys … highest │   of worker 0
//! stripe 1   zero │ lowest … keys … highest │
//! the last   zero │ lowest … keys … highest │   of all others
//! ```
//!
//! A stripe is 4 KB for durations; there is one for each processor, and one more. Values outside the range, for
//! queries less than 62 ns or more than a minute, are counted in the first or last cell.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use crate::shard::{OWNED_SHARDS, Shard};

/// Sixteen buckets to a power of two: the coarsest schema whose buckets grow by no more than 1.05, CoreDNS's factor.
pub const SCHEMA: i32 = 4;

/// Values up to 2^-128 count as zero; the default of Go's client.
pub const ZERO_THRESHOLD: f64 = f64::from_bits((1023 - 128) << 52);

const PER_POWER: i32 = 1 << SCHEMA;

/// Range of the cells beyond the classic bounds, in powers of two: answers from memory take a thousandth of the lowest
/// bound for durations, and hardly anything takes longer than a few times the highest.
const POWERS_BELOW: i32 = 12;
const POWERS_ABOVE: i32 = 3;

/// Upper bounds of the buckets between 0.5 and 1, 2^(i/16 - 1), rounded as in Go's client.
const BOUNDS: [f64; PER_POWER as usize] = [
    0.5,
    0.5221368912137069,
    0.5452538663326288,
    0.5693943173783458,
    0.5946035575013605,
    0.620928906036742,
    0.6484197773255048,
    0.6771277734684463,
    0.7071067811865475,
    0.7384130729697496,
    0.7711054127039704,
    0.805245165974627,
    0.8408964152537144,
    0.8781260801866495,
    0.9170040432046711,
    0.9576032806985735,
];

/// Leading bits of a fraction that select a slice of [0.5, 1) with one bound at most.
const SLICE_BITS: u32 = 5;

/// Index of the first bound not below each slice. A table, because a search is four unpredictable branches.
static FIRST_BOUND: [usize; 1 << SLICE_BITS] = {
    let mut first = [0; 1 << SLICE_BITS];
    let mut slice = 0;
    while slice < first.len() {
        let start = 0.5 + 0.5 * slice as f64 / first.len() as f64;
        while first[slice] < BOUNDS.len() && BOUNDS[first[slice]] < start {
            first[slice] += 1;
        }
        slice += 1;
    }
    first
};

/// The cells of one histogram.
#[derive(Debug)]
pub(crate) struct Native {
    lowest: i32,
    highest: i32,
    /// Number of shards with a stripe of their own; all others share one more.
    own_stripes: usize,
    /// Cells per stripe, rounded up to whole cache lines.
    stride: usize,
    /// Stripe after stripe; each starts with the zero bucket.
    cells: Box<[AtomicU64]>,
}

/// The native buckets at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeSnapshot {
    pub zero: u64,
    /// Keys and counts of non-empty buckets, sorted by key.
    pub buckets: Vec<(i32, u64)>,
}

impl NativeSnapshot {
    pub fn count(&self) -> u64 {
        self.zero + self.buckets.iter().map(|(_, count)| count).sum::<u64>()
    }
}

impl Native {
    pub fn new(bounds: &[f64]) -> Native {
        // A lowest bound of zero is for whole numbers, and 1 has key 0.
        let lowest = match bounds.first() {
            Some(bound) if *bound > 0.0 => key(*bound) - POWERS_BELOW * PER_POWER,
            _ => 0,
        };
        let highest = key(bounds.last().copied().unwrap_or(1.0).max(1.0)) + POWERS_ABOVE * PER_POWER;
        // More than threads can run at once would only cost memory.
        let own_stripes = available_parallelism().map_or(1, usize::from).min(OWNED_SHARDS);
        let stride = ((highest - lowest + 2) as usize).next_multiple_of(8);
        let cells = (0..(own_stripes + 1) * stride).map(|_| AtomicU64::new(0)).collect();
        Native { lowest, highest, own_stripes, stride, cells }
    }

    #[inline]
    pub fn observe(&self, value: f64, shard: Shard) {
        let stripe = shard.number().min(self.own_stripes);
        let Some(cell) = self.cells.get(stripe * self.stride + self.cell_index(value)) else { return };
        if stripe < self.own_stripes {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        } else {
            // Other threads share the last stripe.
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Includes the counts of [`WholeNumbers`](crate::whole_numbers::WholeNumbers).
    pub fn snapshot(&self, whole_numbers: &[u64]) -> NativeSnapshot {
        let mut counts = vec![0; self.stride];
        for (at, cell) in self.cells.iter().enumerate() {
            counts[at % self.stride] += cell.load(Ordering::Relaxed);
        }
        for (number, count) in whole_numbers.iter().enumerate() {
            counts[self.cell_index(number as f64)] += count;
        }
        let keys = (self.lowest..=self.highest).zip(counts.iter().copied().skip(1));
        NativeSnapshot { zero: counts[0], buckets: keys.filter(|(_, count)| *count > 0).collect() }
    }

    /// Index of the value's cell in a stripe.
    #[inline]
    fn cell_index(&self, value: f64) -> usize {
        // NaN and negative values, which occur only when a clock is set back, count as zero.
        if value > ZERO_THRESHOLD {
            1 + (key(value).clamp(self.lowest, self.highest) - self.lowest) as usize
        } else {
            0
        }
    }
}

/// The bucket of a value above [`ZERO_THRESHOLD`].
#[inline]
fn key(value: f64) -> i32 {
    let bits = value.to_bits();
    // value = fraction * 2^exponent, with fraction in [0.5, 1).
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022;
    let fraction = f64::from_bits(bits & ((1 << 52) - 1) | 1022 << 52);
    let first = FIRST_BOUND[(bits >> (52 - SLICE_BITS)) as usize % FIRST_BOUND.len()];
    let above = BOUNDS.get(first).is_some_and(|bound| *bound < fraction);
    first as i32 + i32::from(above) + (exponent - 1) * PER_POWER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buckets;

    #[test]
    fn bounds_are_powers_of_the_factor() {
        for (i, bound) in BOUNDS.iter().enumerate() {
            let exact = (i as f64 / 16.0 - 1.0).exp2();
            assert!((bound - exact).abs() < 3e-16, "{i}: {bound} {exact}");
        }
        assert_eq!(ZERO_THRESHOLD, (-128f64).exp2());
        let factor = 1.05f64;
        assert!((1.0 / f64::from(PER_POWER)).exp2() <= factor);
        assert!((2.0 / f64::from(PER_POWER)).exp2() > factor);
    }

    #[test]
    fn keys_are_those_of_client_golang_1_24() {
        let table: &[(f64, i32)] = &[
            (1.0, 0),
            (0.9999, 0),
            (1.0001, 1),
            (2.0, 16),
            (2.0001, 17),
            (0.5, -16),
            (46.0, 89),
            (512.0, 144),
            (65_535.0, 256),
            (0.00025, -191),
            (8.192, 49),
            (1e-9, -478),
            (f64::MAX, 16_384),
        ];
        for (value, expected) in table {
            assert_eq!(key(*value), *expected, "{value}");
        }
        // The table agrees with a search.
        for step in 0..=4096 {
            let value = 0.5 + f64::from(step) / 8192.0;
            let searched = BOUNDS.partition_point(|bound| *bound < value) as i32 - 16;
            assert_eq!(key(value), searched, "{value}");
        }
        for (i, bound) in BOUNDS.iter().enumerate() {
            assert_eq!(key(*bound), i as i32 - 16);
            assert_eq!(key(bound.next_up()), i as i32 - 15);
        }
    }

    #[test]
    fn values_out_of_range_count_in_the_first_or_last_cell() {
        let native = Native::new(buckets::TIME);
        for value in [0.0, -1.0, f64::NAN, 1e-40, 1e-30, 1e-9, 1.0, 1e9, f64::INFINITY, f64::MAX] {
            native.observe(value, Shard::current());
        }
        let seen = native.snapshot(&[]);
        assert_eq!(seen.zero, 4);
        assert_eq!(seen.buckets, [(-383, 2), (0, 1), (97, 3)]);
        assert_eq!(seen.count(), 10);
    }

    #[test]
    fn stripes_are_small() {
        let bytes = |bounds| Native::new(bounds).stride * size_of::<AtomicU64>();
        assert_eq!(bytes(buckets::TIME), 3904);
        assert_eq!(bytes(buckets::SLIM_TIME), 3648);
        assert_eq!(bytes(buckets::SIZE), 2496);
        assert_eq!(bytes(buckets::PROGRAMMING), 4416);
        assert_eq!(bytes(buckets::DEFAULT), 3392);
        assert_eq!(Native::new(&[]).lowest, 0);
    }
}
