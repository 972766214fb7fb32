//! Gauges: values that go up and down.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::gather::Value;
use crate::text::{Kind, Metric};

/// One cell, not sharded: `set` has no meaning over several, and gauges change far less often than counters.
#[derive(Debug)]
pub struct Gauge {
    bits: AtomicU64,
}

impl Gauge {
    /// Zero. The bits of 0.0 are all zero, hence the plain 0.
    pub const fn new() -> Self {
        Gauge { bits: AtomicU64::new(0) }
    }

    pub fn set(&self, value: f64) {
        self.bits.store(value.to_bits(), Ordering::Relaxed);
    }

    pub fn add(&self, delta: f64) {
        add_bits(&self.bits, delta);
    }

    pub fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds to a float kept as bits; there is no atomic float in the standard library.
pub(crate) fn add_bits(bits: &AtomicU64, delta: f64) {
    bits.update(Ordering::Relaxed, Ordering::Relaxed, |old| (f64::from_bits(old) + delta).to_bits());
}

impl Metric for Gauge {
    const KIND: Kind = Kind::Gauge;

    fn make(_bounds: &'static [f64]) -> Self {
        Self::new()
    }

    fn read(&self) -> Value {
        Value::Number(self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_and_add() {
        let g = Gauge::new();
        assert_eq!(g.get(), 0.0);
        g.set(2.5);
        g.add(-4.0);
        assert_eq!(g.get(), -1.5);
    }

    #[test]
    fn no_addition_is_lost() {
        static G: Gauge = Gauge::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1000).for_each(|_| G.add(0.5)));
            }
        });
        assert_eq!(G.get(), 4000.0);
    }
}
