use std::time::{Duration, Instant};

use super::consolidate::{Consolidate, Level};
use crate::log::capture::Capture;
use crate::testing::harness::{answer, check, configure, refused, service};
use golang::Regexp;

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for body in [
        "errors",
        "errors stdout",
        "errors {|}",
        "errors {| stacktrace|}",
        "errors {| consolidate 5m \"x\"|}",
        "errors {| consolidate 5m \"x\" warning|}",
        "errors {| consolidate 5m \"x\" error|}",
        "errors {| consolidate 5m \"x\" info|}",
        "errors {| consolidate 5m \"x\" debug|}",
        "errors {| consolidate 5m \"x\" show_first|}",
        "errors {| consolidate 5m \"x\" warning show_first|}",
        "errors {| consolidate 5m \"x\" show_first show_first|}",
        "errors {| consolidate -5s \"x\"| consolidate 0 \"y\"|}",
    ] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
}

#[test]
fn refused_forms() {
    let count = "Error during parsing: Wrong argument count or unexpected line ending after";
    let long = "x".repeat(10_001);
    for (body, error) in [
        ("errors stderr", "Corefile:2 - Error during parsing: invalid log file: stderr".into()),
        ("errors a b", format!("Corefile:2 - {count} 'b'")),
        ("errors|errors", "this plugin can only be used once per Server Block".into()),
        (
            "errors {| foo|}",
            "Corefile:3 - Syntax error: Unexpected token 'foo', expecting 'Unknown field foo'".into(),
        ),
        (
            "errors {| stacktrace foo|}",
            "Corefile:3 - Syntax error: Unexpected token 'foo', expecting 'Unknown field foo'".into(),
        ),
        ("errors {| consolidate|}", format!("Corefile:3 - {count} 'consolidate'")),
        ("errors {| consolidate 5m|}", format!("Corefile:3 - {count} '5m'")),
        ("errors {| consolidate 5m x warning show_first x|}", format!("Corefile:3 - {count} 'x'")),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/errors: {error}"), "{body}");
    }
    for (options, error) in [
        ("5 x".into(), "time: missing unit in duration \"5\"".into()),
        ("foo x".into(), "time: invalid duration \"foo\"".into()),
        (format!("5m {long}"), "regex pattern too long: 10001 > 10000".to_owned()),
        ("5m (".into(), "error parsing regexp: missing closing ): `(`".into()),
        ("5m x show_first warning".into(), "log level must come before show_first in consolidate".into()),
        ("5m x warning error".into(), "multiple log levels specified in consolidate".into()),
        ("5m x loud".to_owned(), "unknown option in consolidate: loud".into()),
    ] {
        let body = format!("errors {{| consolidate {options}|}}");
        let line = format!("plugin/errors: Corefile:3 - Error during parsing: {error}");
        assert_eq!(refused(&corefile(&body)), line, "{options}");
    }
}

#[test]
fn logs_each_error() {
    let log = Capture::take();
    check(&corefile("errors"), "Errors1.Example.org AAAA", "SERVFAIL qr");
    let line = "[ERROR] plugin/errors: 2 errors1.example.org. AAAA: plugin/errors: no next plugin found";
    assert_eq!(log.lines("errors1"), [line]);
    // An answer is not an error.
    answer(&service(&corefile("errors|whoami")), "errors2.example.org A");
    assert!(log.lines("errors2").is_empty());
}

/// Sends `errors` queries to a chain that ends with `errors`, then stops the configuration.
fn fail(options: &str, errors: usize) {
    let config = configure(&corefile(&format!("errors {{| consolidate 1h {options}|}}"))).unwrap();
    let service = config.services().next().unwrap().1.clone();
    for _ in 0..errors {
        answer(&service, "cons.example.org A");
    }
    config.each_lifecycle("test", |plugin| plugin.stop());
}

#[test]
fn consolidates() {
    let log = Capture::take();
    let error = "2 cons.example.org. A: plugin/errors: no next plugin found";
    for (options, errors, lines) in [
        (
            "no.next warning",
            3,
            vec!["[WARNING] plugin/errors: 3 errors like 'no.next' occurred in last 1h0m0s".into()],
        ),
        ("no.next", 1, vec!["[ERROR] plugin/errors: 1 errors like 'no.next' occurred in last 1h0m0s".into()]),
        ("no.next info show_first", 1, vec![format!("[INFO] plugin/errors: {error}")]),
        (
            "no.next info show_first",
            2,
            vec![
                format!("[INFO] plugin/errors: {error}"),
                "[INFO] plugin/errors: 2 errors like 'no.next' occurred in last 1h0m0s".into(),
            ],
        ),
        // Debug lines are off.
        ("no.next debug", 2, vec![]),
        // Another error.
        ("timeout$", 1, vec![format!("[ERROR] plugin/errors: {error}")]),
        ("no.next", 0, vec![]),
    ] {
        fail(options, errors);
        assert_eq!(log.lines("plugin/errors"), lines, "{options}");
    }
}

#[test]
fn the_window_ends_by_itself() {
    let log = Capture::take();
    let period = golang::GoDuration::parse("1ms").unwrap();
    let consolidate = Consolidate::new(period, Regexp::compile("window").unwrap(), Level::Warning, false);
    for panics in [0, 1] {
        supervise::inject::arm("errors-consolidate", panics);
        assert!(consolidate.count());
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut lines = log.lines("window");
        while lines.is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            lines = log.lines("window");
        }
        assert_eq!(lines, ["[WARNING] plugin/errors: 1 errors like 'window' occurred in last 1ms"]);
        assert_eq!(supervise::panics("errors-consolidate"), panics as u64);
    }
    consolidate.stop();
    assert!(!consolidate.count(), "after the stop errors are logged again");
}
