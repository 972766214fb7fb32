use std::time::{Duration, UNIX_EPOCH};

use prost::Message;
use server::http::HttpAnswer;

use super::profile::{Profile, encode};
use super::seconds;
use crate::testing::harness::{check, configure, page, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

fn answer(path: &str) -> Option<HttpAnswer> {
    let config = configure(&corefile("pprof")).expect("a configuration");
    let route = config.routes().iter().find(|route| route.path == path)?;
    Some(page(route))
}

#[test]
fn forms() {
    for (body, addr) in [
        ("pprof", "localhost:6053"),
        ("pprof :6060", ":6060"),
        ("pprof 127.0.0.1:6060 {|block|}", "127.0.0.1:6060"),
        ("pprof {|block 20|}", "localhost:6053"),
    ] {
        let config = configure(&corefile(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert!(config.routes().iter().all(|route| route.addr == addr), "{body}");
        assert_eq!(config.warnings.len(), usize::from(body.contains("block")), "{body}");
    }
    let parsing = "Error during parsing:";
    let count = "Wrong argument count or unexpected line ending after";
    for (body, error) in [
        ("pprof 6060", format!("Corefile:2 - {parsing} address 6060: missing port in address")),
        ("pprof :1 :2", format!("Corefile:2 - {parsing} {count} ':2'")),
        ("pprof {|block x|}", format!("Corefile:3 - {parsing} property 'block' invalid integer value 'x'")),
        ("pprof {|block 1 2|}", format!("Corefile:3 - {parsing} {count} '2'")),
        ("pprof {|blok|}", format!("Corefile:3 - {parsing} unknown property 'blok'")),
        ("pprof|pprof", "this plugin can only be used once per Server Block".into()),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/pprof: {error}"), "{body}");
    }
}

#[test]
fn pages() {
    for path in ["/debug/pprof", "/debug/pprof/"] {
        let page = answer(path).expect("a page");
        assert!(String::from_utf8_lossy(&page.body.bytes).contains("profile?seconds=5"));
    }
    let command_line = answer("/debug/pprof/cmdline").expect("a page");
    assert!(!command_line.body.bytes.is_empty());
    for name in ["heap", "allocs", "goroutine", "block", "mutex", "threadcreate", "trace", "symbol"] {
        let answer = answer(&format!("/debug/pprof/{name}")).expect("an answer");
        assert_eq!(answer.status, 404, "{name}");
        assert!(
            String::from_utf8_lossy(&answer.body.bytes).starts_with("not supported by Rhumb: "),
            "{name}"
        );
    }
}

#[test]
fn durations() {
    for (query, expected) in [
        ("", 30),
        ("seconds=5", 5),
        ("debug=1&seconds=7", 7),
        ("seconds=0", 30),
        ("seconds=-1", 30),
        ("seconds=x", 30),
        ("seconds=100000", 300),
    ] {
        assert_eq!(seconds(query), expected, "{query}");
    }
}

#[test]
fn profiles_decode() {
    let usage = [("rhumb-udp-0".to_owned(), 30), ("rhumb-udp-1".to_owned(), 20), ("rhumb".to_owned(), 5)];
    let bytes = encode(&usage, UNIX_EPOCH + Duration::from_secs(1), Duration::from_secs(2));
    let profile = Profile::decode(&bytes[..]).expect("our own bytes");
    let name = |location: u64| {
        let location = profile.location.iter().find(|known| known.id == location).expect("a place");
        let function = profile.function.iter().find(|known| known.id == location.line[0].function_id);
        profile.string_table[function.expect("a function").name as usize].as_str()
    };
    let stacks: Vec<(Vec<&str>, i64)> = profile
        .sample
        .iter()
        .map(|sample| (sample.location_id.iter().map(|id| name(*id)).collect(), sample.value[0]))
        .collect();
    assert_eq!(
        stacks,
        [(vec!["rhumb-udp-0", "rhumb-udp"], 30), (vec!["rhumb-udp-1", "rhumb-udp"], 20), (vec!["rhumb"], 5)]
    );
    assert_eq!((profile.time_nanos, profile.duration_nanos), (1_000_000_000, 2_000_000_000));
    assert_eq!(profile.string_table[0], "");
}

#[test]
fn is_not_in_the_query_chain() {
    check(&corefile("pprof"), "example.org A", "REFUSED qr");
}
