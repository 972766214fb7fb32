use super::LOCALHOST_REQUESTS;
use crate::testing::harness::{check, configure, refused};

const CHAIN: &str = ". {\n local\n erratic {\n drop 0\n }\n}";
const SOA: &str = "localhost. root.localhost. 1 0 0 0 604800";

#[test]
fn answers() {
    for (question, expected) in [
        ("localhost A", "NOERROR qr\nanswer: localhost. 604800 IN A 127.0.0.1".to_owned()),
        ("LocalHost AAAA", "NOERROR qr\nanswer: LocalHost. 604800 IN AAAA ::1".to_owned()),
        ("Localhost SOA", format!("NOERROR qr\nanswer: Localhost. 604800 IN SOA {SOA}")),
        ("localhost NS", "NOERROR qr\nanswer: localhost. 604800 IN NS localhost.".to_owned()),
        ("LOCALHOST TXT", format!("NOERROR qr\nauthority: LOCALHOST. 604800 IN SOA {SOA}")),
        ("a.b.LOCALHOST A rd", "NOERROR qr,rd\nanswer: a.b.LOCALHOST. 604800 IN A 127.0.0.1".to_owned()),
        ("a.localhost AAAA", "NOERROR qr\nanswer: a.localhost. 604800 IN AAAA ::1".to_owned()),
        ("A.localhost NS", format!("NOERROR qr\nauthority: A.localhost. 604800 IN SOA {SOA}")),
        (
            "Localhost.example.org A",
            "NOERROR qr\nanswer: Localhost.example.org. 604800 IN A 127.0.0.1".to_owned(),
        ),
        (
            "localhost.0.in-addr.arpa PTR",
            format!("NOERROR qr\nauthority: localhost.0.in-addr.arpa. 604800 IN SOA {SOA}"),
        ),
        (
            "notlocalhost.example.org A",
            "NOERROR qr,aa\nanswer: notlocalhost.example.org. 0 IN A 192.0.2.53".to_owned(),
        ),
        ("xlocalhost A", "NOERROR qr,aa\nanswer: xlocalhost. 0 IN A 192.0.2.53".to_owned()),
        ("127.in-addr.arpa A", format!("NOERROR qr\nauthority: 127.in-addr.arpa. 604800 IN SOA {SOA}")),
        ("0.IN-addr.arpa SOA", format!("NOERROR qr\nanswer: 0.IN-addr.arpa. 604800 IN SOA {SOA}")),
        ("255.in-addr.arpa NS", "NOERROR qr\nanswer: 255.in-addr.arpa. 604800 IN NS localhost.".to_owned()),
        (
            "1.0.0.127.in-addr.ARPA PTR",
            "NOERROR qr\nanswer: 1.0.0.127.in-addr.ARPA. 604800 IN PTR localhost.".to_owned(),
        ),
        (
            "1.0.0.127.IN-ADDR.arpa TXT",
            format!("NOERROR qr\nauthority: 127.IN-ADDR.arpa. 604800 IN SOA {SOA}"),
        ),
        ("1.0.0.127.in-addr.arpa A", format!("NOERROR qr\nauthority: 127.in-addr.arpa. 604800 IN SOA {SOA}")),
        (
            "2.0.0.127.In-Addr.arpa PTR",
            format!("NXDOMAIN qr\nauthority: 127.In-Addr.arpa. 604800 IN SOA {SOA}"),
        ),
        ("x.255.in-addr.arpa SOA", format!("NXDOMAIN qr\nauthority: 255.in-addr.arpa. 604800 IN SOA {SOA}")),
        ("1.in-addr.arpa A", "NOERROR qr,aa\nanswer: 1.in-addr.arpa. 0 IN A 192.0.2.53".to_owned()),
        (". A", "NOERROR qr,aa\nanswer: . 0 IN A 192.0.2.53".to_owned()),
    ] {
        check(CHAIN, question, &expected);
    }
}

#[test]
fn localhost_prefix_off() {
    let corefile = ". {\n local {\n localhost_prefix off\n }\n erratic {\n drop 0\n }\n}";
    for (question, expected) in [
        ("localhost.example.org A", "NOERROR qr,aa\nanswer: localhost.example.org. 0 IN A 192.0.2.53"),
        ("example.localhost A", "NOERROR qr\nanswer: example.localhost. 604800 IN A 127.0.0.1"),
    ] {
        check(corefile, question, expected);
    }
}

#[test]
fn special_localhost_names_are_counted() {
    let before = LOCALHOST_REQUESTS.get();
    check(
        CHAIN,
        "counted.localhost TXT",
        &format!("NOERROR qr\nauthority: counted.localhost. 604800 IN SOA {SOA}"),
    );
    assert!(LOCALHOST_REQUESTS.get() > before);
    assert!(metrics::registry().encode().contains("\ncoredns_local_localhost_requests_total "));
}

#[test]
fn options() {
    for body in ["local", "local\nlocal", "local {\n localhost_prefix on\n}", "local {\n}"] {
        assert!(configure(&format!(". {{\n{body}\n}}")).is_ok(), "{body}");
    }
    for (body, error) in [
        ("local x", "2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'"),
        ("local {\n foo\n}", "3 - Error during parsing: unknown property 'foo'"),
        (
            "local {\n localhost_prefix\n}",
            "3 - Error during parsing: Wrong argument count or unexpected line ending after 'localhost_prefix'",
        ),
        (
            "local {\n localhost_prefix on off\n}",
            "3 - Error during parsing: Wrong argument count or unexpected line ending after 'off'",
        ),
        (
            "local {\n localhost_prefix maybe\n}",
            "3 - Error during parsing: localhost_prefix expects 'on' or 'off', got \"maybe\"",
        ),
    ] {
        assert_eq!(refused(&format!(". {{\n{body}\n}}")), format!("plugin/local: Corefile:{error}"));
    }
}
