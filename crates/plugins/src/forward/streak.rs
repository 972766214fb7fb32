//! Counts consecutive SERVFAIL replies of an upstream.
//!
//! A health check passes with any reply, so a resolver that lost its own upstreams looks healthy. With `unhealthy_on
//! servfail` a streak of SERVFAIL replies marks it down for a while. The next queries then show whether it recovered; one
//! other reply ends the streak.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

#[derive(Debug, Default)]
pub(super) struct ServfailStreak {
    failures: AtomicU32,
    /// Time of the last one, in milliseconds since the first query of the process.
    last: AtomicU64,
}

impl ServfailStreak {
    pub fn record(&self, failure: bool) {
        if failure {
            self.last.store(now(), Ordering::Relaxed);
            let _ = self
                .failures
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
        } else if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// Whether there were more than `max` in a row, the last of them within `hold`.
    pub fn exceeds(&self, max: u32, hold: Duration) -> bool {
        self.failures.load(Ordering::Relaxed) > max
            && now().saturating_sub(self.last.load(Ordering::Relaxed)) < hold.as_millis() as u64
    }
}

fn now() -> u64 {
    START.elapsed().as_millis() as u64
}
