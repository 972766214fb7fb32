//! The client-side rate limit of one cluster: a token bucket, as in client-go.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub(crate) struct RateLimit {
    per_second: f64,
    burst: f64,
    /// Tokens at a time; negative while requests wait, each for its turn.
    bucket: Mutex<(f64, Instant)>,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self { per_second: f64::from(per_second.max(1)), burst, bucket: Mutex::new((burst, Instant::now())) }
    }

    /// Waits for a token; returns for how long.
    pub(crate) async fn acquire(&self) -> Duration {
        let wait = self.take(Instant::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
        wait
    }

    /// Takes a token, perhaps of the future; returns the time until then.
    fn take(&self, now: Instant) -> Duration {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = now.saturating_duration_since(bucket.1).as_secs_f64();
        let tokens = (bucket.0 + elapsed * self.per_second).min(self.burst) - 1.0;
        *bucket = (tokens, now);
        Duration::from_secs_f64((-tokens).max(0.0) / self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_the_rest_waits_its_turn() {
        let limit = RateLimit::new(10, 3);
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        for (now, wait) in [(0, 0), (0, 0), (0, 0), (0, 100), (0, 200), (300, 0), (300, 100), (10_000, 0)] {
            let got = limit.take(at(now)).as_secs_f64();
            assert!(
                (got - f64::from(wait) / 1000.0).abs() < 0.02,
                "at {now} ms: waits {got} s, not {wait} ms"
            );
        }
    }
}
