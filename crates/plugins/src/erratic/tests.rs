use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use server::Ready;

use super::{Erratic, Options};
use crate::testing::harness::{answer, ask, check, configure, refused, service};

fn corefile(options: &str) -> String {
    format!(". {{\n erratic {{\n {options}\n }}\n}}")
}

#[test]
fn answers() {
    for (question, expected) in [
        ("Example.org A rd", "NOERROR qr,aa,rd\nanswer: Example.org. 0 IN A 192.0.2.53"),
        ("example.org AAAA", "NOERROR qr,aa\nanswer: example.org. 0 IN AAAA 2001:db8::53"),
        ("example.org TXT", "SERVFAIL qr"),
        (
            "Example.org AXFR tcp",
            "NOERROR qr,aa
             answer: Example.org. 0 IN SOA sns.dns.icann.org. noc.dns.icann.org. 2018050825 7200 3600 1209600 3600
             answer: Example.org. 0 IN NS b.Example.org.
             answer: Example.org. 0 IN NS a.Example.org.
             answer: a.Example.org. 0 IN AAAA 2001:bd8::53
             answer: b.Example.org. 0 IN AAAA 2001:500::54
             answer: Example.org. 0 IN SOA sns.dns.icann.org. noc.dns.icann.org. 2018050825 7200 3600 1209600 3600",
        ),
    ] {
        check(&corefile("drop 0"), question, expected);
    }
}

#[test]
fn truncated_transfers_lack_the_closing_soa() {
    let text = answer(&service(&corefile("truncate 1")), "example.org AXFR tcp");
    assert_eq!(text.matches(" SOA ").count(), 1, "{text}");
    assert!(text.starts_with("NOERROR qr,aa\n"), "{text}");
}

#[test]
fn large_answers() {
    let service = service(&corefile("drop 0\n large"));
    let text = answer(&service, "example.org A tcp");
    assert_eq!(text.matches("192.0.2.53").count(), 30, "{text}");
    // 30 records fit into 512 octets just about, if the name is short.
    assert!(answer(&service, "example.org A").starts_with("NOERROR qr,aa\n"));
    assert!(answer(&service, "a.longer.example.org A").starts_with("NOERROR qr,aa,tc\n"));
    assert_eq!(answer(&service, "example.org AAAA").matches("2001:db8::53").count(), 1);
}

/// `d` is dropped, `t` truncated, `.` neither.
#[test]
fn which_queries() {
    for (options, expected) in [
        ("", "d.d.d.d.d."),
        ("drop", "d.d.d.d.d."),
        ("drop 3", "d..d..d..d"),
        ("drop 0", ".........."),
        ("drop 1", "dddddddddd"),
        ("truncate", "tt..tt..tt"),
        ("truncate 1", "t.t.t.t.t."),
        ("truncate 5", "t.t.....t."),
        ("truncate 0", "d.d.d.d.d."),
        ("drop\n truncate", "tt..tt..tt"),
        ("drop 2\n truncate 2", "dtd.dtd.dt"),
        ("delay 2 1ns", ".........."),
    ] {
        let service = service(&corefile(options));
        let got: String = (0..10)
            .map(|_| match answer(&service, "example.org A") {
                text if text.starts_with("dropped") => 'd',
                text if text.starts_with("NOERROR qr,aa,tc\nanswer: ") => 't',
                text => {
                    assert!(text.starts_with("NOERROR qr,aa\nanswer: "), "{text}");
                    '.'
                }
            })
            .collect();
        assert_eq!(got, expected, "{options}");
    }
}

#[test]
fn failures_are_dropped_too() {
    let service = service(&corefile("drop 2"));
    assert_eq!(answer(&service, "example.org TXT"), "dropped\n");
    assert_eq!(answer(&service, "example.org TXT").trim(), "SERVFAIL qr");
    assert_eq!(answer(&service, "example.org AXFR"), "dropped\n");
}

#[test]
fn delays() {
    let service = service(&corefile("delay 2 80ms"));
    for (question, late) in [
        ("example.org A", true),
        ("example.org A", false),
        ("example.org TXT", true),
        ("example.org A", false),
        ("example.org AXFR", true),
    ] {
        let start = Instant::now();
        assert!(ask(&service, question).packet.is_some());
        assert_eq!(start.elapsed() >= Duration::from_millis(80), late, "{question}");
    }
}

#[test]
fn ready_between_the_third_and_the_fifth() {
    let options = Options { drop: 0, delay: 0, truncate: 0, duration: Duration::ZERO, large: false };
    let erratic = Erratic { options, queries: Default::default() };
    for (queries, ready) in [(0, false), (2, false), (3, true), (4, true), (5, false)] {
        erratic.queries.store(queries, Ordering::Relaxed);
        assert_eq!(erratic.ready(), ready, "{queries}");
    }
}

#[test]
fn accepted_options() {
    for body in [
        "erratic",
        "erratic x",
        "erratic {\n drop +3\n large\n}",
        "erratic {\n delay 1 -5s\n}",
        "erratic {\n delay\n}",
        "erratic {\n delay 3\n truncate\n drop\n}",
    ] {
        assert!(configure(&format!(". {{\n{body}\n}}")).is_ok(), "{body}");
    }
}

#[test]
fn refused_options() {
    for (option, error) in [
        ("drop a", "strconv.ParseInt: parsing \"a\": invalid syntax"),
        ("drop -1", "illegal amount value given \"-1\""),
        ("drop 99999999999", "strconv.ParseInt: parsing \"99999999999\": value out of range"),
        (
            "drop 1 2",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '2'",
        ),
        ("delay x", "strconv.ParseInt: parsing \"x\": invalid syntax"),
        ("delay -3", "illegal amount value given \"-3\""),
        ("delay 1 x", "time: invalid duration \"x\""),
        ("delay 1 \"\"", "time: invalid duration \"\""),
        ("delay 1 5", "time: missing unit in duration \"5\""),
        ("delay 1 5d", "time: unknown unit \"d\" in duration \"5d\""),
        ("delay 1 1s.", "time: invalid duration \"1s.\""),
        ("delay 1 99999999h", "time: invalid duration \"99999999h\""),
        (
            "delay 1 2 3",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '3'",
        ),
        ("truncate x", "strconv.ParseInt: parsing \"x\": invalid syntax"),
        ("truncate -3", "illegal amount value given \"-3\""),
        (
            "truncate 1 2",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '2'",
        ),
        ("large x", "Corefile:3 - Error during parsing: unknown property 'x'"),
        ("foo", "Corefile:3 - Error during parsing: unknown property 'foo'"),
    ] {
        assert_eq!(refused(&corefile(option)), format!("plugin/erratic: {error}"), "{option}");
    }
}
