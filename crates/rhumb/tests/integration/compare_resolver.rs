//! forward, cache and loadbalance return the same answers as CoreDNS's, with the same real upstream.
//!
//! The upstream is a CoreDNS with a zone file. Queries are sequential, because the content of a cache depends on
//! their order. Each set has 5,000 queries; the seed is printed, and RHUMB_SEED repeats it.

use std::time::Duration;

use testkit::compare::{self, Comparison};
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind};

const QUERIES: usize = 5_000;

const ZONE: &str = "\
$ORIGIN example.org.
@       3600 IN SOA ns.example.org. hostmaster.example.org. 2026111501 7200 1800 86400 60
@       3600 IN NS  ns
@       300  IN MX  10 mail
@       300  IN MX  20 mail2
ns      300  IN A   192.0.2.53
mail    300  IN A   192.0.2.25
mail2   300  IN AAAA 2001:db8::25
www     20   IN A   192.0.2.80
www     20   IN A   192.0.2.81
www     20   IN AAAA 2001:db8::80
short   1    IN A   192.0.2.1
zero    0    IN A   192.0.2.2
long    86400 IN A  192.0.2.3
alias   60   IN CNAME www
chain   60   IN CNAME alias
out     60   IN CNAME elsewhere.net.
txt     60   IN TXT \"hello\" \"world\"
_http._tcp 60 IN SRV 0 5 80 www
*.wild  60   IN A   192.0.2.99
deep.ent 60  IN A   192.0.2.98
sub     300  IN NS  ns.sub
ns.sub  300  IN A   192.0.2.54
Mixed   60   IN A   192.0.2.97
";

const NAMES: &[&str] = &[
    "example.org",
    "www.example.org",
    "short.example.org",
    "zero.example.org",
    "long.example.org",
    "alias.example.org",
    "chain.example.org",
    "out.example.org",
    "txt.example.org",
    "_http._tcp.example.org",
    "a.wild.example.org",
    "b.a.wild.example.org",
    "ent.example.org",
    "deep.ent.example.org",
    "sub.example.org",
    "x.sub.example.org",
    "mixed.example.org",
    "missing.example.org",
    "big.example.org",
    "fails.example.org",
    "elsewhere.net",
    "mail.example.org",
];

fn upstream() -> DnsServer {
    let big: String = (0..80).map(|i| format!("big 60 IN A 10.1.0.{i}\n")).collect();
    let zone = format!("{ZONE}{big}");
    let port = testkit::ports::free().expect("a port");
    let corefile = format!(
        "fails.example.org:{port} {{\n bind 127.0.0.1\n template ANY ANY {{\n rcode SERVFAIL\n }}\n}}\n\
         example.org:{port} {{\n bind 127.0.0.1\n file zone\n}}\n"
    );
    DnsServer::start_with_files(Kind::CoreDns, &corefile, port, &[("zone", &zone)])
        .unwrap_or_else(|error| panic!("{error}"))
}

/// `{port}` is the server's, `{upstream}` the upstream's address.
fn check(corefile: &str, names: &[&str]) {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream = upstream();
    let start = |kind| {
        let port = testkit::ports::free().expect("a port");
        let corefile =
            corefile.replace("{port}", &port.to_string()).replace("{upstream}", &upstream.addr().to_string());
        DnsServer::start(kind, &corefile, port).unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let options = Options { odd_headers: 0.03, odd_names: 0.01, ..Options::default() };
    let generator = Generator::from_env([Pool::new(1, names.iter().copied())], options);
    let seed = generator.seed();
    let report = Comparison::new(("CoreDNS", coredns.addr()), ("Rhumb", rhumb.addr()))
        .repeated()
        .lanes(1)
        .separate_other_opcodes()
        .options(compare::Options { cached_ttl: true, ..compare::Options::default() })
        .timeout(Duration::from_secs(6))
        .check(generator, QUERIES);
    println!("seed {seed}: {} silent, {:?}", report.silent, report.rcodes);
    assert_eq!(report.queries, QUERIES);
}

#[test]
fn forward_alone() {
    check(".:{port} {\n bind 127.0.0.1\n errors\n forward . {upstream}\n}\n", NAMES);
}

/// Names whose answers fit: truncation after a shuffle leaves different records each time.
fn small() -> Vec<&'static str> {
    NAMES.iter().copied().filter(|name| !name.starts_with("big.")).collect()
}

#[test]
fn cache_and_loadbalance_as_kubeadm_has_them() {
    check(
        ".:{port} {\n bind 127.0.0.1\n errors\n cache 30\n loadbalance\n forward . {upstream} {\n max_concurrent 1000\n }\n}\n",
        &small(),
    );
}

#[test]
fn cache_with_options() {
    check(
        ".:{port} {\n bind 127.0.0.1\n cache 3600 example.org {\n success 1000 600 2\n denial 500 20 1\n servfail 2s\n keepttl\n \
         disable denial wild.example.org\n }\n minimal\n forward example.org {upstream} {\n prefer_udp\n except sub.example.org\n }\n whoami\n}\n",
        NAMES,
    );
}

#[test]
fn over_tcp_with_stale_answers() {
    check(
        ".:{port} {\n bind 127.0.0.1\n bufsize 700\n cache {\n serve_stale 1h immediate\n }\n \
         forward . {upstream} {\n force_tcp\n policy sequential\n }\n}\n",
        NAMES,
    );
}
