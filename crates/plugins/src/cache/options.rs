//! The options of a cache.

use std::time::Duration;

use wire::NameBuf;

/// Default capacity; 9,984 fit, since shards are of equal size.
const DEFAULT_CAPACITY: i64 = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub success: Limits,
    pub denial: Limits,
    /// How long SERVFAIL and NOTIMP are cached; zero: not at all.
    pub servfail: Duration,
    pub prefetch: Prefetch,
    pub stale: Stale,
    /// Zones whose successes are not cached.
    pub no_success: Vec<NameBuf>,
    pub no_denial: Vec<NameBuf>,
    /// TTLs do not count down.
    pub keep_ttl: bool,
}

/// Size and TTL bounds of one of the two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub capacity: i64,
    pub max: u32,
    pub min: u32,
}

impl Limits {
    /// If `min` is above `max`, `max` wins.
    pub fn clamp(&self, ttl: u32) -> u32 {
        ttl.max(self.min).min(self.max)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prefetch {
    /// An entry is popular after this many queries; 0: prefetching is off.
    pub amount: u64,
    /// A longer pause between two queries restarts the count. None: every pause does.
    pub pause: Option<Duration>,
    /// Popular entries are prefetched when at most this share of their TTL is left.
    pub percentage: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stale {
    /// How long an expired entry is served; zero: not at all.
    pub max_stale: Duration,
    /// How long to wait for the plugins below before serving stale; zero: without a limit. None: serve at once.
    pub verify: Option<Duration>,
    /// TTL of stale records.
    pub ttl: u32,
    /// Minimum interval between a failed refresh and the next.
    pub recheck: Duration,
    pub prefer_positive: bool,
}

impl Stale {
    /// Whether an entry that expires in `left` seconds may be served.
    pub fn allows(&self, left: i64) -> bool {
        left > 0 || left.unsigned_abs() < self.max_stale.as_secs()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            success: Limits { capacity: DEFAULT_CAPACITY, max: 3600, min: 5 },
            denial: Limits { capacity: DEFAULT_CAPACITY, max: 1800, min: 5 },
            servfail: Duration::from_secs(5),
            prefetch: Prefetch { amount: 0, pause: Some(Duration::from_secs(60)), percentage: 10 },
            stale: Stale::default(),
            no_success: Vec::new(),
            no_denial: Vec::new(),
            keep_ttl: false,
        }
    }
}
