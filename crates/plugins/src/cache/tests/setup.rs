//! Accepted and rejected forms of every option, as seen on CoreDNS 1.15.0.

use crate::testing::harness::{configure, refused};

fn corefile(form: &str) -> String {
    format!("example.org {{\n{}\nwhoami\n}}", form.replace('|', "\n"))
}

#[test]
fn accepted_options() {
    for form in [
        "cache",
        "cache 10",
        "cache +7",
        "cache 10 example.org",
        "cache example.org 10",
        "cache 99999999999999999999",
        "cache 10s",
        "cache a..b",
        "cache ::",
        "cache {|}",
        "cache {|success 0|}",
        "cache {|success -5|}",
        "cache {|success 100 10 0|}",
        "cache {|success 100 10 5 extra words|}",
        "cache {|success 100 10 50|}",
        "cache {|denial 100 10 5 more|}",
        "cache {|prefetch 0|}",
        "cache {|prefetch 1 -5s|}",
        "cache {|prefetch 1 10s 10%|}",
        "cache {|prefetch 1 10s 90%|}",
        "cache {|serve_stale|}",
        "cache {|serve_stale 20m|}",
        "cache {|serve_stale 0|}",
        "cache {|serve_stale 1m VERIFY|}",
        "cache {|serve_stale 1m Immediate 30s|}",
        "cache {|serve_stale 1m verify 100ms|}",
        "cache {|serve_stale 1m verify 0 30s 30s|}",
        "cache {|serve_stale 1m verify 0 4294967295s|}",
        "cache {|serve_stale 1m verify 0 30s 5m|}",
        "cache {|serve_stale 1m immediate 30s 30s|}",
        "cache {|serve_stale|serve_stale_policy PREFER_positive|}",
        "cache {|servfail 0|}",
        "cache {|servfail 10s|}",
        "cache {|servfail 5m|}",
        "cache {|disable success|}",
        "cache {|disable denial a.example b.example|}",
        "cache {|disable success a..b|}",
        r#"cache {|disable success ""|}"#,
        "cache {|keepttl|}",
        "cache {|success 10|success 20 30|}",
    ] {
        if let Err(error) = configure(&corefile(form)) {
            panic!("{form}: {error}");
        }
    }
}

#[test]
fn rejected_options_with_the_errors_of_coredns() {
    for (form, error) in [
        ("cache 0", "cache TTL can not be zero or negative: 0"),
        ("cache -3", "cache TTL can not be zero or negative: -3"),
        (
            "cache 10 {|success|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'success'",
        ),
        ("cache {|success x|}", r#"strconv.Atoi: parsing "x": invalid syntax"#),
        (
            "cache {|success 99999999999999999999|}",
            r#"strconv.Atoi: parsing "99999999999999999999": value out of range"#,
        ),
        ("cache {|success 100 0|}", "cache TTL can not be zero or negative: 0"),
        ("cache {|success 100 -1|}", "cache TTL can not be zero or negative: -1"),
        ("cache {|success 100 y|}", r#"strconv.Atoi: parsing "y": invalid syntax"#),
        ("cache {|success 100 10 -1|}", "cache min TTL can not be negative: -1"),
        ("cache {|success 100 10 z|}", r#"strconv.Atoi: parsing "z": invalid syntax"#),
        (
            "cache {|denial|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'denial'",
        ),
        ("cache {|denial x|}", r#"strconv.Atoi: parsing "x": invalid syntax"#),
        ("cache {|denial 100 0|}", "cache TTL can not be zero or negative: 0"),
        ("cache {|denial 100 10 -1|}", "cache min TTL can not be negative: -1"),
        (
            "cache {|prefetch|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'prefetch'",
        ),
        ("cache {|prefetch -1|}", "prefetch amount should be positive: -1"),
        ("cache {|prefetch x|}", r#"strconv.Atoi: parsing "x": invalid syntax"#),
        ("cache {|prefetch 1 x|}", r#"time: invalid duration "x""#),
        ("cache {|prefetch 1 10s 9%|}", "percentage should fall in range [10, 90]: 9"),
        ("cache {|prefetch 1 10s 91%|}", "percentage should fall in range [10, 90]: 91"),
        ("cache {|prefetch 1 10s 10|}", "last character of percentage should be `%`, but is: '0'"),
        ("cache {|prefetch 1 10s x%|}", r#"strconv.Atoi: parsing "x": invalid syntax"#),
        ("cache {|prefetch 1 10s 10.5%|}", r#"strconv.Atoi: parsing "10.5": invalid syntax"#),
        ("cache {|prefetch 1 10s 10é|}", "last character of percentage should be `%`, but is: '©'"),
        (r#"cache {|prefetch 1 10s "10'"|}"#, r#"last character of percentage should be `%`, but is: '\''"#),
        (
            "cache {|prefetch 1 10s 10% x|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
        ("cache {|serve_stale -20m|}", "invalid negative duration for serve_stale"),
        ("cache {|serve_stale aa|}", r#"time: invalid duration "aa""#),
        ("cache {|serve_stale 1m nono|}", "invalid value for serve_stale refresh mode: nono"),
        ("cache {|serve_stale 1m NoNo|}", "invalid value for serve_stale refresh mode: nono"),
        (
            "cache {|serve_stale 1m verify x|}",
            r#"invalid serve_stale verify timeout: time: invalid duration "x""#,
        ),
        ("cache {|serve_stale 1m verify -1s|}", "invalid negative timeout for serve_stale verify"),
        (
            "cache {|serve_stale 1m verify 0 30s 30s x|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
        (
            "cache {|serve_stale 1m verify 0 x|}",
            r#"invalid serve_stale response TTL: time: invalid duration "x""#,
        ),
        ("cache {|serve_stale 1m verify 0 -1s|}", "invalid negative response TTL for serve_stale"),
        (
            "cache {|serve_stale 1m verify 0 1500ms|}",
            "serve_stale response TTL must be a whole number of seconds",
        ),
        (
            "cache {|serve_stale 1m verify 0 4294967296s|}",
            "serve_stale response TTL exceeds the DNS TTL range",
        ),
        (
            "cache {|serve_stale 1m verify 0 30s x|}",
            r#"invalid serve_stale failure recheck: time: invalid duration "x""#,
        ),
        ("cache {|serve_stale 1m verify 0 30s -1s|}", "invalid negative failure recheck for serve_stale"),
        ("cache {|serve_stale 1m verify 0 30s 5m1s|}", "serve_stale failure recheck cannot exceed 5 minutes"),
        (
            "cache {|serve_stale 1m immediate x|}",
            r#"invalid serve_stale response TTL: time: invalid duration "x""#,
        ),
        (
            "cache {|serve_stale 1m immediate 30s 30s 1s|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '1s'",
        ),
        (
            "cache {|serve_stale 1m immediate 30s x|}",
            r#"invalid serve_stale failure recheck: time: invalid duration "x""#,
        ),
        ("cache {|serve_stale 1m immediate 30s 6m|}", "serve_stale failure recheck cannot exceed 5 minutes"),
        ("cache {|serve_stale_policy prefer_positive|}", "serve_stale_policy requires serve_stale"),
        (
            "cache {|serve_stale|serve_stale_policy|}",
            "Corefile:4 - Error during parsing: Wrong argument count or unexpected line ending after 'serve_stale_policy'",
        ),
        ("cache {|serve_stale|serve_stale_policy x|}", "invalid serve_stale_policy: x"),
        (
            "cache {|serve_stale|serve_stale_policy prefer_positive y|}",
            "Corefile:4 - Error during parsing: Wrong argument count or unexpected line ending after 'y'",
        ),
        (
            "cache {|serve_stale|serve_stale_policy prefer_positive|serve_stale_policy prefer_positive|}",
            "serve_stale_policy can only be specified once",
        ),
        (
            "cache {|servfail|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'servfail'",
        ),
        ("cache {|servfail -1s|}", "invalid negative ttl for servfail"),
        ("cache {|servfail x|}", r#"time: invalid duration "x""#),
        ("cache {|servfail 6m|}", "caching SERVFAIL responses over 5 minutes is not permitted"),
        (
            "cache {|servfail 1s 2s|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '2s'",
        ),
        (
            "cache {|disable|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'disable'",
        ),
        ("cache {|disable both|}", r#"cache type for disable must be "success" or "denial""#),
        ("cache {|disable both a..b|}", r#"cache type for disable must be "success" or "denial""#),
        (
            "cache {|keepttl x|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
        (
            "cache {|noopt|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'noopt'",
        ),
        (
            "cache {|prefetch_ttl 5|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'prefetch_ttl'",
        ),
        ("cache|cache", "this plugin can only be used once per Server Block"),
        ("cache {|prefetch 1 10s %|}", r#"strconv.Atoi: parsing "": invalid syntax"#),
        // CoreDNS panics.
        (r#"cache {|prefetch 1 10s ""|}"#, "last character of percentage should be `%`, but is: ''"),
    ] {
        assert_eq!(refused(&corefile(form)), format!("plugin/cache: {error}"), "{form}");
    }
}
