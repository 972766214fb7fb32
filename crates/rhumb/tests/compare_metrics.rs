//! The same questions put to CoreDNS and to Rhumb leave the same metrics: names, help, types, labels, buckets, counts.
//!
//! Both are scraped before and after, because the probes that wait for a server to come up are counted too.
//! Not compared are times, and what is about the process: versions, clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use testkit::compare::Comparison;
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind};

const QUERIES: usize = 5_000;

const NAMES: &[&str] = &[
    ".",
    "example.org",
    "a.example.org",
    "b.example.org",
    "deep.b.example.org",
    "localhost",
    "sub.localhost",
    "localhost.example.org",
    "1.0.0.127.in-addr.arpa",
    "1.0.0.10.in-addr.arpa",
    "version.bind",
    "elsewhere.net",
];

const HOSTS: &[(&str, &str)] = &[(
    "hosts",
    "10.0.0.1 a.example.org b.example.org\n10.0.0.2\ta.example.org\n2001:db8::1 a.example.org\n",
)];

/// Whose `plugin` label is compared.
#[derive(Clone, Copy, PartialEq)]
enum PluginLabel {
    Exactly,
    /// Only whether there is one: CoreDNS 1.15.0 names the plugin next to prometheus whoever answered
    /// (docs/differences.md).
    Present,
}

/// One metric as it was scraped: series to values, and the lines that describe names.
#[derive(Default)]
struct Scrape {
    series: BTreeMap<String, f64>,
    about: BTreeSet<String>,
}

#[test]
fn hosts_local_whoami_errors() {
    check(
        ".:{port} {\n bind 127.0.0.1 ::1\n errors\n log\n reload\n health 127.0.0.1:{health}\n ready 127.0.0.1:{ready}\n local\n prometheus 127.0.0.1:{http}\n hosts hosts {\n  ttl 60\n  fallthrough b.example.org elsewhere.net\n }\n whoami\n}\n",
        PluginLabel::Present,
        // Names at the limit of length get another answer from our whoami.
        || Options { odd_names: 0.0, ..Options::default() },
    );
}

#[test]
fn several_blocks_and_what_no_block_takes() {
    check(
        "example.org:{port} 10.0.0.0/24:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n hosts hosts\n}\n\
         b.example.org:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n local\n}\n\
         localhost:{port} {\n bind 127.0.0.1 ::1\n local\n}\n",
        PluginLabel::Exactly,
        Options::default,
    );
}

/// The second block is the upstream of the first. Nothing expires meanwhile, or clocks would be compared.
#[test]
fn cache_and_forward() {
    check(
        ".:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n cache {\n success 9984 3600 3600\n denial 9984 3600 3600\n servfail 5m\n }\n loadbalance\n forward . 127.0.0.1:{ready}\n}\n\
         .:{ready} {\n bind 127.0.0.1\n local\n hosts hosts {\n fallthrough b.example.org elsewhere.net\n }\n erratic {\n drop 0\n }\n}\n",
        PluginLabel::Present,
        Options::default,
    );
}

fn check(corefile: &str, plugin_label: PluginLabel, options: fn() -> Options) {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let start = |kind| {
        let [port, http, health, ready] =
            ["port", "http", "health", "ready"].map(|_| testkit::ports::free().expect("a free port"));
        let mut corefile = corefile.to_owned();
        for (word, port) in [("{port}", port), ("{http}", http), ("{health}", health), ("{ready}", ready)] {
            corefile = corefile.replace(word, &port.to_string());
        }
        let server = DnsServer::start_with_files(kind, &corefile, port, HOSTS)
            .unwrap_or_else(|error| panic!("{error}"));
        (server, http, ready)
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let scrape = |(server, http, other): &(DnsServer, u16, u16)| {
        Scrape::take(*http, [server.addr().port(), *other], plugin_label)
    };
    let before = [scrape(&coredns), scrape(&rhumb)];
    for (ip, share) in [("127.0.0.1", 4), ("::1", 1)] {
        let at = |server: &DnsServer| {
            std::net::SocketAddr::new(ip.parse().expect("an address"), server.addr().port())
        };
        let generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], options());
        println!("seed {}", generator.seed());
        Comparison::new(("CoreDNS", at(&coredns.0)), ("Rhumb", at(&rhumb.0)))
            // One after the other: what a cache holds depends on the order.
            .lanes(1)
            .timeout(Duration::from_secs(3))
            .check(generator, QUERIES * share / 5);
    }
    // The last replies are out before they are counted.
    std::thread::sleep(Duration::from_millis(300));
    let after = [scrape(&coredns), scrape(&rhumb)];
    let [left, right] = [0, 1].map(|at| after[at].since(&before[at]));
    let asked = left.iter().find(|(key, _)| key.starts_with("coredns_dns_requests_total"));
    assert!(asked.is_some_and(|(_, count)| *count > 0.0), "CoreDNS counted nothing");
    let mut lines = differing(&left, &right);
    lines.extend(after[0].about.symmetric_difference(&after[1].about).map(|line| format!("? {line}")));
    assert!(lines.is_empty(), "- CoreDNS, + Rhumb:\n{}", lines.join("\n"));
    println!("{} series are the same", left.len());
}

fn differing(left: &BTreeMap<String, f64>, right: &BTreeMap<String, f64>) -> Vec<String> {
    let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let line =
        |sign: &str, key: &str, value: Option<&f64>| value.map(|value| format!("{sign} {key} {value}"));
    keys.into_iter()
        .filter(|key| left.get(*key) != right.get(*key))
        .flat_map(|key| [line("-", key, left.get(key)), line("+", key, right.get(key))])
        .flatten()
        .collect()
}

impl Scrape {
    fn take(http: u16, ports: [u16; 2], plugin_label: PluginLabel) -> Scrape {
        let mut scrape = Scrape::default();
        let [dns, other] = ports.map(|port| format!(":{port}\""));
        for line in get(http).lines() {
            let line = line.replace(&dns, ":PORT\"").replace(&other, ":OTHER\"");
            if let Some(about) = line.strip_prefix("# ") {
                if about.contains(" coredns_") || about.contains(" process_") {
                    scrape.about.insert(about.to_owned());
                }
                continue;
            }
            let Some((key, value)) = line.rsplit_once(' ') else { continue };
            // Sockets to upstreams retire sooner here (docs/differences.md).
            let own_way = ["coredns_build_info", "coredns_proxy_conn_cache_"];
            if !key.starts_with("coredns_") || own_way.iter().any(|name| key.starts_with(name)) {
                continue;
            }
            let key = if plugin_label == PluginLabel::Present { without_plugin(key) } else { key.to_owned() };
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("no value: {line}"));
            // A time: that it is there is all that can be the same.
            let timed = key.contains("timestamp")
                || key.starts_with("coredns_health_request_duration")
                || key.contains("_duration_seconds_sum")
                || key.contains("_duration_seconds_bucket") && !key.contains("le=\"+Inf\"");
            *scrape.series.entry(key).or_default() += if timed { 0.0 } else { value };
        }
        scrape
    }

    /// What changed; gauges, which are no counts, as they are.
    fn since(&self, before: &Scrape) -> BTreeMap<String, f64> {
        let is_gauge = |key: &str| {
            let name = key.split('{').next().unwrap_or_default();
            self.about.contains(&format!("TYPE {name} gauge"))
        };
        let old =
            |key: &str| if is_gauge(key) { 0.0 } else { before.series.get(key).copied().unwrap_or(0.0) };
        self.series.iter().map(|(key, value)| (key.clone(), value - old(key))).collect()
    }
}

/// The name of whoever answered becomes a mark that somebody did.
fn without_plugin(key: &str) -> String {
    match key.split_once("plugin=\"") {
        Some((head, rest)) if !rest.starts_with('"') => {
            let tail = rest.split_once('"').map_or("", |(_, tail)| tail);
            format!("{head}plugin=\"*\"{tail}")
        }
        _ => key.to_owned(),
    }
}

fn get(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the metrics' address");
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    assert!(head.contains(" 200 "), "{head}");
    let kind = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
    assert!(head.to_lowercase().contains(&format!("content-type: {kind}")), "{head}");
    body.to_owned()
}
