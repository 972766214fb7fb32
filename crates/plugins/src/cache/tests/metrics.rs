//! Metrics, under CoreDNS's names.

use super::fixture::{Fixture, advance_clock};

/// The metrics of this cache, found by its zones.
fn counted(zones: &str) -> Vec<String> {
    let text = metrics::registry().encode();
    let ours = format!("zones=\"{zones}\"");
    let lines = text.lines().filter(|line| line.starts_with("coredns_cache_") && line.contains(&ours));
    lines.map(|line| line.replace("coredns_cache_", "").replace(&format!(",{ours}"), "")).collect()
}

#[test]
fn names_and_labels() {
    let fixture =
        Fixture::with(".:1053 {|cache metrics.example a.metrics.example {|serve_stale|prefetch 1|}|source|}");
    let zones = "metrics.example.,a.metrics.example.";
    fixture.ask("www.elsewhere.");
    assert_eq!(counted(zones), [""; 0]);
    fixture.ask("www.metrics.example.");
    assert_eq!(
        counted(zones),
        [
            r#"entries{server="dns://:1053",type="denial",view=""} 0"#,
            r#"entries{server="dns://:1053",type="success",view=""} 1"#,
            r#"misses_total{server="dns://:1053",view=""} 1"#,
            r#"requests_total{server="dns://:1053",view=""} 1"#,
        ]
    );
    fixture.ask("www.metrics.example.");
    fixture.set_reply("nxdomain 30");
    fixture.ask("no.metrics.example.");
    fixture.ask("no.metrics.example.");
    advance_clock(40);
    fixture.set_reply("fail");
    fixture.ask("www.metrics.example.");
    fixture.wait_for_queries(4);
    assert_eq!(
        counted(zones),
        [
            r#"entries{server="dns://:1053",type="denial",view=""} 1"#,
            r#"entries{server="dns://:1053",type="success",view=""} 1"#,
            r#"hits_total{server="dns://:1053",type="denial",view=""} 1"#,
            r#"hits_total{server="dns://:1053",type="success",view=""} 2"#,
            r#"misses_total{server="dns://:1053",view=""} 2"#,
            r#"prefetch_total{server="dns://:1053",view=""} 1"#,
            r#"requests_total{server="dns://:1053",view=""} 5"#,
            r#"served_stale_total{server="dns://:1053",view=""} 1"#,
        ]
    );
}

#[test]
fn evictions() {
    let fixture = Fixture::with(".:1053 {|cache evict.example {|success 0|}|source|}");
    (0..1200).for_each(|i| drop(fixture.ask(&format!("n{i}.evict.example."))));
    let value = |name: &str| -> u64 {
        let lines = counted("evict.example.");
        let line =
            lines.iter().find(|line| line.starts_with(name) && line.contains("success")).expect("a line");
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    // Four for each of 256 shards, which do not fill evenly.
    assert_eq!(value("entries") + value("evictions_total"), 1200);
    assert!((700..=1024).contains(&value("entries")), "{}", value("entries"));
}

/// A message without QR is passed on and not cached; counted only if it was cacheable otherwise.
#[test]
fn drops() {
    let fixture = Fixture::with(".:1053 {|cache dropped.example|source|}");
    let drops = || counted("dropped.example.").into_iter().find(|line| line.starts_with("drops_total"));
    fixture.set_reply("a 30 10.0.0.1");
    fixture.ask("good.dropped.example.");
    assert_eq!(drops(), None);
    fixture.set_reply("no-reply 30 10.0.0.1");
    for _ in 0..2 {
        assert!(
            fixture.ask("www.dropped.example.").ends_with("answer: www.dropped.example. 30 IN A 10.0.0.1")
        );
    }
    assert_eq!(drops(), Some(r#"drops_total{server="dns://:1053",view=""} 2"#.to_owned()));
    assert_eq!(fixture.queries(), 3);
}
