//! Counters and histograms about requests and watches, partly under the names that CoreDNS's dashboards use.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{Collection, Counter, Family, Histogram, Kind as MetricKind, buckets, registry};

use crate::api_server::all_open;

/// A request and how it went.
pub(crate) struct Exchanged<'a> {
    pub cluster: &'a str,
    pub host: &'a str,
    pub method: &'a str,
    pub verb: &'a str,
    /// None if there was no response.
    pub code: Option<u16>,
    pub elapsed: Duration,
    /// How long the rate limit delayed it.
    pub throttled: Duration,
}

pub(crate) fn observe_request(it: &Exchanged<'_>) {
    let code = it.code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
    let families = families();
    families.requests.with(&[&code, it.method, it.host]).inc();
    families.durations.with(&[it.method, it.host]).observe(it.elapsed.as_secs_f64());
    families.throttled.with(&[it.method, it.host]).observe(it.throttled.as_secs_f64());
    families.by_verb.with(&[it.cluster, it.verb, &code]).inc();
}

/// The counters of one kind of one source.
pub struct EventCounters {
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
    pub fn new(source: &str, kind: &str) -> Self {
        let counter = |event| families().events.with(&[source, kind, event]);
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
    registry().set_collector("kube_api", collect);
}

fn collect(collection: &mut Collection) {
    let servers = all_open();
    collection.family(
        "rhumb_cluster_watch_state",
        "State of each watch: absent, forbidden, synced or stale; the series of the current state is 1.",
        MetricKind::Gauge,
        |rows| {
            for server in &servers {
                for status in server.statuses() {
                    let Some(availability) = status.availability() else { continue };
                    let (source, resource) = (server.id().as_str(), status.resource());
                    let labels = [("source", source), ("resource", resource), ("state", availability.name())];
                    rows.value(&labels, 1.0);
                }
            }
        },
    );
}

struct Families {
    durations: Arc<Family<Histogram>>,
    throttled: Arc<Family<Histogram>>,
    requests: Arc<Family<Counter>>,
    by_verb: Arc<Family<Counter>>,
    events: Arc<Family<Counter>>,
}

fn families() -> &'static Families {
    static FAMILIES: OnceLock<Families> = OnceLock::new();
    FAMILIES.get_or_init(|| Families {
        durations: histograms(
            "coredns_kubernetes_rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb and host.",
        ),
        throttled: histograms(
            "coredns_kubernetes_rest_client_rate_limiter_duration_seconds",
            "Client side rate limiter latency in seconds. Broken down by verb and host.",
        ),
        requests: counters(
            "coredns_kubernetes_rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            &["code", "method", "host"],
        ),
        by_verb: counters(
            "rhumb_kube_api_requests_total",
            "Number of requests to the API server of a cluster, by verb and status code.",
            &["cluster", "verb", "code"],
        ),
        events: counters(
            "rhumb_cluster_events_total",
            "Number of events received from a cluster, by source, object kind and event.",
            &["source", "kind", "event"],
        ),
    })
}

// The names are unique, so registration cannot fail; if it did, the series would count without being exposed.
fn histograms(name: &'static str, help: &'static str) -> Arc<Family<Histogram>> {
    const LABELS: &[&str] = &["verb", "host"];
    let registered = registry().histograms(name, help, LABELS, buckets::DEFAULT);
    registered.unwrap_or_else(|_| Arc::new(Family::<Histogram>::new(LABELS, buckets::DEFAULT)))
}

fn counters(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Arc<Family<Counter>> {
    registry().counters(name, help, labels).unwrap_or_else(|_| Arc::new(Family::<Counter>::new(labels)))
}
