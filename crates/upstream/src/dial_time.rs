//! The dial timeout: twice the moving average of dial times, between one second and thirty.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MIN: Duration = Duration::from_secs(1);
const MAX: Duration = Duration::from_secs(30);
/// The newest dial moves the average by the difference divided by this.
const WEIGHT: f64 = 4.0;

#[derive(Debug)]
pub(crate) struct DialTime {
    average: AtomicU64,
}

impl DialTime {
    /// Starts with the maximum: a first dial over a slow network must not fail.
    pub(crate) fn new() -> DialTime {
        DialTime { average: AtomicU64::new(nanos(MAX / 2)) }
    }

    pub(crate) fn timeout(&self) -> Duration {
        let average = Duration::from_nanos(self.average.load(Ordering::Relaxed));
        if average < MIN {
            MIN
        } else if average < MAX / 2 {
            2 * average
        } else {
            MAX
        }
    }

    pub(crate) fn observe(&self, took: Duration) {
        // Two concurrent dials may lose one observation, which does not matter for an estimate.
        let average = self.average.load(Ordering::Relaxed) as f64;
        let next = average + (took.as_nanos() as f64 - average) / WEIGHT;
        self.average.store(next as u64, Ordering::Relaxed);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_average_within_bounds() {
        let time = DialTime::new();
        assert_eq!(time.timeout(), MAX);
        time.observe(Duration::from_secs(3));
        assert_eq!(time.timeout(), Duration::from_secs(24));
        (0..20).for_each(|_| time.observe(Duration::from_millis(1)));
        assert_eq!(time.timeout(), MIN);
        (0..20).for_each(|_| time.observe(Duration::from_secs(30)));
        assert_eq!(time.timeout(), MAX);
    }
}
