//! Counters and histograms about clusters, under the names that CoreDNS's dashboards use.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use metrics::{Counter, Family, Histogram, buckets, registry};

use crate::key::Key;
use crate::object::Kind;
use crate::snapshot::Snapshot;

/// When the change behind an EndpointSlice began, from the annotation of its controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriggerTime(pub(crate) Timestamp);

impl TriggerTime {
    /// None if the text is no RFC 3339 time.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// Observes the programming latency of a change, which `snapshot` is the first to contain. Skipped while the Service is
    /// missing: the label `service_kind` depends on it.
    pub(crate) fn observe(self, snapshot: &Snapshot, service: &Key) {
        let entry = snapshot.entry(service.as_bytes());
        let Some(service) = entry.and_then(|entry| entry.service.as_ref()) else { return };
        // Only controllers write the annotation, and these write slices only for Services with a selector.
        let kind = if service.is_headless() { "headless_with_selector" } else { "cluster_ip" };
        let elapsed = Timestamp::now().duration_since(self.0).as_secs_f64();
        families().programming.with(&[kind]).observe(elapsed.max(0.0));
    }
}

/// Counts a request to an API server; `code` is None if there was no response.
pub(crate) fn observe_request(host: &str, code: Option<u16>, elapsed: Duration) {
    const METHOD: &str = "GET";
    let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
    families().requests.with(&[&code, METHOD, host]).inc();
    families().durations.with(&[METHOD, host]).observe(elapsed.as_secs_f64());
    // Requests are not rate-limited, but dashboards query the series.
    families().throttled.with(&[METHOD, host]).observe(0.0);
}

/// The counters of one kind of one source.
pub(crate) struct EventCounters {
    pub applied: Arc<Counter>,
    pub deleted: Arc<Counter>,
    pub listed: Arc<Counter>,
    /// Events that could not be decoded.
    pub garbled: Arc<Counter>,
    /// Censuses with another number of objects than the watch had delivered.
    pub missed: Arc<Counter>,
    /// Censuses that found the watch stuck behind the server, or the server at an older version than before.
    pub doubted: Arc<Counter>,
}

impl EventCounters {
    pub(crate) fn new(source: &str, kind: Kind) -> Self {
        let counter = |event| families().events.with(&[source, kind.name(), event]);
        Self {
            applied: counter("apply"),
            deleted: counter("delete"),
            listed: counter("list"),
            garbled: counter("garbled"),
            missed: counter("missed"),
            doubted: counter("doubted"),
        }
    }
}

/// Registers this crate's metrics.
pub fn register_metrics() {
    families();
    registry().set_collector("cluster", super::collect::collect);
}

struct Families {
    programming: Arc<Family<Histogram>>,
    durations: Arc<Family<Histogram>>,
    throttled: Arc<Family<Histogram>>,
    requests: Arc<Family<Counter>>,
    events: Arc<Family<Counter>>,
}

fn families() -> &'static Families {
    static FAMILIES: OnceLock<Families> = OnceLock::new();
    FAMILIES.get_or_init(|| Families {
        programming: histograms(
            "coredns_kubernetes_dns_programming_duration_seconds",
            "Histogram of the time (in seconds) it took to program a dns instance.",
            &["service_kind"],
            buckets::PROGRAMMING,
        ),
        durations: histograms(
            "coredns_kubernetes_rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb and host.",
            &["verb", "host"],
            buckets::DEFAULT,
        ),
        throttled: histograms(
            "coredns_kubernetes_rest_client_rate_limiter_duration_seconds",
            "Client side rate limiter latency in seconds. Broken down by verb and host.",
            &["verb", "host"],
            buckets::DEFAULT,
        ),
        requests: counters(
            "coredns_kubernetes_rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            &["code", "method", "host"],
        ),
        events: counters(
            "rhumb_cluster_events_total",
            "Number of events received from a cluster, by source, object kind and event.",
            &["source", "kind", "event"],
        ),
    })
}

// The names are unique, so registration cannot fail; if it did, the series would count without being exposed.
fn histograms(
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    bounds: &'static [f64],
) -> Arc<Family<Histogram>> {
    let registered = registry().histograms(name, help, labels, bounds);
    registered.unwrap_or_else(|_| Arc::new(Family::<Histogram>::new(labels, bounds)))
}

fn counters(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Arc<Family<Counter>> {
    registry().counters(name, help, labels).unwrap_or_else(|_| Arc::new(Family::<Counter>::new(labels)))
}
