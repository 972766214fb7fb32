//! The clock that ages entries. Tests advance it instead of waiting.

#[cfg(test)]
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

#[cfg(test)]
thread_local! {
    // Each test has its own thread and builds its configuration there.
    static SKEW: Arc<AtomicU64> = Arc::default();
}

/// Monotonic time.
#[derive(Clone, Default)]
pub(super) struct Clock {
    #[cfg(test)]
    skew: Option<Arc<AtomicU64>>,
}

impl Clock {
    #[cfg(not(test))]
    pub fn new() -> Clock {
        Clock {}
    }

    #[cfg(not(test))]
    pub fn at(&self, time: Instant) -> Instant {
        time
    }

    pub fn now(&self) -> Instant {
        self.at(Instant::now())
    }
}

#[cfg(test)]
impl Clock {
    pub fn new() -> Clock {
        Clock { skew: Some(SKEW.with(Arc::clone)) }
    }

    pub fn at(&self, time: Instant) -> Instant {
        let millis = self.skew.as_ref().map_or(0, |skew| skew.load(Ordering::SeqCst));
        time + std::time::Duration::from_millis(millis)
    }

    /// Advances the clocks of all caches made on this thread.
    pub fn advance(by: std::time::Duration) {
        SKEW.with(|skew| skew.fetch_add(by.as_millis() as u64, Ordering::SeqCst));
    }
}
