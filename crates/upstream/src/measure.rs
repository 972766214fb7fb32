//! The metrics of an upstream, with CoreDNS's names.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{Counter, Family, Histogram, buckets, registry};
use wire::Rcode;

/// Rcodes below this have a cached series; the others are looked up each time.
const KNOWN_RCODES: usize = 24;

/// The series of one upstream. Each is looked up once, at its first use: as with Go's client, a series that was never
/// used is not exposed.
pub(crate) struct Measure {
    proxy_name: &'static str,
    to: String,
    durations: [OnceLock<Arc<Histogram>>; KNOWN_RCODES],
    failures: OnceLock<Arc<Counter>>,
    hits: [OnceLock<Arc<Counter>>; 3],
    misses: [OnceLock<Arc<Counter>>; 3],
}

/// The values of the label `proto`.
#[derive(Clone, Copy)]
pub(crate) enum Proto {
    Udp,
    Tcp,
    Tls,
}

impl Proto {
    fn label(self) -> &'static str {
        match self {
            Proto::Udp => "udp",
            Proto::Tcp => "tcp",
            Proto::Tls => "tcp-tls",
        }
    }
}

impl Measure {
    pub(crate) fn new(proxy_name: &'static str, to: &str) -> Measure {
        families();
        Measure {
            proxy_name,
            to: to.to_owned(),
            durations: [const { OnceLock::new() }; KNOWN_RCODES],
            failures: OnceLock::new(),
            hits: [const { OnceLock::new() }; 3],
            misses: [const { OnceLock::new() }; 3],
        }
    }

    /// The server's own probes and look-ups have no name and are not counted.
    fn is_uncounted(&self) -> bool {
        self.proxy_name.is_empty()
    }

    pub(crate) fn answered(&self, rcode: Rcode, took: Duration) {
        if self.is_uncounted() {
            return;
        }
        let took = took.as_secs_f64();
        match self.durations.get(usize::from(rcode.0)) {
            Some(series) => series.get_or_init(|| self.duration(rcode)).observe(took),
            None => self.duration(rcode).observe(took),
        }
    }

    fn duration(&self, rcode: Rcode) -> Arc<Histogram> {
        let number;
        let label = match rcode.mnemonic() {
            Some(text) => text,
            None => {
                number = rcode.0.to_string();
                &number
            }
        };
        families().durations.with(&[self.proxy_name, &self.to, label])
    }

    pub(crate) fn probe_failed(&self) {
        if self.is_uncounted() {
            return;
        }
        self.failures.get_or_init(|| families().failures.with(&[self.proxy_name, &self.to])).inc();
    }

    pub(crate) fn hit(&self, proto: Proto) {
        self.count(&self.hits, &families().hits, proto);
    }

    pub(crate) fn miss(&self, proto: Proto) {
        self.count(&self.misses, &families().misses, proto);
    }

    fn count(&self, series: &[OnceLock<Arc<Counter>>; 3], family: &Family<Counter>, proto: Proto) {
        if self.is_uncounted() {
            return;
        }
        series[proto as usize].get_or_init(|| family.with(&[self.proxy_name, &self.to, proto.label()])).inc();
    }
}

struct Families {
    durations: Arc<Family<Histogram>>,
    failures: Arc<Family<Counter>>,
    hits: Arc<Family<Counter>>,
    misses: Arc<Family<Counter>>,
}

fn families() -> &'static Families {
    static FAMILIES: OnceLock<Families> = OnceLock::new();
    FAMILIES.get_or_init(|| {
        const PER_PROTO: &[&str] = &["proxy_name", "to", "proto"];
        // No other code registers these names, so this cannot fail; if it did, the counts would not be exposed.
        let counters = |name, help, labels| {
            registry()
                .counters(name, help, labels)
                .unwrap_or_else(|_| Arc::new(Family::<Counter>::new(labels)))
        };
        const PER_CODE: &[&str] = &["proxy_name", "to", "rcode"];
        Families {
            durations: registry()
                .histograms(
                    "coredns_proxy_request_duration_seconds",
                    "Histogram of the time each request took.",
                    PER_CODE,
                    buckets::TIME,
                )
                .unwrap_or_else(|_| Arc::new(Family::<Histogram>::new(PER_CODE, buckets::TIME))),
            failures: counters(
                "coredns_proxy_healthcheck_failures_total",
                "Counter of the number of failed healthchecks.",
                &["proxy_name", "to"],
            ),
            hits: counters(
                "coredns_proxy_conn_cache_hits_total",
                "Counter of connection cache hits per upstream and protocol.",
                PER_PROTO,
            ),
            misses: counters(
                "coredns_proxy_conn_cache_misses_total",
                "Counter of connection cache misses per upstream and protocol.",
                PER_PROTO,
            ),
        }
    })
}
