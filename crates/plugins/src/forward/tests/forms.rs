//! Accepted and rejected Corefile forms, compared with CoreDNS 1.15.0.

use crate::testing::harness::{configure, refused};

fn line(rest: &str) -> String {
    format!(". {{\nforward {rest}\n}}")
}

fn option(option: &str) -> String {
    line(&format!(". 127.0.0.1 {{\n{option}\n}}"))
}

#[test]
fn accepted_lines() {
    for rest in [
        ". 127.0.0.1",
        "example.org 127.0.0.1:5353 [::1]:53 ::1",
        ". dns://127.0.0.1 dns://127.0.0.1:54",
        ". tls://127.0.0.1%foo tls://[::1%bar] tls://127.0.0.1%foo:10853",
        ". tls://127.0.0.1 {\n tls_servername foo\n}",
        ". https://127.0.0.1%foo {\n tls_servername bar\n}",
        ". fe80::1%eth0",
        ". 127.0.0.1 {\n}",
        ". 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 \
         127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1",
        ". 127.0.0.1\nforward . 127.0.0.2",
    ] {
        if let Err(error) = configure(&line(rest)) {
            panic!("{rest}: {error}");
        }
    }
}

#[test]
fn rejected_lines() {
    const ARGUMENTS: &str = "Wrong argument count or unexpected line ending after";
    let at_two = |text: &str| format!("Corefile:2 - Error during parsing: {text}");
    for (rest, error) in [
        ("", at_two(&format!("{ARGUMENTS} 'forward'"))),
        (".", at_two(&format!("{ARGUMENTS} '.'"))),
        (". {\n}", at_two(&format!("{ARGUMENTS} '.'"))),
        ("{\n}", at_two("Unexpected token '{', expecting argument")),
        ("a..b 127.0.0.1", "unable to normalize 'a..b'".into()),
        ("a:x: 127.0.0.1", "unable to normalize 'a:x:'".into()),
        (". dns://", "invalid address: \"dns://\"".into()),
        (". \"\"", "invalid address: \"\"".into()),
        (
            ". unix:///tmp/x",
            "'unix' is not supported as a destination protocol in forward: unix:///tmp/x".into(),
        ),
        (
            ". grpc://127.0.0.1",
            "'grpc' is not supported as a destination protocol in forward: grpc://127.0.0.1:443".into(),
        ),
        (
            ". https3://127.0.0.1:443",
            "'https3' is not supported as a destination protocol in forward: https3://127.0.0.1:443".into(),
        ),
        (
            ". https://127.0.0.1/dns-query",
            "paths are not allowed in HTTPS upstream addresses (the /dns-query path is used by default): \
             https://127.0.0.1/dns-query"
                .into(),
        ),
        (
            ". tls://127.0.0.1%foo {\n tls_servername bar\n}",
            "both forward ('bar') and proxy level ('foo') TLS servernames are set for upstream proxy \
             'tls://127.0.0.1:853'"
                .into(),
        ),
        (
            ". tls://[::1%foo] {\n tls_servername bar\n}",
            "both forward ('bar') and proxy level ('foo') TLS servernames are set for upstream proxy \
             'tls://[::1]:853'"
                .into(),
        ),
        (". a..b", "not an IP address, file, or valid domain: \"a..b\"".into()),
        (". /etc", "no valid upstream addresses found".into()),
        (". /dev/null", "no valid upstream addresses found".into()),
        (". /dev/zero", "/dev/zero is not a regular file".into()),
        (". /nonexistent", "failed to resolve \"/nonexistent\": lookup /nonexistent.: no such host".into()),
        // CoreDNS accepts these, but cannot use them.
        (". 127.0.0.1:99999", "'99999' is not a port: 127.0.0.1:99999".into()),
        (". 127.0.0.1:", "'' is not a port: 127.0.0.1:".into()),
        (". quic://127.0.0.1", "quic:// upstreams are still to come in Rhumb: quic://127.0.0.1:853".into()),
    ] {
        assert_eq!(refused(&line(rest)), format!("plugin/forward: {error}"), "{rest}");
    }
    let sixteen: Vec<String> = (1..=16).map(|last| format!("127.0.0.{last}")).collect();
    let error = refused(&line(&format!(". {}", sixteen.join(" "))));
    assert_eq!(error, "plugin/forward: more than 15 TOs configured: 16");
}

#[test]
fn prefixes_of_several_zones_are_cut_to_the_first() {
    let config = configure(&line("10.0.0.0/20 127.0.0.1")).expect("it loads");
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    let expected = "plugin/forward: Unsupported CIDR notation: '10.0.0.0/20' expands to multiple zones. Using only '0.0.10.in-addr.arpa.'.";
    assert_eq!(warnings, [expected]);
}

#[test]
fn accepted_options() {
    for text in [
        "except a b..c 10.0.0.0/9",
        "max_fails 0",
        "max_connect_attempts 0",
        "health_check 0",
        "health_check 5s no_rec domain example.org",
        "force_tcp\nprefer_udp",
        "tls",
        "tls_servername x",
        "expire 0",
        "max_age 5s\nexpire 5s",
        "max_age 0",
        "max_idle_conns +3",
        "read_timeout 1ns",
        "doh_method GET",
        "policy random",
        "policy round_robin",
        "policy sequential",
        "max_concurrent 0",
        "next nxdomain NotImpl",
        "next_on_nodata",
        "failfast_all_unhealthy_upstreams",
        "failover SERVFAIL badsig",
        "source_address 127.0.0.1",
        "resolver 127.0.0.1 ::1 [::1]:53 127.0.0.1:5353",
        "unhealthy_on SERVFAIL",
        "mixed_case",
    ] {
        if let Err(error) = configure(&option(text)) {
            panic!("{text}: {error}");
        }
    }
}

#[test]
fn rejected_options() {
    for (text, last) in [
        ("except", "except"),
        ("max_fails", "max_fails"),
        ("max_connect_attempts", "max_connect_attempts"),
        ("health_check", "health_check"),
        ("health_check 5s domain", "domain"),
        ("force_tcp x", "x"),
        ("prefer_udp x", "x"),
        ("tls a b c d", "d"),
        ("tls_servername", "tls_servername"),
        ("doh_method", "doh_method"),
        ("policy", "policy"),
        ("next", "next"),
        ("next_on_nodata x", "x"),
        ("failfast_all_unhealthy_upstreams x y", "y"),
        ("failover", "failover"),
        ("source_address", "source_address"),
        ("resolver", "resolver"),
    ] {
        let expected = format!(
            "plugin/forward: Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '{last}'"
        );
        assert_eq!(refused(&option(text)), expected, "{text}");
    }
    for (text, error) in [
        ("max_fails -1", "strconv.ParseUint: parsing \"-1\": invalid syntax"),
        ("max_fails +1", "strconv.ParseUint: parsing \"+1\": invalid syntax"),
        ("max_fails 4294967296", "strconv.ParseUint: parsing \"4294967296\": value out of range"),
        ("max_fails 1 2", "Corefile:3 - Error during parsing: unknown property '2'"),
        ("max_connect_attempts x", "strconv.ParseUint: parsing \"x\": invalid syntax"),
        ("health_check 5", "time: missing unit in duration \"5\""),
        ("health_check -5s", "health_check can't be negative: -5000000000"),
        ("health_check 5s domain a..b", "health_check: invalid domain name a..b"),
        ("health_check 5s foo", "health_check: unknown option foo"),
        ("tls nocert", "error reading nocert: open nocert: no such file or directory"),
        ("tls nocert nokey", "could not load TLS cert: open nocert: no such file or directory"),
        ("tls nocert nokey noca", "could not load TLS cert: open nocert: no such file or directory"),
        ("expire -1s", "expire can't be negative: -1s"),
        ("expire x", "time: invalid duration \"x\""),
        ("max_age 5s", "max_age (5s) must not be less than expire (10s)"),
        ("max_age -5s", "max_age can't be negative: -5s"),
        ("max_idle_conns -1", "max_idle_conns can't be negative: -1"),
        ("max_idle_conns x", "strconv.Atoi: parsing \"x\": invalid syntax"),
        ("read_timeout 0", "read_timeout must be positive: 0s"),
        ("read_timeout -1s", "read_timeout must be positive: -1s"),
        ("doh_method put", "doh_method must be either POST or GET"),
        ("policy foo", "Corefile:3 - Error during parsing: unknown policy 'foo'"),
        ("max_concurrent -1", "max_concurrent can't be negative: -1"),
        ("max_concurrent x", "strconv.Atoi: parsing \"x\": invalid syntax"),
        ("next foo", "foo is not a valid rcode"),
        ("next badvers", "badvers is not a valid rcode"),
        ("failover noerror", "NoError cannot be used in failover"),
        ("failover servfail foo", "foo is not a valid rcode"),
        ("source_address foo", "Corefile:3 - Error during parsing: invalid IP address: foo"),
        ("resolver x", "resolver must be an IP address or IP:port: \"x\""),
        ("spray", "Corefile:3 - Error during parsing: unknown property 'spray'"),
        ("unhealthy_on x", "Corefile:3 - Error during parsing: unhealthy_on: expected 'servfail', got 'x'"),
    ] {
        assert_eq!(refused(&option(text)), format!("plugin/forward: {error}"), "{text}");
    }
}

#[test]
fn options_of_proxy() {
    for (text, error) in [
        ("fail_timeout x", "time: invalid duration \"x\""),
        ("policy worst", "Corefile:3 - Error during parsing: unknown policy 'worst'"),
        (
            "protocol grpc insecure",
            "Corefile:3 - Error during parsing: protocol 'grpc' was removed: use the plugin 'grpc'",
        ),
        ("protocol https_google", "Corefile:3 - Error during parsing: protocol 'https_google' was removed"),
        ("health_check /health:80 x", "time: invalid duration \"x\""),
        ("timeout 0", "timeout must be positive: 0s"),
        ("what", "Corefile:3 - Error during parsing: unknown property 'what'"),
    ] {
        let corefile = format!(". {{\nproxy . 127.0.0.1 {{\n{text}\n}}\n}}");
        assert_eq!(refused(&corefile), format!("plugin/proxy: {error}"), "{text}");
    }
    for text in
        ["policy first", "policy sequential", "health_check 1s", "timeout 3s", "protocol dns", "expire 3s"]
    {
        let corefile = format!(". {{\nproxy . 127.0.0.1 {{\n{text}\n}}\n}}");
        assert!(configure(&corefile).is_ok(), "{text}");
    }
}
