//! What is counted about clusters, under the names dashboards know.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use metrics::{Counter, Family, Histogram, buckets, registry};

use crate::key::Key;
use crate::object::Kind;
use crate::snapshot::Snapshot;

/// When the change began that an EndpointSlice tells of, as its controller wrote it down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triggered(pub(crate) Timestamp);

impl Triggered {
    /// None if it is no time; whoever wrote it knows as little as we do.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// The change is in the snapshot that queries get next. Counted only if the Service is known: the annotation
    /// alone does not say which kind of Service it is.
    pub(crate) fn served(self, snapshot: &Snapshot, service: &Key) {
        let entry = snapshot.entry(service.as_bytes());
        let Some(service) = entry.and_then(|entry| entry.service.as_ref()) else { return };
        // The annotation comes from a controller, which writes slices only for Services with a selector.
        let kind = if service.is_headless() { "headless_with_selector" } else { "cluster_ip" };
        let took = Timestamp::now().duration_since(self.0).as_secs_f64();
        families().programming.with(&[kind]).observe(took.max(0.0));
    }
}

/// What was asked of an API server and how it went; `code` is None if there was no answer.
pub(crate) fn requested(host: &str, code: Option<u16>, took: Duration) {
    const METHOD: &str = "GET";
    let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
    families().requests.with(&[&code, METHOD, host]).inc();
    families().durations.with(&[METHOD, host]).observe(took.as_secs_f64());
    // Nothing holds our few requests back; dashboards ask for the series all the same.
    families().throttled.with(&[METHOD, host]).observe(0.0);
}

/// The counters of one kind of one source.
pub(crate) struct Events {
    pub applied: Arc<Counter>,
    pub deleted: Arc<Counter>,
    pub listed: Arc<Counter>,
    /// Events that could not be read.
    pub garbled: Arc<Counter>,
    /// Checks that found fewer or more objects at the server than its watch had told of.
    pub missed: Arc<Counter>,
    /// Checks that found the watch behind the server, or the server at an older version than before.
    pub doubted: Arc<Counter>,
}

impl Events {
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

/// Makes this crate's metrics known to the registry, so that they are served.
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
            "Number of events taken in from a cluster, by source, kind of object and event.",
            &["source", "kind", "event"],
        ),
    })
}

// The names are ours alone, so registering cannot fail; if it did, we would count unseen.
fn histograms(
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    bounds: &'static [f64],
) -> Arc<Family<Histogram>> {
    let made = registry().histograms(name, help, labels, bounds);
    made.unwrap_or_else(|_| Arc::new(Family::<Histogram>::new(labels, bounds)))
}

fn counters(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Arc<Family<Counter>> {
    registry().counters(name, help, labels).unwrap_or_else(|_| Arc::new(Family::<Counter>::new(labels)))
}
