use std::io;
use std::time::Duration;

use server::http::{HttpAnswer, HttpRequest};

use super::{REQUEST_DURATION, REQUEST_FAILURES, record_probe};
use crate::log::capture::Capture;
use crate::testing::harness::{check, configure, page, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for (body, addr) in [
        ("health", ":8080"),
        ("health {|}", ":8080"),
        ("health :18080", ":18080"),
        ("health localhost:18080", "localhost:18080"),
        ("health [::1]:18080", "[::1]:18080"),
        ("health :18080 {| lameduck 5s|}", ":18080"),
        ("health {| lameduck -5s|}", ":8080"),
        ("health :18080|health {| lameduck 2s|}", ":18080"),
        ("health :18080|health :18081", ":18081"),
    ] {
        let config = configure(&corefile(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let routes: Vec<(&str, &str)> =
            config.routes().iter().map(|route| (&*route.addr, route.path)).collect();
        assert_eq!(routes, [(addr, "/health")], "{body}");
        assert_eq!(config.tasks().len(), 1, "{body}");
    }
}

#[test]
fn refused_forms() {
    let count = "Error during parsing: Wrong argument count or unexpected line ending after";
    for (body, error) in [
        ("health 18080", "address 18080: missing port in address".into()),
        ("health ::1", "address ::1: too many colons in address".into()),
        ("health \"\"", "missing port in address".into()),
        ("health :1 :2", format!("Corefile:2 - {count} ':2'")),
        ("health {| lameduck|}", format!("Corefile:3 - {count} 'lameduck'")),
        ("health {| lameduck 5s 6s|}", format!("Corefile:3 - {count} '6s'")),
        (
            "health {| lameduck foo|}",
            "unable to parse lameduck duration value: 'foo' : time: invalid duration \"foo\"".into(),
        ),
        (
            "health {| lameduck 5|}",
            "unable to parse lameduck duration value: '5' : time: missing unit in duration \"5\"".into(),
        ),
        (
            "health {| lamduck 5s|}",
            "Corefile:3 - Error during parsing: unknown property 'lamduck'".to_owned(),
        ),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/health: {error}"), "{body}");
    }
}

#[test]
fn always_ok() {
    let config = configure(&corefile("health")).unwrap();
    assert_eq!(page(&config.routes()[0]), HttpAnswer::text(200, "OK"));
    let stopping = HttpRequest { stopping: true, ..HttpRequest::get("/health") };
    assert_eq!(super::answer(&stopping), HttpAnswer::text(200, "OK"));
}

#[test]
fn adds_nothing_to_the_chain() {
    check(&corefile("health"), "example.org A", "REFUSED qr");
}

#[test]
fn probes_are_counted_and_failed_or_slow_ones_logged() {
    let log = Capture::take();
    let (failures, requests) = (REQUEST_FAILURES.get(), REQUEST_DURATION.snapshot().count);
    let quick = Duration::from_millis(1);
    record_probe(":1", Ok(quick), quick);
    assert!(log.lines("Local health").is_empty());
    record_probe(":1", Ok(quick), Duration::from_millis(1500));
    let slow = "Local health request to \"http://:1/health\" took more than 1s: 1.5s";
    assert_eq!(log.lines("Local health"), [format!("[WARNING] plugin/health: {slow}")]);
    record_probe(":1", Err(io::Error::other("connection refused")), quick);
    let failed = "Local health request to \"http://:1/health\" failed: connection refused";
    assert_eq!(log.lines("Local health"), [format!("[WARNING] plugin/health: {failed}")]);
    assert_eq!(REQUEST_FAILURES.get() - failures, 1);
    assert_eq!(REQUEST_DURATION.snapshot().count - requests, 3);
}
