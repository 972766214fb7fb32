//! The exposition as a whole. The golden text was printed by Go's client_golang for the same metrics.

use super::*;
use crate::buckets;

#[test]
fn exposition_is_that_of_gos_client() {
    static PANICS: Counter = Counter::new();
    static CPU: Gauge = Gauge::new();
    static HEALTH: Histogram = Histogram::new(buckets::SLIM_TIME);

    let r = Registry::new();
    // Registered out of order, labels declared out of order: both are sorted.
    let requests = r
        .counters("coredns_dns_requests_total", "Counter of DNS requests.", &["server", "zone", "proto"])
        .unwrap();
    r.register_histogram("coredns_health_request_duration_seconds", "Histogram of the time.", &HEALTH)
        .unwrap();
    r.register_counter("coredns_panics_total", "A metrics that counts the number of panics.", &PANICS)
        .unwrap();
    r.register_float_counter("process_cpu_seconds_total", "Total user and system CPU time.", &CPU).unwrap();
    let hosts =
        r.gauges("coredns_hosts_entries", "A \"help\" with \\ and\nnewline.", &["hostsfile"]).unwrap();
    let sizes =
        r.histograms("coredns_dns_request_size_bytes", "Sizes.", &["zone", "proto"], &[0.0, 100.0]).unwrap();
    r.counters("coredns_forward_requests_total", "No series, so not written.", &["to"]).unwrap();

    requests.with(&["dns://:53", ".", "udp"]).add(1_234_567);
    requests.with(&["dns://:53", "b.", "tcp"]).inc();
    requests.with(&["dns://:53", "a.", "udp"]).add(2);
    hosts.with(&["/etc/\"ho\\sts\"\n"]).set(1e-5);
    sizes.with(&[".", "udp"]).observe(40.0);
    sizes.with(&[".", "udp"]).observe(512.0);
    HEALTH.observe(0.0003);
    CPU.set(12.34);

    let expected = r#"# HELP coredns_dns_request_size_bytes Sizes.
# TYPE coredns_dns_request_size_bytes histogram
coredns_dns_request_size_bytes_bucket{proto="udp",zone=".",le="0"} 0
coredns_dns_request_size_bytes_bucket{proto="udp",zone=".",le="100"} 1
coredns_dns_request_size_bytes_bucket{proto="udp",zone=".",le="+Inf"} 2
coredns_dns_request_size_bytes_sum{proto="udp",zone="."} 552
coredns_dns_request_size_bytes_count{proto="udp",zone="."} 2
# HELP coredns_dns_requests_total Counter of DNS requests.
# TYPE coredns_dns_requests_total counter
coredns_dns_requests_total{proto="tcp",server="dns://:53",zone="b."} 1
coredns_dns_requests_total{proto="udp",server="dns://:53",zone="."} 1.234567e+06
coredns_dns_requests_total{proto="udp",server="dns://:53",zone="a."} 2
# HELP coredns_health_request_duration_seconds Histogram of the time.
# TYPE coredns_health_request_duration_seconds histogram
coredns_health_request_duration_seconds_bucket{le="0.00025"} 0
coredns_health_request_duration_seconds_bucket{le="0.0025"} 1
coredns_health_request_duration_seconds_bucket{le="0.025"} 1
coredns_health_request_duration_seconds_bucket{le="0.25"} 1
coredns_health_request_duration_seconds_bucket{le="2.5"} 1
coredns_health_request_duration_seconds_bucket{le="+Inf"} 1
coredns_health_request_duration_seconds_sum 0.0003
coredns_health_request_duration_seconds_count 1
# HELP coredns_hosts_entries A "help" with \\ and\nnewline.
# TYPE coredns_hosts_entries gauge
coredns_hosts_entries{hostsfile="/etc/\"ho\\sts\"\n"} 1e-05
# HELP coredns_panics_total A metrics that counts the number of panics.
# TYPE coredns_panics_total counter
coredns_panics_total 0
# HELP process_cpu_seconds_total Total user and system CPU time.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.34
"#;
    assert_eq!(r.encode(), expected);
}

#[test]
fn registering_again_returns_the_same_metric() {
    static FIRST: Counter = Counter::new();
    static SECOND: Counter = Counter::new();
    let r = Registry::new();
    r.register_counter("total", "help", &FIRST).unwrap();
    let again = r.register_counter("total", "help", &SECOND).unwrap();
    assert!(std::ptr::eq(again, &FIRST));

    let before = r.counters("labelled_total", "help", &["server"]).unwrap();
    before.with(&["dns://:53"]).inc();
    let after = r.counters("labelled_total", "help", &["server"]).unwrap();
    assert_eq!(after.with(&["dns://:53"]).get(), 1);
}

#[test]
fn register_rejects_a_name_with_another_shape() {
    static GAUGE: Gauge = Gauge::new();
    static COUNTER: Counter = Counter::new();
    let r = Registry::new();
    r.counters("a", "help", &["x"]).unwrap();
    r.histograms("h", "help", &["x"], buckets::TIME).unwrap();
    r.register_float_counter("f", "help", &GAUGE).unwrap();
    let refused = |name| Err(RegisterError { name });
    assert_eq!(r.counters("a", "help", &["y"]).map(drop), refused("a"));
    assert_eq!(r.gauges("a", "help", &["x"]).map(drop), refused("a"));
    assert_eq!(r.register_gauge("a", "help", &GAUGE).map(drop), refused("a"));
    assert_eq!(r.register_gauge("f", "help", &GAUGE).map(drop), refused("f"));
    // The same kind and labels, but another Rust type.
    assert_eq!(r.register_counter("f", "help", &COUNTER).map(drop), refused("f"));
    assert_eq!(r.histograms("h", "help", &["x"], buckets::SLIM_TIME).map(drop), refused("h"));
    assert!(r.histograms("h", "help", &["x"], buckets::TIME).is_ok());
}

#[test]
fn collectors_run_at_every_scrape() {
    let r = Registry::new();
    let seen = r.histograms("b_seconds", "Seen.", &["to", "by"], &[1.0]).unwrap();
    seen.with(&["x", "me"]).observe(0.5);
    assert!(r.find::<Histogram>("b_seconds").is_some_and(|family| family.series().len() == 1));
    assert!(r.find::<Counter>("b_seconds").is_none());
    assert!(r.find::<Histogram>("c").is_none());

    for value in [1.0, 2.0] {
        let seen = Arc::clone(&seen);
        r.set_collector("test", move |found| {
            found.gauge("a", "Looked up.", value);
            found.gauge("b_seconds", "Hidden by the registered metric.", 0.0);
            found.family("c", "None.", Kind::Gauge, |_| {});
            found.family("c_seconds", "Seen by another name.", Kind::Histogram, |rows| {
                for (values, histogram) in seen.series() {
                    rows.histogram(&[("to", &values[0])], &histogram.snapshot());
                }
            });
        });
        let expected = format!(
            "# HELP a Looked up.
# TYPE a gauge
a {value}
# HELP b_seconds Seen.
# TYPE b_seconds histogram
b_seconds_bucket{{by=\"me\",to=\"x\",le=\"1\"}} 1
b_seconds_bucket{{by=\"me\",to=\"x\",le=\"+Inf\"}} 1
b_seconds_sum{{by=\"me\",to=\"x\"}} 0.5
b_seconds_count{{by=\"me\",to=\"x\"}} 1
# HELP c_seconds Seen by another name.
# TYPE c_seconds histogram
c_seconds_bucket{{to=\"x\",le=\"1\"}} 1
c_seconds_bucket{{to=\"x\",le=\"+Inf\"}} 1
c_seconds_sum{{to=\"x\"}} 0.5
c_seconds_count{{to=\"x\"}} 1
"
        );
        assert_eq!(r.encode(), expected);
    }
    r.remove_collector("test");
    assert!(r.encode().starts_with("# HELP b_seconds"));
}
