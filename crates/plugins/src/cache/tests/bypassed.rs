//! Queries that plugins keep away from the cache.

use super::source::Setting;

#[test]
fn neither_read_nor_kept() {
    let setting = Setting::with(".:1053 {|cache bypassed.example {|serve_stale|}|bypass|source|}");
    for (name, times) in [("www.bypassed.example.", 1), ("www.dynamic.bypassed.example.", 3)] {
        let before = setting.asked();
        for last in 1..=3 {
            setting.says(&format!("a 30 10.0.0.{last}"));
            let kept = if times == 1 { 1 } else { last };
            setting.check(name, &format!("NOERROR qr / answer: {name} 30 IN A 10.0.0.{kept}"));
        }
        assert_eq!(setting.asked() - before, times, "{name}");
    }
    let text = metrics::registry().encode();
    let counted = |name: &str| {
        let mut lines = text.lines().filter(|line| line.contains("bypassed.example"));
        lines.find(|line| line.starts_with(name)).and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
    };
    assert_eq!(counted("coredns_cache_requests_total").as_deref(), Some("3"));
    assert_eq!(
        counted("coredns_cache_entries{server=\"dns://:1053\",type=\"success\"").as_deref(),
        Some("1")
    );
}

#[test]
fn without_such_a_plugin_nothing_is_different() {
    let setting = Setting::new("");
    setting.ask("www.dynamic.example.");
    setting.ask("www.dynamic.example.");
    assert_eq!(setting.asked(), 1);
}
