//! Timeouts and intervals of reflectors, and the exponential back-off with jitter between retries.

use std::time::Duration;

/// Timeouts and intervals; tests set shorter ones.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the head of a response, and between pieces of its body.
    pub response_timeout: Duration,
    /// Between two events of a streamed list. A server without streamed lists never sends the closing bookmark.
    pub list_event_timeout: Duration,
    /// For a whole streamed list.
    pub list_timeout: Duration,
    /// Between two events of a watch. The server sends a bookmark every minute, so a longer silence is a dead watch.
    pub watch_silence: Duration,
    /// Between two censuses of the server, and until a census's response. Their sum is the longest time in which a dead
    /// server goes unnoticed.
    pub census_interval: Duration,
    pub census_timeout: Duration,
    /// How long events may still be in transit after a census counted their objects.
    pub delivery_grace: Duration,
    /// How long a watch may take to reach the version of a census. Without events only bookmarks advance it, and with
    /// etcd's default configuration these follow the server's version every ten minutes, or twenty after an event.
    pub max_lag: Duration,
    /// Between two lists even if nothing seems wrong: the longest time in which a missed change goes unnoticed.
    pub relist_interval: Duration,
    /// How long the kernel waits for a silent peer before it closes a connection; in whole seconds.
    pub peer_timeout: Duration,
    /// A first response that takes longer is logged.
    pub first_response: Duration,
    /// A watch that lasts this long resets the back-off.
    pub stable_after: Duration,
    /// The first back-off is between a quarter of this and all of it; each further one doubles.
    pub first_backoff: Duration,
    pub max_backoff: Duration,
    /// Servers from this version on are listed in pages; older ones stream their lists.
    pub pages_since: (u32, u32),
    /// Between two polls of discovery, for a resource with several versions while it is watched.
    pub discovery_interval: Duration,
    /// Requests per second, and how many at once: client-go's defaults for controllers.
    pub requests_per_second: u32,
    pub request_burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response_timeout: Duration::from_secs(30),
            list_event_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(300),
            watch_silence: Duration::from_secs(75),
            census_interval: Duration::from_secs(25),
            census_timeout: Duration::from_secs(10),
            delivery_grace: Duration::from_secs(10),
            max_lag: Duration::from_secs(1500),
            relist_interval: Duration::from_secs(3600),
            peer_timeout: Duration::from_secs(30),
            first_response: Duration::from_secs(5),
            stable_after: Duration::from_secs(5),
            first_backoff: Duration::from_millis(800),
            max_backoff: Duration::from_secs(10),
            pages_since: (1, 34),
            discovery_interval: Duration::from_secs(8),
            requests_per_second: 50,
            request_burst: 100,
        }
    }
}

impl Limits {
    /// The `timeoutSeconds` of a watch; random, so that watches do not all end at once.
    pub(crate) fn watch_duration() -> Duration {
        Duration::from_secs(rand::random_range(300..=600))
    }
}

/// `about` ± 20 %, so that kinds and replicas do not act at the same time.
pub(crate) fn jittered(about: Duration) -> Duration {
    about.mul_f64(rand::random_range(0.8..=1.2))
}

pub(crate) struct Backoff {
    limits: Limits,
    tries: u32,
}

impl Backoff {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, tries: 0 }
    }

    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }

    pub(crate) fn next(&mut self) -> Duration {
        let doubled = self.limits.first_backoff.saturating_mul(1 << self.tries.min(16));
        self.tries = self.tries.saturating_add(1);
        doubled.min(self.limits.max_backoff).mul_f64(rand::random_range(0.25..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_up_to_a_limit() {
        let mut backoff = Backoff::new(Limits::default());
        let mut check = |from: f64, to: f64| {
            let pause = backoff.next().as_secs_f64();
            assert!((from..=to).contains(&pause), "{pause} is not in {from}..={to}");
        };
        check(0.2, 0.8);
        check(0.4, 1.6);
        check(0.8, 3.2);
        (0..100).for_each(|_| check(0.2, 10.0));
        check(2.5, 10.0);
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(800));
    }
}
