use std::collections::BTreeSet;

use crate::host_files::hostname::hostname;
use crate::testing::harness::{answer, check, configure, refused, service};

const BLOCK: &str = ". {\nchaos v1 ann bob ann\n}";

#[test]
fn answers() {
    let host = hostname();
    for (question, expected) in [
        ("version.bind TXT class=CH", "NOERROR qr\nanswer: version.bind. 0 CH TXT \"v1\"".to_owned()),
        (
            "Version.Server TXT class=CH rd",
            "NOERROR qr,rd\nanswer: Version.Server. 0 CH TXT \"v1\"".to_owned(),
        ),
        ("hostname.bind TXT class=CH", format!("NOERROR qr\nanswer: hostname.bind. 0 CH TXT \"{host}\"")),
        ("id.server TXT class=CH", format!("NOERROR qr\nanswer: id.server. 0 CH TXT \"{host}\"")),
        ("version.bind TXT", "SERVFAIL qr".to_owned()),
        ("version.bind A class=CH", "SERVFAIL qr".to_owned()),
        ("other.bind TXT class=CH", "SERVFAIL qr".to_owned()),
        ("version.bind TXT class=HS", "SERVFAIL qr".to_owned()),
    ] {
        check(BLOCK, question, &expected);
    }
}

#[test]
fn without_chaos_other_classes_are_refused() {
    check(". {\nany\n}", "version.bind TXT class=CH", "REFUSED qr");
}

#[test]
fn authors_are_shuffled_without_duplicates() {
    let service = service(". {\nchaos v1 ann bob carl ann\n}");
    let orders: BTreeSet<String> = (0..200).map(|_| answer(&service, "authors.bind TXT class=CH")).collect();
    assert!(orders.len() > 1);
    for order in orders {
        let mut lines: Vec<&str> = order.lines().skip(1).collect();
        lines.sort();
        assert_eq!(
            lines,
            ["ann", "bob", "carl"].map(|author| format!("answer: authors.bind. 0 CH TXT \"{author}\""))
        );
    }
}

#[test]
fn texts() {
    let version = concat!("Rhumb-", env!("CARGO_PKG_VERSION"));
    for (directive, question, text) in [
        ("chaos", "version.bind", version),
        ("chaos {\n}", "version.bind", version),
        ("chaos", "authors.bind", "The Rhumb authors"),
        ("chaos v", "authors.bind", "The Rhumb authors"),
        (r"chaos a\065\c", "version.bind", "aAc"),
        ("chaos one\nchaos two", "version.bind", "one"),
    ] {
        let expected = format!("NOERROR qr\nanswer: {question}. 0 CH TXT \"{text}\"");
        check(&format!(". {{\n{directive}\n}}"), &format!("{question} TXT class=CH"), &expected);
    }
    let long = "x".repeat(300);
    let expected = format!("NOERROR qr\nanswer: version.bind. 0 CH TXT \"{}\"", &long[..255]);
    check(&format!(". {{\nchaos {long}\n}}"), "version.bind TXT class=CH", &expected);
}

#[test]
fn options() {
    assert!(configure(". {\nchaos v a b c\n}").is_ok());
    assert_eq!(
        refused(". {\nchaos v {\ncolour red\n}\n}"),
        "plugin/chaos: Corefile:3 - Error during parsing: unknown property 'colour'"
    );
}
