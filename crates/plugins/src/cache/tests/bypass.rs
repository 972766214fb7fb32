//! Queries that plugins exclude from the cache.

use super::fixture::Fixture;

#[test]
fn bypassed_queries_are_neither_looked_up_nor_cached() {
    let fixture = Fixture::with(".:1053 {|cache bypassed.example {|serve_stale|}|bypass|source|}");
    for (name, times) in [("www.bypassed.example.", 1), ("www.dynamic.bypassed.example.", 3)] {
        let before = fixture.queries();
        for last in 1..=3 {
            fixture.set_reply(&format!("a 30 10.0.0.{last}"));
            let kept = if times == 1 { 1 } else { last };
            fixture.check(name, &format!("NOERROR qr / answer: {name} 30 IN A 10.0.0.{kept}"));
        }
        assert_eq!(fixture.queries() - before, times, "{name}");
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
fn without_a_bypass_plugin_all_names_are_cached() {
    let fixture = Fixture::new("");
    fixture.ask("www.dynamic.example.");
    fixture.ask("www.dynamic.example.");
    assert_eq!(fixture.queries(), 1);
}
