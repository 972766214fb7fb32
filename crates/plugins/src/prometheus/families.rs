//! The metric families of queries. Names, labels and help texts are CoreDNS's, so that its dashboards and rules work.

use std::sync::Arc;

use metrics::{Counter, Family, Gauge, Histogram, RegisterError, buckets, registry};

pub(super) struct Families {
    pub requests: Arc<Family<Counter>>,
    pub duration: Arc<Family<Histogram>>,
    pub request_size: Arc<Family<Histogram>>,
    pub response_size: Arc<Family<Histogram>>,
    pub do_requests: Arc<Family<Counter>>,
    pub responses: Arc<Family<Counter>>,
    pub plugin_enabled: Arc<Family<Gauge>>,
    pub build_info: Arc<Family<Gauge>>,
}

impl Families {
    pub fn register() -> Result<Families, RegisterError> {
        let registry = registry();
        Ok(Families {
            requests: registry.counters(
                "coredns_dns_requests_total",
                "Counter of DNS requests made per zone, protocol and family.",
                &["server", "zone", "view", "proto", "family", "type"],
            )?,
            duration: registry.histograms(
                "coredns_dns_request_duration_seconds",
                "Histogram of the time (in seconds) each request took per zone.",
                &["server", "zone", "view"],
                buckets::TIME,
            )?,
            request_size: registry.histograms(
                "coredns_dns_request_size_bytes",
                // CoreDNS's help text is wrong: the value is the size of the query.
                "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.",
                &["server", "zone", "view", "proto"],
                buckets::SIZE,
            )?,
            response_size: registry.histograms(
                "coredns_dns_response_size_bytes",
                "Size of the returned response in bytes.",
                &["server", "zone", "view", "proto"],
                buckets::SIZE,
            )?,
            do_requests: registry.counters(
                "coredns_dns_do_requests_total",
                "Counter of DNS requests with DO bit set per zone.",
                &["server", "zone", "view"],
            )?,
            responses: registry.counters(
                "coredns_dns_responses_total",
                "Counter of response status codes.",
                &["server", "zone", "view", "rcode", "plugin"],
            )?,
            plugin_enabled: registry.gauges(
                "coredns_plugin_enabled",
                "A metric that indicates whether a plugin is enabled on per server and zone basis.",
                &["server", "zone", "view", "name"],
            )?,
            build_info: registry.gauges(
                "coredns_build_info",
                "A metric with a constant '1' value labeled by version, revision, and goversion from which CoreDNS \
                 was built.",
                &["version", "revision", "goversion"],
            )?,
        })
    }
}
