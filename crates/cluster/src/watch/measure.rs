//! The programming latency of the index, under the name that CoreDNS's dashboards use.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use metrics::{Family, Histogram, buckets, registry};

use crate::key::Key;
use crate::snapshot::Snapshot;

/// When the change behind an EndpointSlice began, from the annotation of its controller.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        programming().with(&[kind]).observe(elapsed.max(0.0));
    }
}

/// Registers this crate's metrics, and those of `kube_api`.
pub fn register_metrics() {
    programming();
    kube_api::register_metrics();
    registry().set_collector("cluster", super::collect::collect);
}

fn programming() -> &'static Family<Histogram> {
    static PROGRAMMING: OnceLock<Arc<Family<Histogram>>> = OnceLock::new();
    const LABELS: &[&str] = &["service_kind"];
    PROGRAMMING.get_or_init(|| {
        let registered = registry().histograms(
            "coredns_kubernetes_dns_programming_duration_seconds",
            "Histogram of the time (in seconds) it took to program a dns instance.",
            LABELS,
            buckets::PROGRAMMING,
        );
        // The name is unique, so registration cannot fail; if it did, the series would count without being exposed.
        registered.unwrap_or_else(|_| Arc::new(Family::<Histogram>::new(LABELS, buckets::PROGRAMMING)))
    })
}
