//! How long an upstream has been answering SERVFAIL and nothing else.
//!
//! A health check takes any reply as a sign of life, so a resolver that lost its own upstreams looks healthy.
//! With `unhealthy_on servfail` a streak of such replies takes it out for a while. After that the next queries
//! find out whether it is any better; one good reply ends the streak.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

#[derive(Debug, Default)]
pub(super) struct Streak {
    failures: AtomicU32,
    /// When the last one came, in milliseconds since the first query of the process.
    last: AtomicU64,
}

impl Streak {
    pub fn note(&self, failure: bool) {
        if failure {
            self.last.store(now(), Ordering::Relaxed);
            let _ = self
                .failures
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
        } else if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// More than `most` in a row, the last of them within `hold`.
    pub fn is_longer(&self, most: u32, hold: Duration) -> bool {
        self.failures.load(Ordering::Relaxed) > most
            && now().saturating_sub(self.last.load(Ordering::Relaxed)) < hold.as_millis() as u64
    }
}

fn now() -> u64 {
    START.elapsed().as_millis() as u64
}
