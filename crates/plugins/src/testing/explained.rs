//! An explained query leaves no trace on a running server, whichever plugins it passes.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::registry;
use server::{ExplainedReply, Purpose, Server, Service, runtime};
use testkit::scripted_upstream::{ScriptedUpstream, Step};

use crate::log::capture::Capture;
use crate::testing::harness::{configure, packet, present};

const COREFILE: &str = "
.:0 {
    bind 127.0.0.1
    metadata
    cancel 3s
    nsid
    bufsize 1232
    prometheus 127.0.0.1:0
    errors
    log
    local
    dns64 {
        allow_ipv4
    }
    siit {
        eam 192.0.2.1 2001:db8::1
    }
    any
    chaos
    loadbalance
    rewrite name exact old.test. renamed.test.
    autopath FOLDER/resolv.conf
    acl blocked.test {
        block
    }
    acl dropped.test {
        drop
    }
    cache {
        prefetch 1 1m 90%
        servfail 5s
    }
    header {
        response set ra
    }
    minimal
    template IN TXT tmpl.test {
        answer \"{{ .Name }} 60 IN TXT {{ .Question }}\"
    }
    template IN A broken.test {
        answer \"{{ .Name }} 60 IN A {{ .Missing }}\"
    }
    hosts {
        192.0.2.9 web.hosts.test
        192.0.2.10 short.b.search
        fallthrough
    }
    kubernetes cluster.local {
        manifests FOLDER/manifests
    }
    forward down.test 127.0.0.1:1 {
        max_connect_attempts 1
    }
    forward . UPSTREAM {
        policy round_robin
        unhealthy_on servfail
        max_concurrent 10
    }
}
erratic.test:0 {
    bind 127.0.0.1
    prometheus 127.0.0.1:0
    errors
    log
    erratic
}
";

const MANIFESTS: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{ port: 80 }] }
";

/// Served before, so that series exist and the cache has entries.
const SERVED: &[&str] = &[
    "known.test A",
    "known.test AAAA",
    "web.hosts.test A",
    "web.hosts.test AAAA",
    "old.test A",
    "short.a.search A",
    "x.localhost A",
    "any.test ANY",
    "version.bind TXT class=CH",
    "name.blocked.test A",
    "name.dropped.test A",
    "name.tmpl.test TXT",
    "name.broken.test A",
    "web.shop.svc.cluster.local A",
    "missing.shop.svc.cluster.local A",
    "fails.test A",
    "name.erratic.test A",
];

/// Never served: not in the cache, some without a series.
const NEW: &[&str] = &[
    "new.test A",
    "new.test AAAA do",
    "new.test MX",
    "other.fails.test A",
    "name.down.test A",
    "new.test A class=HS",
];

/// All metrics but those of the process and its runtime.
fn scrape() -> String {
    let of_process = |line: &str| ["process_", "go_"].iter().any(|prefix| line.contains(prefix));
    registry().encode().lines().filter(|line| !of_process(line)).map(|line| format!("{line}\n")).collect()
}

/// The metrics once the refreshes that served queries started in the background have ended.
fn settled() -> String {
    const QUIET: u32 = 20;
    let deadline = Instant::now() + Duration::from_secs(10);
    let (mut last, mut unchanged) = (scrape(), 0);
    while unchanged < QUIET {
        assert!(Instant::now() < deadline, "still changing");
        std::thread::sleep(Duration::from_millis(10));
        let now = scrape();
        unchanged = if now == last { unchanged + 1 } else { 0 };
        last = now;
    }
    last
}

/// Queries on the process's own runtime, where the sockets of upstreams survive between queries.
fn ask(service: &Arc<Service>, question: &str, purpose: Purpose) -> ExplainedReply {
    let (packet, client) = packet(question);
    runtime::handle().block_on(service.answer(&packet, client, purpose))
}

fn notes(explained: &ExplainedReply) -> Vec<&str> {
    explained.notes.iter().map(|note| note.text.as_str()).collect()
}

#[test]
fn an_explained_query_leaves_no_trace() {
    let log = Capture::take();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("resolv.conf"), "search a.search b.search\n").expect("a file");
    fs::create_dir(folder.path().join("manifests")).expect("a folder");
    fs::write(folder.path().join("manifests/cluster.yaml"), MANIFESTS).expect("a file");
    let upstream = ScriptedUpstream::start().expect("an upstream");
    upstream.otherwise([Step::address("192.0.2.1", 60).expect("an address")]);
    upstream.on("fails.test", [Step::Servfail]);
    upstream.on("other.fails.test", [Step::Servfail]);
    let corefile = COREFILE
        .replace("FOLDER", &folder.path().display().to_string())
        .replace("UPSTREAM", &upstream.addr().to_string());
    let config = configure(&corefile).unwrap_or_else(|error| panic!("{error}"));
    let server = Server::start(config).expect("a server");
    let service: Arc<Service> = server.config().services().next().expect("a service").1.clone();

    for question in SERVED {
        ask(&service, question, Purpose::Serve);
    }
    let first = scrape();
    for question in SERVED {
        ask(&service, question, Purpose::Serve);
    }
    let before = settled();
    assert_ne!(before, first, "served queries are counted");
    assert!(!log.lines("").is_empty(), "served queries are logged");

    for _ in 0..3 {
        for question in SERVED.iter().chain(NEW) {
            let explained = ask(&service, question, Purpose::Explain);
            assert!(!explained.notes.is_empty(), "{question}");
            let after = scrape();
            let changed = after.lines().filter(|line| !before.lines().any(|known| known == *line));
            assert_eq!(changed.collect::<Vec<_>>(), [""; 0], "{question}");
            assert_eq!(log.lines(""), [""; 0], "{question}");
        }
    }
    assert_eq!(scrape(), before);

    // It reads the cache, and what it got from below is not there.
    let explained = ask(&service, "known.test A", Purpose::Explain);
    assert!(notes(&explained).iter().any(|note| note.starts_with("hit: cached ")), "{:?}", notes(&explained));
    let explained = ask(&service, "new.test A", Purpose::Explain);
    assert!(notes(&explained).contains(&"would be cached for 60 s"), "{:?}", notes(&explained));
    let asked = upstream.count("new.test");
    let served = ask(&service, "new.test A", Purpose::Serve);
    assert_eq!(upstream.count("new.test"), asked + 1, "a miss");
    assert_eq!(present(&served), present(&explained));
    server.stop();
}
