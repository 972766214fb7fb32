//! Traces: Rhumb sends Zipkin the same spans as CoreDNS, and the OpenTelemetry collector can read those it sends over
//! OTLP.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::client::{query_both, udp};
use testkit::http_receiver::HttpReceiver;
use testkit::peers::Peer;
use testkit::process::Process;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind, ports};

const QUERIES: usize = 2_000;
/// Clock tolerance in microseconds.
const SLACK: u64 = 1000;
const LONG: Duration = Duration::from_secs(3);

const NAMES: &[&str] = &[
    "a.example.org",
    "x.fwd.org",
    "y.fwd.org",
    "old.org",
    "x.dead.org",
    "nowhere.net",
    "blocked.net",
    "1.0.0.10.in-addr.arpa",
];

/// Plugins that pass queries on, answer them, fail and forward.
const PLUGINS: &str = "
    errors
    log . \"{/trace/traceid} {name}\"
    loadbalance
    rewrite name exact old.org x.fwd.org
    acl blocked.net {
        block type A
        drop type AAAA
    }
    header {
        response set ra
    }
    hosts {
        10.0.0.1 a.example.org
        fallthrough
    }
    forward fwd.org 127.0.0.1:UPSTREAM {
        max_fails 0
    }
    forward dead.org 127.0.0.1:9 {
        max_fails 0
    }
";

const UPSTREAM: &str = "fwd.org:{port} {\n bind 127.0.0.1\n hosts {\n 10.1.0.1 x.fwd.org\n }\n}\n";

/// A server with its fake collector.
struct TracedServer {
    server: DnsServer,
    collector: HttpReceiver,
}

impl TracedServer {
    fn start(kind: Kind, options: &str, upstream: u16) -> TracedServer {
        let collector = HttpReceiver::start().unwrap_or_else(|error| panic!("{error}"));
        let behind = PLUGINS.replace("UPSTREAM", &upstream.to_string());
        let corefile = format!(
            ".:{{port}} {{\n bind 127.0.0.1\n metadata\n trace {} {{\n zipkin_max_backlog_size 100000\n \
             {options}\n }}\n{behind}\n}}\n",
            collector.addr()
        );
        let server = DnsServer::start_on_free_port(kind, &corefile).unwrap_or_else(|error| panic!("{error}"));
        TracedServer { server, collector }
    }

    /// All traces in order of their start, once no more have arrived for a while.
    fn traces(&self) -> Vec<Trace> {
        let (mut known, mut since) = (0, Instant::now());
        loop {
            let posted = self.collector.requests();
            for request in &posted {
                let what = (request.path.as_str(), request.content_type.as_str());
                assert_eq!(what, ("/api/v2/spans", "application/json"));
            }
            let spans = posted.iter().flat_map(|request| {
                serde_json::from_slice::<Vec<Value>>(&request.body).unwrap_or_else(|error| panic!("{error}"))
            });
            if posted.len() != known {
                (known, since) = (posted.len(), Instant::now());
            } else if since.elapsed() > Duration::from_secs(3) {
                return traces(spans);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// One trace, without the fields that differ every time.
#[derive(Debug, PartialEq, Eq)]
struct Trace {
    began: u64,
    id: String,
    /// Path of names from the root, kind, tags, annotations.
    spans: Vec<String>,
}

fn text<'v>(span: &'v Value, key: &str) -> &'v str {
    span[key].as_str().unwrap_or_default()
}

fn traces(spans: impl Iterator<Item = Value>) -> Vec<Trace> {
    let mut by_trace: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for span in spans {
        by_trace.entry(text(&span, "traceId").to_owned()).or_default().push(span);
    }
    // The root span ends last: with it a trace is complete.
    by_trace.retain(|id, spans| spans.iter().any(|span| text(span, "id") == id));
    let mut traces: Vec<Trace> = by_trace.into_iter().map(|(id, spans)| trace(id, &spans)).collect();
    traces.sort_by_key(|trace| trace.began);
    traces
}

fn trace(id: String, spans: &[Value]) -> Trace {
    let parent = |span: &Value| spans.iter().find(|other| text(other, "id") == text(span, "parentId"));
    let path = |span: &Value| {
        let mut names = vec![text(span, "name").to_owned()];
        let mut at = span;
        while let Some(above) = parent(at) {
            let within = |span: &Value| {
                let began = span["timestamp"].as_u64().unwrap_or_default();
                (began, began + span["duration"].as_u64().unwrap_or_default())
            };
            let ((began, ended), (outer_began, outer_ended)) = (within(at), within(above));
            // Times are rounded, and the clock may be adjusted in between.
            assert!(
                began + SLACK >= outer_began && ended <= outer_ended + SLACK,
                "{at} is not within {above}"
            );
            names.push(text(above, "name").to_owned());
            at = above;
        }
        names.reverse();
        names.join("/")
    };
    let root = spans.iter().find(|span| text(span, "id") == id).expect("a trace has a root");
    let mut lines: Vec<String> = spans
        .iter()
        .map(|span| {
            let annotations = span["annotations"].as_array().into_iter().flatten();
            let annotations: Vec<String> =
                annotations.map(|note| without_port(text(note, "value"))).collect();
            let endpoint = &span["localEndpoint"];
            format!(
                "{} {} {} {annotations:?} {} {}",
                path(span),
                span["kind"],
                span["tags"],
                endpoint["serviceName"],
                endpoint["ipv4"]
            )
        })
        .collect();
    lines.sort();
    Trace { began: root["timestamp"].as_u64().unwrap_or_default(), id, spans: lines }
}

/// `read udp 127.0.0.1:40812->127.0.0.1:9: …`: the source port differs each time.
fn without_port(text: &str) -> String {
    match text.split_once("->") {
        Some((before, after)) => {
            let address = before.rsplit_once(':').map_or(before, |(address, _)| address);
            format!("{address}->{after}")
        }
        None => text.to_owned(),
    }
}

#[test]
fn zipkin_spans_equal_those_of_coredns() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream =
        DnsServer::start_on_free_port(Kind::CoreDns, UPSTREAM).unwrap_or_else(|error| panic!("{error}"));
    let start = |kind| TracedServer::start(kind, "service dns", upstream.addr().port());
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let options = Options { odd_headers: 0.0, types: vec![(9, 1), (3, 16), (1, 28)], ..Options::default() };
    let mut generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], options);
    let seed = generator.seed();
    for _ in 0..QUERIES {
        let query = generator.next().expect("generators do not end");
        let servers = [coredns.server.addr(), rhumb.server.addr()];
        // A short timeout for dropped queries.
        query_both(servers, None, query.transport, &query.wire, Duration::from_millis(700)).expect("asked");
    }
    let (left, right) = (coredns.traces(), rhumb.traces());
    let spans: usize = left.iter().map(|trace| trace.spans.len()).sum();
    println!("seed {seed}: {} traces, {spans} spans", left.len());
    // Queries of other classes reach no plugin.
    assert!(left.len() > QUERIES * 9 / 10, "only {} traces", left.len());
    assert_eq!(left.len(), right.len());
    for (at, (left, right)) in left.iter().zip(&right).enumerate() {
        // For a rewritten query CoreDNS records the new name; see docs/differences.md.
        let rewritten = |line: &String| line.replace("\"old.org.\"", "\"x.fwd.org.\"");
        let right: Vec<String> = right.spans.iter().map(rewritten).collect();
        assert_eq!(left.spans, right, "trace {at}, seed {seed}");
    }
    // The log has the ids of the traces.
    let last = right.last().expect("traces");
    let logged = rhumb.server.process().wait_for_line(&format!("[INFO] {} ", last.id), LONG);
    logged.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_seventh_query_is_traced() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let servers = [Kind::CoreDns, Kind::Rhumb].map(|kind| TracedServer::start(kind, "every 7", 9));
    let question = query("a.example.org");
    for _ in 0..70 {
        for traced in &servers {
            udp(traced.server.addr(), &question, LONG, 0).expect("asked");
        }
    }
    let [left, right] =
        servers.map(|traced| traced.traces().into_iter().map(|trace| trace.spans).collect::<Vec<_>>());
    assert_eq!(left.len(), 10);
    assert_eq!(left, right);
}

/// The real collector receives the spans; its debug exporter prints them as text.
#[test]
#[ignore = "the collector takes minutes to build; part of make test-long PART=observers"]
fn the_collector_reads_otlp() {
    if Peer::CoreDns.for_test().is_none() || Peer::Otelcol.for_test().is_none() {
        return;
    }
    let upstream =
        DnsServer::start_on_free_port(Kind::CoreDns, UPSTREAM).unwrap_or_else(|error| panic!("{error}"));
    let port = ports::free().expect("a free port");
    let mut command = Command::new(Peer::Otelcol.locate().expect("the collector"));
    command.arg("--config").arg(format!(
        "yaml:{{receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}, \
         exporters: {{debug: {{verbosity: detailed}}}}, service: {{telemetry: {{metrics: {{level: none}}}}, \
         pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}}}}}"
    ));
    let collector = Process::start("otelcol", command).unwrap_or_else(|error| panic!("{error}"));
    collector
        .wait_for_line("Everything is ready", Duration::from_secs(30))
        .unwrap_or_else(|error| panic!("{error}"));
    let behind = PLUGINS.replace("UPSTREAM", &upstream.addr().port().to_string());
    let corefile = format!(
        ".:{{port}} {{\n bind 127.0.0.1\n metadata\n trace otlp 127.0.0.1:{port} {{\n service dns\n }}\n{behind}\n}}\n"
    );
    let server =
        DnsServer::start_on_free_port(Kind::Rhumb, &corefile).unwrap_or_else(|error| panic!("{error}"));
    for name in ["a.example.org", "x.fwd.org", "nowhere.net"] {
        udp(server.addr(), &query(name), LONG, 0).expect("asked");
    }
    let done = collector.wait_for_line("coredns.io/name: Str(nowhere.net.)", Duration::from_secs(20));
    done.unwrap_or_else(|error| panic!("{error}\n{}", server.output()));
    std::thread::sleep(Duration::from_millis(500));

    let output = collector.output();
    assert!(output.contains("service.name: Str(dns)"), "{output}");
    let spans = printed_spans(&output);
    let path = |span: &PrintedSpan| {
        let mut names = vec![span.name.clone()];
        let mut parent = &span.parent;
        while let Some(above) = spans.iter().find(|other| other.id == *parent) {
            names.push(above.name.clone());
            parent = &above.parent;
        }
        names.reverse();
        format!("{} {}", names.join("/"), span.kind)
    };
    let mut paths: Vec<String> = spans.iter().map(path).collect();
    paths.sort();
    paths.dedup();
    let all = "servedns/errors/log/loadbalance/rewrite/acl/header/hosts/forward/forward";
    let mut expected: Vec<String> = all
        .match_indices('/')
        .map(|(at, _)| &all[..at])
        .chain([all])
        .map(|path| format!("{path} {}", if path == "servedns" { "Server" } else { "Internal" }))
        .collect();
    expected
        .push("servedns/errors/log/loadbalance/rewrite/acl/header/hosts/forward/connect Client".to_owned());
    expected.sort();
    assert_eq!(paths, expected);
    assert!(spans.iter().all(|span| span.trace.len() == 32 && span.id.len() == 16), "{spans:?}");
    let failed: Vec<&str> =
        spans.iter().filter(|span| span.status == "Error").map(|span| span.name.as_str()).collect();
    assert_eq!(failed, ["servedns"]);
}

/// A span as printed by the debug exporter.
#[derive(Debug, Default)]
struct PrintedSpan {
    trace: String,
    parent: String,
    id: String,
    name: String,
    kind: String,
    status: String,
}

fn printed_spans(output: &str) -> Vec<PrintedSpan> {
    let mut spans: Vec<PrintedSpan> = Vec::new();
    for line in output.lines() {
        if line.starts_with("Span #") {
            spans.push(PrintedSpan::default());
        }
        let (Some(span), Some((key, value))) = (spans.last_mut(), line.split_once(" : ")) else { continue };
        let field = match key.trim() {
            "Trace ID" => &mut span.trace,
            "Parent ID" => &mut span.parent,
            "ID" => &mut span.id,
            "Name" => &mut span.name,
            "Kind" => &mut span.kind,
            "Status code" => &mut span.status,
            _ => continue,
        };
        value.trim().clone_into(field);
    }
    spans
}

fn query(name: &str) -> Vec<u8> {
    let mut packet = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        packet.push(label.len() as u8);
        packet.extend(label.bytes());
    }
    packet.extend([0, 0, 1, 0, 1]);
    packet
}
