//! The metrics of one cache: a set for each server it is part of.
//!
//! A series appears with its first event, as in CoreDNS, and is kept from then on; a query finds its set by
//! comparing a name or two and never looks a label up.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, Gauge, registry};

const PLAIN: &[&str] = &["server", "zones", "view"];
const TYPED: &[&str] = &["server", "type", "zones", "view"];

/// The two stores, as the label `type` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Success,
    Denial,
}

#[derive(Default)]
pub(super) struct Counters {
    servers: OnceLock<Vec<Arc<Series>>>,
    /// For walks on a server the block is not served on; there are none.
    elsewhere: OnceLock<Arc<Series>>,
}

impl Counters {
    /// The servers are known when all blocks are.
    pub fn link<'a>(&self, servers: impl Iterator<Item = &'a str>, zones: &str, view: &str) {
        let mut series: Vec<Arc<Series>> = Vec::new();
        for server in servers {
            if !series.iter().any(|known| known.server == server) {
                series.push(Arc::new(Series::new(server, zones, view)));
            }
        }
        let _ = self.servers.set(series);
    }

    pub fn of(&self, server: &str) -> &Arc<Series> {
        let known = match self.servers.get().map(Vec::as_slice) {
            // Walks come from nowhere else then.
            Some([only]) => Some(only),
            Some(all) => all.iter().find(|series| series.server == server),
            None => None,
        };
        known.unwrap_or_else(|| self.elsewhere.get_or_init(|| Arc::new(Series::new(server, "", ""))))
    }
}

/// The metrics of a cache on one server.
pub(super) struct Series {
    server: String,
    pub requests: Count,
    pub misses: Count,
    pub prefetches: Count,
    pub served_stale: Count,
    /// Replies that were worth keeping and are none.
    pub drops: Count,
    hits: [Count; 2],
    evictions: [Count; 2],
    entries: [Level; 2],
}

impl Series {
    fn new(server: &str, zones: &str, view: &str) -> Series {
        let plain = [server, zones, view].map(str::to_owned);
        let typed = |side| [server, side, zones, view].map(str::to_owned);
        let count = |name, help, labels, values: &[String]| Lazy {
            family: registry().counters(name, help, labels).ok(),
            values: values.into(),
            made: OnceLock::new(),
        };
        let level = |name, help, labels, values: &[String]| Lazy {
            family: registry().gauges(name, help, labels).ok(),
            values: values.into(),
            made: OnceLock::new(),
        };
        let sides = ["success", "denial"];
        Series {
            server: server.to_owned(),
            requests: count("coredns_cache_requests_total", "The count of cache requests.", PLAIN, &plain),
            misses: count(
                "coredns_cache_misses_total",
                "The count of cache misses. Deprecated, derive misses from cache hits/requests counters.",
                PLAIN,
                &plain,
            ),
            prefetches: count(
                "coredns_cache_prefetch_total",
                "The number of times the cache has prefetched a cached item.",
                PLAIN,
                &plain,
            ),
            served_stale: count(
                "coredns_cache_served_stale_total",
                "The number of requests served from stale cache entries.",
                PLAIN,
                &plain,
            ),
            drops: count(
                "coredns_cache_drops_total",
                "The number responses that are not cached, because the reply is malformed.",
                PLAIN,
                &plain,
            ),
            hits: sides.map(|side| {
                count("coredns_cache_hits_total", "The count of cache hits.", TYPED, &typed(side))
            }),
            evictions: sides.map(|side| {
                count("coredns_cache_evictions_total", "The count of cache evictions.", TYPED, &typed(side))
            }),
            entries: sides.map(|side| {
                level("coredns_cache_entries", "The number of elements in the cache.", TYPED, &typed(side))
            }),
        }
    }

    pub fn hits(&self, side: Side) -> &Count {
        &self.hits[side as usize]
    }

    pub fn evictions(&self, side: Side) -> &Count {
        &self.evictions[side as usize]
    }

    /// Whether the number of entries was told once, as it is with every reply that could be kept.
    pub fn has_entries_shown(&self) -> bool {
        self.entries.iter().all(|level| level.made.get().is_some())
    }

    pub fn set_entries(&self, side: Side, entries: usize) {
        let level = &self.entries[side as usize];
        level.get(|family, values| family.with(values)).set(entries as f64);
    }
}

pub(super) type Count = Lazy<Counter>;
type Level = Lazy<Gauge>;

/// A series that is made when it is first needed.
pub(super) struct Lazy<M> {
    /// None if something else has taken the name; then nobody sees what is counted.
    family: Option<Arc<Family<M>>>,
    values: Box<[String]>,
    made: OnceLock<Arc<M>>,
}

impl<M: Default> Lazy<M> {
    fn get(&self, with: impl FnOnce(&Family<M>, &[&str]) -> Arc<M>) -> &M {
        self.made.get_or_init(|| match &self.family {
            Some(family) => {
                let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
                with(family, &values)
            }
            None => Arc::default(),
        })
    }
}

impl Count {
    pub fn inc(&self) {
        self.get(|family, values| family.with(values)).inc();
    }
}
