//! The rate limit of requests: a token bucket.

use std::time::Instant;

use super::Rate;

#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// A full bucket.
    pub fn new(rate: Rate, now: Instant) -> Bucket {
        Bucket { rate, tokens: f64::from(rate.burst), filled: now }
    }

    /// Takes a token, if there is one. A changed rate starts with a full bucket.
    pub fn take(&mut self, rate: Rate, now: Instant) -> bool {
        if rate != self.rate {
            *self = Bucket::new(rate, now);
        }
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + passed / rate.interval.as_secs_f64()).min(f64::from(rate.burst));
        let available = self.tokens >= 1.0;
        if available {
            self.tokens -= 1.0;
        }
        available
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_then_one_per_interval() {
        let rate = Rate { interval: Duration::from_secs(2), burst: 3 };
        let start = Instant::now();
        let mut bucket = Bucket::new(rate, start);
        let mut at = |seconds: f64| bucket.take(rate, start + Duration::from_secs_f64(seconds));
        assert_eq!([0.0, 0.0, 0.0, 0.0].map(&mut at), [true, true, true, false]);
        assert_eq!([1.0, 2.0, 3.0, 4.0].map(&mut at), [false, true, false, true]);
        // Never more than the burst.
        assert_eq!([100.0, 100.0, 100.0, 100.0].map(&mut at), [true, true, true, false]);

        let other = Rate { burst: 1, ..rate };
        let late = start + Duration::from_secs(100);
        assert_eq!([other, other].map(|rate| bucket.take(rate, late)), [true, false]);
        let none = Rate { burst: 0, ..rate };
        assert!(!bucket.take(none, late + Duration::from_secs(100)));
    }
}
