//! State that survives a reload: cached replies, sockets to upstreams, counters; and state that does not.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use rustix::process::Signal;
use testkit::client;
use testkit::peers::Peer;
use testkit::scripted_upstream::{ScriptedUpstream, Step};
use testkit::{DnsServer, Kind};
use wire::{NameBuf, Query, Rtype};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A server that forwards to one of two upstreams.
struct Fixture {
    server: DnsServer,
    upstreams: [ScriptedUpstream; 2],
    http: u16,
}

impl Fixture {
    fn start(kind: Kind) -> Fixture {
        let upstreams = ["192.0.2.1", "192.0.2.2"].map(|address| {
            let upstream = ScriptedUpstream::start().expect("an upstream");
            upstream.otherwise([Step::address(address, 300).expect("an address")]);
            upstream
        });
        let [port, http] = [0; 2].map(|_| testkit::ports::free().expect("a port"));
        let corefile = corefile(port, http, &upstreams[0], "");
        let server = DnsServer::start(kind, &corefile, port).unwrap_or_else(|error| panic!("{error}"));
        Fixture { server, upstreams, http }
    }

    /// Reloads with another line in the block or another upstream, and waits for the log line `expected`.
    fn reload(&self, more: &str, upstream: usize, expected: &str) {
        let text = corefile(self.server.addr().port(), self.http, &self.upstreams[upstream], more);
        std::fs::write(self.server.folder().join("Corefile"), text).expect("written");
        let count = || self.server.output().matches(expected).count();
        let before = count();
        self.server.process().signal(Signal::USR1).expect("signalled");
        let end = std::time::Instant::now() + TIMEOUT;
        while count() == before {
            assert!(std::time::Instant::now() < end, "no {expected:?} in\n{}", self.server.output());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The last octet of the address in the answer.
    fn query(&self, name: &str) -> u8 {
        let query = query(name);
        let outcome = client::udp(self.server.addr(), &query, TIMEOUT, 0).expect("asked");
        *outcome.reply().and_then(<[u8]>::last).expect("an answer")
    }

    /// The same over an existing socket, so that the same worker answers.
    fn query_from(&self, client: &UdpSocket, name: &str) -> u8 {
        client.send_to(&query(name), self.server.addr()).expect("asked");
        let mut reply = [0; 512];
        let len = client.recv(&mut reply).expect("an answer");
        reply[len - 1]
    }

    /// Number of queries for this name at each upstream.
    fn upstream_queries(&self, name: &str) -> [usize; 2] {
        self.upstreams.each_ref().map(|upstream| upstream.count(name))
    }

    fn metric(&self, name: &str) -> f64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.http)).expect("the metrics' address");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let values = text.lines().filter(|line| line.starts_with(name));
        values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }
}

fn query(name: &str) -> Vec<u8> {
    Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet()
}

fn corefile(port: u16, http: u16, upstream: &ScriptedUpstream, more: &str) -> String {
    let to = upstream.addr();
    format!(
        ".:{port} {{\n bind 127.0.0.1\n {more}\n prometheus 127.0.0.1:{http}\n cache\n forward . {to}\n}}\n"
    )
}

#[test]
fn cache_survives_unless_a_plugin_below_it_changes() {
    let fixture = Fixture::start(Kind::Rhumb);
    assert_eq!(fixture.query("a.example."), 1);
    let requests = fixture.metric("coredns_cache_requests_total");
    assert_eq!(fixture.metric("coredns_cache_entries"), 1.0);
    for (more, expected) in [
        ("", "Reloading complete"),
        ("errors", "Reloading complete"),
        ("nosuchplugin", "[ERROR] SIGUSR1: "),
        ("", "Reloading complete"),
    ] {
        fixture.reload(more, 0, expected);
        assert_eq!(
            (fixture.query("a.example."), fixture.upstream_queries("a.example.")),
            (1, [1, 0]),
            "{more}"
        );
    }
    assert_eq!(fixture.metric("coredns_cache_hits_total"), 4.0);
    assert_eq!(fixture.metric("coredns_cache_misses_total"), 1.0);
    assert_eq!(fixture.metric("coredns_cache_requests_total"), requests + 4.0);
    assert_eq!(fixture.metric("coredns_reload_failed_total"), 1.0);

    fixture.reload("", 1, "Reloading complete");
    assert_eq!((fixture.query("a.example."), fixture.upstream_queries("a.example.")), (2, [1, 1]));
    // Entries from before the last change do not return.
    fixture.reload("", 0, "Reloading complete");
    assert_eq!((fixture.query("a.example."), fixture.upstream_queries("a.example.")), (1, [2, 1]));
    assert_eq!(fixture.metric("coredns_cache_misses_total"), 3.0);
}

#[test]
fn sockets_to_upstreams_survive() {
    let fixture = Fixture::start(Kind::Rhumb);
    // Every worker has its own sockets.
    let client = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    client.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    for (name, more) in [("a.example.", ""), ("b.example.", "errors"), ("c.example.", "")] {
        assert_eq!(fixture.query_from(&client, name), 1);
        fixture.reload(more, 0, "Reloading complete");
    }
    let ports: BTreeSet<u16> = fixture.upstreams[0].seen().iter().map(|seen| seen.from.port()).collect();
    assert_eq!((ports.len(), fixture.upstreams[0].total()), (1, 3));
    assert_eq!(fixture.metric("coredns_proxy_conn_cache_hits_total"), 2.0);
}

/// docs/differences.md, "`cache` after a reload".
#[test]
fn coredns_empties_its_cache() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let fixture = Fixture::start(Kind::CoreDns);
    fixture.query("a.example.");
    fixture.query("a.example.");
    assert_eq!(fixture.upstream_queries("a.example."), [1, 0]);
    fixture.reload("", 0, "Reloading complete");
    fixture.query("a.example.");
    assert_eq!(fixture.upstream_queries("a.example."), [2, 0]);
}
