//! What the Corefile says about a cache.

use std::time::Duration;

use wire::NameBuf;

/// What is asked for when nothing is; 9,984 fit, since shards are of equal size.
const CAPACITY: i64 = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub success: Limits,
    pub denial: Limits,
    /// What SERVFAIL and NOTIMP live; zero: they are not kept.
    pub servfail: Duration,
    pub prefetch: Prefetch,
    pub stale: Stale,
    /// Zones whose successes are not kept.
    pub no_success: Vec<NameBuf>,
    pub no_denial: Vec<NameBuf>,
    /// Records do not age.
    pub keep_ttl: bool,
}

/// One of the two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub capacity: i64,
    pub max: u32,
    pub min: u32,
}

impl Limits {
    /// If the two bounds cross, the upper one wins.
    pub fn clamp(&self, ttl: u32) -> u32 {
        ttl.max(self.min).min(self.max)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prefetch {
    /// This many queries make an entry popular; 0: none is.
    pub amount: u64,
    /// A longer pause between two queries starts the count again. None: every pause does.
    pub pause: Option<Duration>,
    /// Popular entries are fetched again when no more than this is left.
    pub percentage: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stale {
    /// How long after its end an entry is still served; zero: not at all.
    pub up_to: Duration,
    /// The source is asked first, for so long; zero: as long as it takes. None: the entry is served at once.
    pub verify: Option<Duration>,
    /// The time to live of stale records.
    pub ttl: u32,
    /// A refresh that failed is not tried again for so long.
    pub recheck: Duration,
    pub prefer_positive: bool,
}

impl Stale {
    /// Whether an entry with so many seconds left may be served.
    pub fn allows(&self, left: i64) -> bool {
        left > 0 || left.unsigned_abs() < self.up_to.as_secs()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            success: Limits { capacity: CAPACITY, max: 3600, min: 5 },
            denial: Limits { capacity: CAPACITY, max: 1800, min: 5 },
            servfail: Duration::from_secs(5),
            prefetch: Prefetch { amount: 0, pause: Some(Duration::from_secs(60)), percentage: 10 },
            stale: Stale::default(),
            no_success: Vec::new(),
            no_denial: Vec::new(),
            keep_ttl: false,
        }
    }
}
