//! Histograms: classic and native buckets.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::gather::Value;
use crate::native::{Native, NativeSnapshot};
use crate::shard::{Padded, SHARDS, Shard};
use crate::text::{Kind, Metric};
use crate::whole_numbers::{CELLS_PER_STRIPE, WholeNumbers};

/// Maximum number of bounds, without +Inf. The cells are arrays of this length and not boxes, so that a histogram can
/// be a `static` and `observe` follows no pointer.
pub const MAX_BUCKETS: usize = 20;

/// CoreDNS's upper bounds, computed by repeated multiplication as in Go so that rounding is the same.
pub mod buckets {
    /// Query durations, 0.25 ms to 8.192 s.
    pub const TIME: &[f64] = &exponential::<16>(0.00025, 2.0);
    /// Durations where few series matter more than detail, 0.25 ms to 2.5 s.
    pub const SLIM_TIME: &[f64] = &exponential::<5>(0.00025, 10.0);
    /// Message sizes in bytes.
    pub const SIZE: &[f64] =
        &[0.0, 100.0, 200.0, 300.0, 400.0, 511.0, 1023.0, 2047.0, 4095.0, 8291.0, 16e3, 32e3, 48e3, 64e3];
    /// DNS programming latency of changes in Kubernetes, 1 ms to 524.288 s.
    pub const PROGRAMMING: &[f64] = &exponential::<20>(0.001, 2.0);
    /// Defaults of Prometheus's clients.
    pub const DEFAULT: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

    const fn exponential<const N: usize>(start: f64, factor: f64) -> [f64; N] {
        let mut bounds = [start; N];
        let mut i = 1;
        while i < N {
            bounds[i] = bounds[i - 1] * factor;
            i += 1;
        }
        bounds
    }
}

#[derive(Debug)]
struct Cell {
    counts: [AtomicU64; MAX_BUCKETS + 1],
    /// The sum as the bits of a float, as Go's client keeps it.
    sum: AtomicU64,
}

/// A sharded histogram: classic buckets with fixed upper bounds, and native ones.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    cells: [Padded<Cell>; SHARDS],
    /// Behind a pointer, because its size depends on the bounds; initialized at registration.
    native: OnceLock<Native>,
    /// Only for bounds that start at zero, which are those of whole numbers.
    whole: OnceLock<WholeNumbers>,
}

impl Histogram {
    /// `bounds` are ascending, without +Inf.
    ///
    /// # Panics
    ///
    /// With more than [`MAX_BUCKETS`] bounds; for a `static` that is a compile error.
    pub const fn new(bounds: &'static [f64]) -> Self {
        assert!(bounds.len() <= MAX_BUCKETS, "too many buckets");
        Histogram {
            bounds,
            cells: [const {
                Padded(Cell {
                    counts: [const { AtomicU64::new(0) }; MAX_BUCKETS + 1],
                    sum: AtomicU64::new(0),
                })
            }; SHARDS],
            native: OnceLock::new(),
            whole: OnceLock::new(),
        }
    }

    /// Allocates the native buckets, so that no query has to.
    pub(crate) fn prepare(&self) -> &Native {
        self.native.get_or_init(|| {
            if self.bounds.first() == Some(&0.0) {
                self.whole.get_or_init(WholeNumbers::new);
            }
            Native::new(self.bounds)
        })
    }

    /// Same as [`Histogram::observe_at`], but faster for small numbers.
    #[inline]
    pub fn observe_whole_at(&self, shard: Shard, number: usize) {
        match self.whole.get() {
            Some(whole) if number < CELLS_PER_STRIPE => whole.inc(number, shard),
            _ => self.observe_at(shard, number as f64),
        }
    }

    #[inline]
    pub fn observe(&self, value: f64) {
        self.observe_at(Shard::current(), value);
    }

    #[inline]
    pub fn observe_at(&self, shard: Shard, value: f64) {
        let bucket = self.bucket(value);
        self.prepare().observe(value, shard);
        let cell = &self.cells[shard.number()].0;
        // Release: a reader that sees this addition sees the native one too.
        shard.add(&cell.counts[bucket], 1, Ordering::Release);
        shard.add_float(&cell.sum, value);
    }

    /// Sums the cells of all workers. `count` is the sum of the classic buckets, so the two always agree, even during
    /// updates; the native buckets are read later, so their count is the same or higher.
    pub fn snapshot(&self) -> Snapshot {
        let mut counts = [0; MAX_BUCKETS + 1];
        for (bucket, count) in counts.iter_mut().enumerate() {
            *count = self.cells.iter().map(|cell| cell.0.counts[bucket].load(Ordering::Acquire)).sum::<u64>();
        }
        let mut sum: f64 =
            self.cells.iter().map(|cell| f64::from_bits(cell.0.sum.load(Ordering::Relaxed))).sum();
        let native = self.prepare();
        let whole = self.whole.get().map(WholeNumbers::counts).unwrap_or_default();
        for (number, count) in whole.iter().enumerate().filter(|(_, count)| **count > 0) {
            counts[self.bucket(number as f64)] += count;
            sum += number as f64 * *count as f64;
        }
        let mut total = 0;
        let cumulative = counts.map(|count| {
            total += count;
            total
        });
        let buckets = self.bounds.iter().copied().zip(cumulative).collect();
        Snapshot { buckets, sum, count: total, native: native.snapshot(&whole) }
    }

    #[inline]
    fn bucket(&self, value: f64) -> usize {
        // At most 20 bounds, and most values are small: a scan from the left beats a binary search.
        self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len())
    }
}

/// The state of a histogram at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Upper bounds and cumulative counts, without +Inf, whose count is `count`.
    pub buckets: Vec<(f64, u64)>,
    pub sum: f64,
    pub count: u64,
    pub native: NativeSnapshot,
}

impl Metric for Histogram {
    const KIND: Kind = Kind::Histogram;

    fn make(bounds: &'static [f64]) -> Self {
        let metric = Self::new(bounds);
        metric.prepare();
        metric
    }

    fn bounds(&self) -> &'static [f64] {
        self.bounds
    }

    fn read(&self) -> Value {
        Value::Histogram(self.snapshot())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go_float;

    #[test]
    fn bounds_are_inclusive_and_counts_cumulative() {
        let h = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 2.0, 2.5] {
            h.observe(value);
        }
        let native = NativeSnapshot { zero: 0, buckets: vec![(-16, 1), (0, 1), (10, 1), (16, 1), (22, 1)] };
        assert_eq!(h.snapshot(), Snapshot { buckets: vec![(1.0, 2), (2.0, 4)], sum: 7.5, count: 5, native });
    }

    #[test]
    fn observe_whole_at_counts_like_observe_at() {
        let (quick, slow) = (Histogram::make(buckets::SIZE), Histogram::make(buckets::SIZE));
        let shard = Shard::current();
        for number in (0..1200).chain([0, 100, 101, 511, 512, 70_000]) {
            quick.observe_whole_at(shard, number);
            slow.observe_at(shard, number as f64);
        }
        assert_eq!(quick.snapshot(), slow.snapshot());
        assert_eq!(quick.snapshot().count, 1206);
        let fractions = Histogram::make(buckets::TIME);
        fractions.observe_whole_at(shard, 3);
        assert_eq!((fractions.snapshot().sum, fractions.snapshot().count), (3.0, 1));
    }

    #[test]
    fn sums_over_threads() {
        static H: Histogram = Histogram::new(buckets::TIME);
        std::thread::scope(|scope| {
            for i in 0..8 {
                scope.spawn(move || {
                    crate::set_shard(i);
                    (0..1000).for_each(|_| H.observe(0.25));
                });
            }
        });
        let s = H.snapshot();
        assert_eq!((s.count, s.sum), (8000, 2000.0));
        assert_eq!(s.buckets[9], (0.128, 0));
        assert_eq!(s.buckets[10], (0.256, 8000));
        assert_eq!(s.native, NativeSnapshot { zero: 0, buckets: vec![(-32, 8000)] });
    }

    /// Prometheus rejects a scrape whose native buckets count less than the classic ones.
    #[test]
    fn native_buckets_are_never_behind() {
        static H: Histogram = Histogram::new(buckets::TIME);
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for i in 0..4 {
                let done = &done;
                scope.spawn(move || {
                    (0..20_000).for_each(|n| H.observe(f64::from(n * i) * 1e-5));
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            while done.load(Ordering::Relaxed) < 4 {
                let seen = H.snapshot();
                assert!(seen.native.count() >= seen.count, "{} {}", seen.native.count(), seen.count);
            }
        });
        let seen = H.snapshot();
        assert_eq!((seen.count, seen.native.count(), seen.native.zero), (80_000, 80_000, 20_003));
    }

    #[test]
    fn bounds_are_written_as_by_coredns() {
        let check = |bounds: &[f64], text: &str| {
            let got: Vec<String> = bounds.iter().map(|b| go_float(*b)).collect();
            assert_eq!(got.join(" "), text);
        };
        check(
            buckets::TIME,
            "0.00025 0.0005 0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192",
        );
        check(buckets::SLIM_TIME, "0.00025 0.0025 0.025 0.25 2.5");
        check(buckets::SIZE, "0 100 200 300 400 511 1023 2047 4095 8291 16000 32000 48000 64000");
        check(
            buckets::PROGRAMMING,
            "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384 32.768 \
             65.536 131.072 262.144 524.288",
        );
        check(buckets::DEFAULT, "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10");
    }
}
