//! What is counted, under CoreDNS's names.

use super::source::{Setting, later};

/// The lines of this cache, found by its zones.
fn counted(zones: &str) -> Vec<String> {
    let text = metrics::registry().encode();
    let ours = format!("zones=\"{zones}\"");
    let lines = text.lines().filter(|line| line.starts_with("coredns_cache_") && line.contains(&ours));
    lines.map(|line| line.replace("coredns_cache_", "").replace(&format!(",{ours}"), "")).collect()
}

#[test]
fn names_and_labels() {
    let setting =
        Setting::with(".:1053 {|cache metrics.example a.metrics.example {|serve_stale|prefetch 1|}|source|}");
    let zones = "metrics.example.,a.metrics.example.";
    setting.ask("www.elsewhere.");
    assert_eq!(counted(zones), [""; 0]);
    setting.ask("www.metrics.example.");
    assert_eq!(
        counted(zones),
        [
            r#"entries{server="dns://:1053",type="denial",view=""} 0"#,
            r#"entries{server="dns://:1053",type="success",view=""} 1"#,
            r#"misses_total{server="dns://:1053",view=""} 1"#,
            r#"requests_total{server="dns://:1053",view=""} 1"#,
        ]
    );
    setting.ask("www.metrics.example.");
    setting.says("nxdomain 30");
    setting.ask("no.metrics.example.");
    setting.ask("no.metrics.example.");
    later(40);
    setting.says("fail");
    setting.ask("www.metrics.example.");
    setting.wait_for_asked(4);
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
    let setting = Setting::with(".:1053 {|cache evict.example {|success 0|}|source|}");
    (0..1200).for_each(|i| drop(setting.ask(&format!("n{i}.evict.example."))));
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

/// What claims to be no reply is given on and not kept. What would not have been kept anyway is not counted.
#[test]
fn drops() {
    let setting = Setting::with(".:1053 {|cache dropped.example|source|}");
    let drops = || counted("dropped.example.").into_iter().find(|line| line.starts_with("drops_total"));
    setting.says("a 30 10.0.0.1");
    setting.ask("good.dropped.example.");
    assert_eq!(drops(), None);
    setting.says("no-reply 30 10.0.0.1");
    for _ in 0..2 {
        assert!(
            setting.ask("www.dropped.example.").ends_with("answer: www.dropped.example. 30 IN A 10.0.0.1")
        );
    }
    assert_eq!(drops(), Some(r#"drops_total{server="dns://:1053",view=""} 2"#.to_owned()));
    assert_eq!(setting.asked(), 3);
}
