//! The metrics of one cache, a set per server.
//!
//! A series appears with its first event, as in CoreDNS, and stays; a query finds its set by comparing a name or two
//! and never looks up labels.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, Gauge, registry};
use server::Link;

const PLAIN: &[&str] = &["server", "zones", "view"];
const TYPED: &[&str] = &["server", "type", "zones", "view"];

/// The two stores, by their value of the label `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreType {
    Success,
    Denial,
}

/// The sets of all servers of the block.
pub(super) struct Counters {
    first: Arc<Series>,
    others: Vec<Arc<Series>>,
}

impl Counters {
    pub fn new(link: &Link<'_>, zones: &str) -> Counters {
        let view = link.view();
        let mut servers = link.servers().into_iter();
        let first = Arc::new(Series::new(servers.next().unwrap_or_default(), zones, &view));
        Counters {
            first,
            others: servers.map(|server| Arc::new(Series::new(server, zones, &view))).collect(),
        }
    }

    /// Walks are only on these servers, mostly on the first.
    pub fn for_server(&self, server: &str) -> &Arc<Series> {
        let other = self.others.iter().find(|series| series.server == server);
        other.unwrap_or(&self.first)
    }
}

/// The metrics of a cache on one server.
pub(super) struct Series {
    server: String,
    pub requests: LazyCounter,
    pub misses: LazyCounter,
    pub prefetches: LazyCounter,
    pub served_stale: LazyCounter,
    /// Cacheable messages without QR.
    pub drops: LazyCounter,
    hits: [LazyCounter; 2],
    evictions: [LazyCounter; 2],
    entries: [LazyGauge; 2],
}

impl Series {
    fn new(server: &str, zones: &str, view: &str) -> Series {
        let plain = [server, zones, view].map(str::to_owned);
        let typed = |value| [server, value, zones, view].map(str::to_owned);
        let counter = |name, help, labels, values: &[String]| Lazy {
            family: registry().counters(name, help, labels).ok(),
            values: values.into(),
            metric: OnceLock::new(),
        };
        let gauge = |name, help, labels, values: &[String]| Lazy {
            family: registry().gauges(name, help, labels).ok(),
            values: values.into(),
            metric: OnceLock::new(),
        };
        let types = ["success", "denial"];
        Series {
            server: server.to_owned(),
            requests: counter("coredns_cache_requests_total", "The count of cache requests.", PLAIN, &plain),
            misses: counter(
                "coredns_cache_misses_total",
                "The count of cache misses. Deprecated, derive misses from cache hits/requests counters.",
                PLAIN,
                &plain,
            ),
            prefetches: counter(
                "coredns_cache_prefetch_total",
                "The number of times the cache has prefetched a cached item.",
                PLAIN,
                &plain,
            ),
            served_stale: counter(
                "coredns_cache_served_stale_total",
                "The number of requests served from stale cache entries.",
                PLAIN,
                &plain,
            ),
            drops: counter(
                "coredns_cache_drops_total",
                "The number responses that are not cached, because the reply is malformed.",
                PLAIN,
                &plain,
            ),
            hits: types.map(|value| {
                counter("coredns_cache_hits_total", "The count of cache hits.", TYPED, &typed(value))
            }),
            evictions: types.map(|value| {
                counter(
                    "coredns_cache_evictions_total",
                    "The count of cache evictions.",
                    TYPED,
                    &typed(value),
                )
            }),
            entries: types.map(|value| {
                gauge("coredns_cache_entries", "The number of elements in the cache.", TYPED, &typed(value))
            }),
        }
    }

    pub fn hits(&self, store_type: StoreType) -> &LazyCounter {
        &self.hits[store_type as usize]
    }

    pub fn evictions(&self, store_type: StoreType) -> &LazyCounter {
        &self.evictions[store_type as usize]
    }

    /// Whether the series for entries exist, as they do from the first cacheable reply on.
    pub fn has_entries_series(&self) -> bool {
        self.entries.iter().all(|gauge| gauge.metric.get().is_some())
    }

    pub fn set_entries(&self, store_type: StoreType, entries: usize) {
        let gauge = &self.entries[store_type as usize];
        gauge.get(|family, values| family.with(values)).set(entries as f64);
    }
}

pub(super) type LazyCounter = Lazy<Counter>;
type LazyGauge = Lazy<Gauge>;

/// A series that is registered when first used.
pub(super) struct Lazy<M> {
    /// None if the name is taken by another metric; then the series is not exposed.
    family: Option<Arc<Family<M>>>,
    values: Box<[String]>,
    metric: OnceLock<Arc<M>>,
}

impl<M: Default> Lazy<M> {
    fn get(&self, with: impl FnOnce(&Family<M>, &[&str]) -> Arc<M>) -> &M {
        self.metric.get_or_init(|| match &self.family {
            Some(family) => {
                let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
                with(family, &values)
            }
            None => Arc::default(),
        })
    }
}

impl LazyCounter {
    pub fn inc(&self) {
        self.get(|family, values| family.with(values)).inc();
    }
}
