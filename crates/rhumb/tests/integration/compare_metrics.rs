//! After the same queries CoreDNS and Rhumb have the same metrics: names, help, types, labels, buckets, counts,
//! as text and as protobuf, which has native buckets too.
//!
//! Both are scraped before and after, because start-up probes are counted too. Not compared are times and process
//! metrics: versions, clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use testkit::compare::{self, Comparison};
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
    "10.0.0.1 a.example.org b.example.org\n10.0.0.2\ta.example.org\n2001:db8::1 a.example.org\n\
     64:ff9b::a00:7 deep.b.example.org\n",
)];

/// How the `plugin` label is compared.
#[derive(Clone, Copy, PartialEq)]
enum PluginLabel {
    Exactly,
    /// Only its presence: CoreDNS 1.15.0 names the plugin next to prometheus whichever answered
    /// (docs/differences.md).
    Present,
}

/// The scraped metrics of a server: series and values, and the HELP and TYPE lines.
struct Scrape {
    series: BTreeMap<String, f64>,
    about: BTreeSet<String>,
    /// Replacements in labels.
    ports: [(String, &'static str); 2],
    plugin_label: PluginLabel,
}

#[test]
fn hosts_local_whoami_errors() {
    check(
        ".:{port} {\n bind 127.0.0.1 ::1\n errors\n log\n reload\n health 127.0.0.1:{health}\n ready 127.0.0.1:{ready}\n local\n prometheus 127.0.0.1:{http}\n hosts hosts {\n  ttl 60\n  fallthrough b.example.org elsewhere.net\n }\n whoami\n}\n",
        PluginLabel::Present,
        // Names of maximum length get another answer from our whoami.
        || Options { odd_names: 0.0, ..Options::default() },
    );
}

#[test]
fn several_blocks_and_unserved_zones() {
    check(
        "example.org:{port} 10.0.0.0/24:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n hosts hosts\n}\n\
         b.example.org:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n local\n}\n\
         localhost:{port} {\n bind 127.0.0.1 ::1\n local\n}\n",
        PluginLabel::Exactly,
        Options::default,
    );
}

#[test]
fn translations() {
    check(
        ".:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n dns64\n siit\n hosts hosts\n}\n\
         b.example.org:{port} {\n bind 127.0.0.1 ::1\n prometheus 127.0.0.1:{http}\n dns64 {\n allow_ipv4\n }\n siit {\n eam 192.0.2.7 64:ff9b::a00:7\n }\n hosts hosts\n}\n",
        PluginLabel::Present,
        Options::default,
    );
}

/// The second block is the upstream of the first. Nothing expires meanwhile, which would depend on timing.
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
        let ports = [server.addr().port(), *other];
        [Scrape::text(*http, ports, plugin_label), Scrape::protobuf(*http, ports, plugin_label)]
    };
    let before = [scrape(&coredns), scrape(&rhumb)];
    for (ip, share) in [("127.0.0.1", 4), ("::1", 1)] {
        let at = |server: &DnsServer| {
            std::net::SocketAddr::new(ip.parse().expect("an address"), server.addr().port())
        };
        let generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], options());
        println!("seed {}", generator.seed());
        Comparison::new(("CoreDNS", at(&coredns.0)), ("Rhumb", at(&rhumb.0)))
            .repeated()
            // Sequentially: the content of a cache depends on the order.
            .lanes(1)
            .options(compare::Options { cached_ttl: true, ..compare::Options::default() })
            .timeout(Duration::from_secs(3))
            .check(generator, QUERIES * share / 5);
    }
    // Replies are sent before they are counted.
    std::thread::sleep(Duration::from_millis(300));
    let after = [scrape(&coredns), scrape(&rhumb)];
    for (form, name) in ["text", "protobuf"].into_iter().enumerate() {
        let [left, right] = [0, 1].map(|at| after[at][form].since(&before[at][form]));
        let asked = left.iter().find(|(key, _)| key.starts_with("coredns_dns_requests_total"));
        assert!(asked.is_some_and(|(_, count)| *count > 0.0), "{name}: CoreDNS counted nothing");
        let mut lines = differing(&left, &right);
        let [about, ours] = [0, 1].map(|at| &after[at][form].about);
        lines.extend(about.difference(ours).map(|line| format!("-? {line}")));
        lines.extend(ours.difference(about).map(|line| format!("+? {line}")));
        assert!(lines.is_empty(), "{name}: - CoreDNS, + Rhumb:\n{}", lines.join("\n"));
        println!("{name}: {} series are the same", left.len());
    }
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
    fn new(ports: [u16; 2], plugin_label: PluginLabel) -> Scrape {
        let [dns, other] = ports.map(|port| format!(":{port}\""));
        let ports = [(dns, ":PORT\""), (other, ":OTHER\"")];
        Scrape { series: BTreeMap::new(), about: BTreeSet::new(), ports, plugin_label }
    }

    fn text(http: u16, ports: [u16; 2], plugin_label: PluginLabel) -> Scrape {
        let mut scrape = Scrape::new(ports, plugin_label);
        let body = get(http, "*/*", "text/plain; version=0.0.4; charset=utf-8");
        for line in String::from_utf8(body).expect("text").lines() {
            if let Some(about) = line.strip_prefix("# ") {
                scrape.describe(about.to_owned());
            } else if let Some((key, value)) = line.rsplit_once(' ') {
                scrape.add(key, value.parse().unwrap_or_else(|_| panic!("no value: {line}")));
            }
        }
        scrape
    }

    /// Uses the keys of the text format, with similar ones for native buckets.
    fn protobuf(http: u16, ports: [u16; 2], plugin_label: PluginLabel) -> Scrape {
        let mut scrape = Scrape::new(ports, plugin_label);
        let kind =
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
        let body = get(http, &format!("{kind};q=0.9, text/plain;q=0.5"), kind);
        for family in protobuf::families(&body) {
            let name = &family.name;
            scrape.describe(format!("HELP {name} {}", family.help));
            scrape.describe(format!("TYPE {name} {}", family.kind));
            for metric in &family.metrics {
                scrape.describe(format!("CREATED {name} {}", metric.created));
                let key = |suffix: &str, label: Option<(&str, String)>| {
                    let more = label.iter().map(|(name, value)| format!("{name}=\"{value}\""));
                    let all: Vec<String> = metric.labels.iter().cloned().chain(more).collect();
                    if all.is_empty() {
                        format!("{name}{suffix}")
                    } else {
                        format!("{name}{suffix}{{{}}}", all.join(","))
                    }
                };
                let Some(histogram) = &metric.histogram else {
                    scrape.add(&key("", None), metric.value);
                    continue;
                };
                let count: i64 = histogram.native.values().sum();
                assert_eq!(count, histogram.count, "{name}: buckets do not add up");
                scrape.describe(format!("NATIVE {name} {} {:e}", histogram.schema, histogram.zero_threshold));
                scrape.add(&key("_count", None), histogram.count as f64);
                scrape.add(&key("_sum", None), histogram.sum);
                for (bound, count) in &histogram.classic {
                    scrape.add(&key("_bucket", Some(("le", bound.to_string()))), *count as f64);
                }
                for (place, count) in &histogram.native {
                    let place = place.map_or("zero".to_owned(), |key| key.to_string());
                    scrape.add(&key("_native", Some(("key", place))), *count as f64);
                }
            }
        }
        scrape
    }

    fn describe(&mut self, about: String) {
        if about.contains(" coredns_") || about.contains(" process_") {
            self.about.insert(about);
        }
    }

    fn add(&mut self, key: &str, value: f64) {
        // Sockets to upstreams expire sooner here (docs/differences.md).
        let own_way = ["coredns_build_info", "coredns_proxy_conn_cache_"];
        if !key.starts_with("coredns_") || own_way.iter().any(|name| key.starts_with(name)) {
            return;
        }
        let mut key =
            if self.plugin_label == PluginLabel::Present { without_plugin(key) } else { key.to_owned() };
        for (port, mark) in &self.ports {
            key = key.replace(port, mark);
        }
        // The native buckets depend on timing too.
        if key.contains("_duration_seconds_native") {
            return;
        }
        // A time: only its presence is compared.
        let timed = key.contains("timestamp")
            || key.starts_with("coredns_health_request_duration")
            || key.contains("_duration_seconds_sum")
            || key.contains("_duration_seconds_bucket") && !key.contains("le=\"+Inf\"");
        *self.series.entry(key).or_default() += if timed { 0.0 } else { value };
    }

    /// The increase of counters; gauges unchanged.
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

/// Replaces the name of the answering plugin by `*`.
fn without_plugin(key: &str) -> String {
    match key.split_once("plugin=\"") {
        Some((head, rest)) if !rest.starts_with('"') => {
            let tail = rest.split_once('"').map_or("", |(_, tail)| tail);
            format!("{head}plugin=\"*\"{tail}")
        }
        _ => key.to_owned(),
    }
}

fn get(port: u16, accept: &str, kind: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the metrics' address");
    write!(stream, "GET /metrics HTTP/1.0\r\nAccept: {accept}\r\n\r\n").expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("head and body");
    let body = answer.split_off(end + 4);
    let head = String::from_utf8(answer).expect("a head of text");
    assert!(head.contains(" 200 "), "{head}");
    assert!(
        head.to_lowercase()
            .contains(&format!("content-type: {kind}; escaping=underscores\r\n").to_lowercase()),
        "{head}"
    );
    body
}

/// Reads the protobuf exposition, independently of the code that writes it.
mod protobuf {
    use std::collections::BTreeMap;

    pub struct Family {
        pub name: String,
        pub help: String,
        pub kind: &'static str,
        pub metrics: Vec<Metric>,
    }

    pub struct Metric {
        /// As in the text: `name="value"`.
        pub labels: Vec<String>,
        pub value: f64,
        pub histogram: Option<Histogram>,
        /// Whether it has a creation time.
        pub created: bool,
    }

    pub struct Histogram {
        pub count: i64,
        pub sum: f64,
        /// By upper bound.
        pub classic: Vec<(f64, u64)>,
        pub schema: i64,
        pub zero_threshold: f64,
        /// By key; None is the zero bucket.
        pub native: BTreeMap<Option<i64>, i64>,
    }

    pub fn families(mut bytes: &[u8]) -> Vec<Family> {
        let mut families = Vec::new();
        while !bytes.is_empty() {
            let length = varint(&mut bytes) as usize;
            let (one, rest) = bytes.split_at(length);
            bytes = rest;
            let message = Message::parse(one);
            // Go's own metrics have types that no other metric has.
            if !message.text(1).starts_with("go_") {
                families.push(family(&message));
            }
        }
        families
    }

    fn family(message: &Message<'_>) -> Family {
        let kind = match message.number(3) {
            0 => "counter",
            1 => "gauge",
            4 => "histogram",
            other => panic!("unknown type {other}"),
        };
        let metrics = message.all(4).map(|field| metric(&Message::parse(field.bytes()))).collect();
        Family { name: message.text(1), help: message.text(2), kind, metrics }
    }

    fn metric(message: &Message<'_>) -> Metric {
        let label = |field: &Field<'_>| {
            let pair = Message::parse(field.bytes());
            let value = pair.text(2).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{}=\"{value}\"", pair.text(1))
        };
        let labels = message.all(1).map(label).collect();
        let part = |number| message.all(number).next().map(|field| Message::parse(field.bytes()));
        if let Some(gauge) = part(2) {
            Metric { labels, value: gauge.double(1), histogram: None, created: false }
        } else if let Some(counter) = part(3) {
            Metric {
                labels,
                value: counter.double(1),
                histogram: None,
                created: counter.all(3).next().is_some(),
            }
        } else {
            let message = part(7).expect("a value");
            let created = message.all(15).next().is_some();
            Metric { labels, value: 0.0, histogram: Some(histogram(&message)), created }
        }
    }

    fn histogram(message: &Message<'_>) -> Histogram {
        let bucket = |field: &Field<'_>| {
            let bucket = Message::parse(field.bytes());
            (bucket.double(2), bucket.number(1))
        };
        let mut native = BTreeMap::from([(None, message.number(7) as i64)]);
        let mut deltas = message.all(13).map(|field| signed(field.number()));
        let (mut key, mut count) = (0, 0);
        for span in message.all(12).map(|field| Message::parse(field.bytes())) {
            key += signed(span.number(1));
            for _ in 0..span.number(2) {
                count += deltas.next().expect("a count for each bucket of a span");
                // Gaps may be written as empty buckets.
                if count > 0 {
                    native.insert(Some(key), count);
                }
                key += 1;
            }
        }
        assert!(deltas.next().is_none(), "counts without buckets");
        Histogram {
            count: message.number(1) as i64,
            sum: message.double(2),
            classic: message.all(3).map(bucket).collect(),
            schema: signed(message.number(5)),
            zero_threshold: message.double(6),
            native,
        }
    }

    enum Field<'a> {
        Number(u64),
        Bytes(&'a [u8]),
    }

    impl<'a> Field<'a> {
        fn number(&self) -> u64 {
            match self {
                Field::Number(number) => *number,
                Field::Bytes(_) => panic!("not a number"),
            }
        }

        fn bytes(&self) -> &'a [u8] {
            match self {
                Field::Number(_) => panic!("not bytes"),
                Field::Bytes(bytes) => bytes,
            }
        }
    }

    /// Fields by number, in their order.
    struct Message<'a>(Vec<(u64, Field<'a>)>);

    impl<'a> Message<'a> {
        fn parse(mut bytes: &'a [u8]) -> Message<'a> {
            let mut fields = Vec::new();
            while !bytes.is_empty() {
                let tag = varint(&mut bytes);
                let field = match tag & 7 {
                    0 => Field::Number(varint(&mut bytes)),
                    1 => {
                        let (eight, rest) = bytes.split_first_chunk().expect("eight bytes");
                        bytes = rest;
                        Field::Number(u64::from_le_bytes(*eight))
                    }
                    2 => {
                        let length = varint(&mut bytes) as usize;
                        let (content, rest) = bytes.split_at(length);
                        bytes = rest;
                        Field::Bytes(content)
                    }
                    other => panic!("wire type {other}"),
                };
                fields.push((tag >> 3, field));
            }
            Message(fields)
        }

        fn all(&self, number: u64) -> impl Iterator<Item = &Field<'a>> {
            self.0.iter().filter(move |(found, _)| *found == number).map(|(_, field)| field)
        }

        fn number(&self, number: u64) -> u64 {
            self.all(number).next().unwrap_or_else(|| panic!("no field {number}")).number()
        }

        fn double(&self, number: u64) -> f64 {
            f64::from_bits(self.number(number))
        }

        fn text(&self, number: u64) -> String {
            let field = self.all(number).next().unwrap_or_else(|| panic!("no field {number}"));
            String::from_utf8(field.bytes().to_vec()).expect("text")
        }
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().expect("a number");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    /// Zigzag, as signed numbers are written.
    fn signed(number: u64) -> i64 {
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }
}
