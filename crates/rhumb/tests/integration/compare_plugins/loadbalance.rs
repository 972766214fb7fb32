//! `loadbalance`: the order of addresses at random, by weight, and by preferred networks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use testkit::client::{self, Outcome, Transport};
use testkit::compare::{self, Comparison};
use testkit::message::Message;
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind};

use super::QUERIES;

const HOSTS: &str = "\
10.0.0.1 one.example.org\n\
10.0.0.2 two.example.org\n10.1.0.2 two.example.org\n\
10.0.0.3 three.example.org\n10.1.0.3 three.example.org\n192.0.2.3 three.example.org\n\
2001:db8::3 three.example.org\n2001:db8:1::3 three.example.org\nfd00::3 three.example.org\n\
10.2.0.4 four.example.org\n10.3.0.4 four.example.org\n2001:db8:2::4 four.example.org\n::1 four.example.org\n";

const WEIGHTS: &str = "\
two.example.org\n10.0.0.2 9\n10.1.0.2 3\n\n# a comment\nthree.example.org.\n10.0.0.3 200\n192.0.2.3 55\n2001:db8::3 2\nfd00::3 255\n\
elsewhere.example.org\n10.0.0.1 1\nthree.zone.example\n10.1.0.3 200\nfd00::3 100\n";

const NAMES: &[&str] = &[
    "one.example.org",
    "two.example.org",
    "three.example.org",
    "four.example.org",
    "none.example.org",
    "3.0.0.10.in-addr.arpa",
];

/// Each address is alone in its network, so that the order is deterministic.
const PREFERRED: &[&str] = &["one.example.org", "two.example.org", "three.example.org"];

/// Served by a CoreDNS upstream of both.
const ZONE: &str = "\
$ORIGIN zone.example.\n\
@ 3600 IN SOA ns hostmaster 1 7200 1800 86400 60\n@ 3600 IN NS ns\nns 300 IN A 10.0.0.53\n\
three 60 IN A 10.0.0.3\nthree 60 IN A 10.1.0.3\nthree 60 IN A 192.0.2.3\n\
three 60 IN AAAA 2001:db8::3\nthree 60 IN AAAA 2001:db8:1::3\nthree 60 IN AAAA fd00::3\n\
alias 60 IN CNAME three\nchain 60 IN CNAME alias\n\
mail 60 IN MX 10 three\n_sip._tcp 60 IN SRV 0 0 5060 three\ntext 60 IN TXT \"one\"\n";

const ZONE_NAMES: &[&str] = &[
    "zone.example",
    "three.zone.example",
    "alias.zone.example",
    "chain.zone.example",
    "mail.zone.example",
    "_sip._tcp.zone.example",
    "text.zone.example",
    "none.zone.example",
];

fn start(kind: Kind, policy: &str) -> DnsServer {
    let port = testkit::ports::free().expect("a port");
    let corefile =
        format!(".:{port} {{\n bind 127.0.0.1\n loadbalance {policy}\n hosts hosts {{\n ttl 60\n }}\n}}\n");
    DnsServer::start_with_files(kind, &corefile, port, &[("hosts", HOSTS), ("weights", WEIGHTS)])
        .unwrap_or_else(|error| panic!("{error}"))
}

fn compare(policy: &str, names: &[&str], strict_order: bool) {
    if Peer::CoreDns.for_test().is_some() {
        let servers = [Kind::CoreDns, Kind::Rhumb].map(|kind| start(kind, policy));
        compare_servers(servers, names, strict_order);
    }
}

fn compare_servers([coredns, rhumb]: [DnsServer; 2], names: &[&str], strict_order: bool) {
    let options = Options { odd_headers: 0.03, near_names: 0.05, odd_names: 0.01, ..Options::default() };
    let generator = Generator::from_env([Pool::new(1, names.iter().copied())], options);
    let seed = generator.seed();
    let report = Comparison::new(("CoreDNS", coredns.addr()), ("Rhumb", rhumb.addr()))
        .options(compare::Options { strict_order, ..compare::Options::default() })
        .check(generator, QUERIES);
    println!("seed {seed}: {} queries, {} unanswered, {:?}", report.queries, report.silent, report.rcodes);
    assert_eq!(report.queries, QUERIES);
}

#[test]
fn loadbalance_sets_of_records() {
    compare("", NAMES, false);
    compare("weighted weights {\n reload 0s\n }", NAMES, false);
}

/// Networks in their order; an IPv4-mapped IPv6 address counts as IPv4.
#[test]
fn loadbalance_prefers_networks() {
    let networks = "prefer 10.1.0.0/16 192.0.2.0/24\n prefer fd00::/8 2001:db8:1::/48\n prefer 10.0.0.0/8";
    compare(&format!("round_robin {{\n {networks}\n }}"), PREFERRED, true);
    compare(
        "{\n prefer ::ffff:10.1.0.0/112 192.0.2.3/32 2001:db8:1::/48 2001:db8::/48 ::/0\n }",
        PREFERRED,
        true,
    );
}

/// CNAMEs come first, and addresses in the additional section are sorted too.
#[test]
fn loadbalance_with_an_upstream() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let port = testkit::ports::free().expect("a port");
    let corefile = format!("zone.example:{port} {{\n bind 127.0.0.1\n file zone\n}}\n");
    let upstream = DnsServer::start_with_files(Kind::CoreDns, &corefile, port, &[("zone", ZONE)])
        .unwrap_or_else(|error| panic!("{error}"));
    let networks = "10.1.0.0/16 192.0.2.0/24 10.0.0.0/8 fd00::/8 2001:db8:1::/48";
    for (policy, strict_order) in [
        (format!("{{\n prefer {networks}\n }}"), true),
        ("weighted weights {\n reload 0s\n }".to_owned(), false),
    ] {
        let servers = [Kind::CoreDns, Kind::Rhumb].map(|kind| {
            let port = testkit::ports::free().expect("a port");
            let corefile = format!(
                ".:{port} {{\n bind 127.0.0.1\n loadbalance {policy}\n forward . {}\n}}\n",
                upstream.addr()
            );
            DnsServer::start_with_files(kind, &corefile, port, &[("weights", WEIGHTS)])
                .unwrap_or_else(|error| panic!("{error}"))
        });
        compare_servers(servers, ZONE_NAMES, strict_order);
    }
}

/// Several addresses of one network are shuffled: both servers produce the same orders.
#[test]
fn loadbalance_prefers_networks_of_many() {
    let policy = "{\n prefer 10.0.0.0/14\n }";
    compare(policy, NAMES, false);
    let [left, right] = [Kind::CoreDns, Kind::Rhumb].map(|kind| orders(kind, policy, "four.example.org", 1));
    assert_eq!(left.keys().collect::<BTreeSet<_>>(), right.keys().collect::<BTreeSet<_>>());
}

/// Per family, the first addresses of many answers have the same distribution as CoreDNS's.
#[test]
fn loadbalance_draws_by_weight() {
    let weighted = "weighted weights";
    for (policy, name, qtype) in [
        (weighted, "two.example.org", 1),
        (weighted, "three.example.org", 1),
        (weighted, "three.example.org", 28),
        // Without weights in the file all are equal.
        (weighted, "four.example.org", 1),
        ("round_robin", "three.example.org", 1),
        ("round_robin", "three.example.org", 28),
    ] {
        if Peer::CoreDns.for_test().is_none() {
            return;
        }
        let [left, right] = [Kind::CoreDns, Kind::Rhumb].map(|kind| {
            let mut firsts: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
            for (order, count) in orders(kind, policy, name, qtype) {
                *firsts.entry(order.first().cloned().unwrap_or_default()).or_default() += count as f64;
            }
            firsts
        });
        println!("{policy} {name} {qtype}: {left:?} {right:?}");
        for address in left.keys().chain(right.keys()) {
            let [a, b] = [&left, &right].map(|firsts| firsts.get(address).copied().unwrap_or_default());
            // Five standard deviations of the difference of two counts.
            let chance = (a + b + 1.0).sqrt();
            assert!((a - b).abs() < 5.0 * chance, "{policy} {name} {qtype}: {left:?} {right:?}");
        }
    }
}

/// The frequency of each order of addresses.
fn orders(kind: Kind, policy: &str, name: &str, qtype: u16) -> BTreeMap<Vec<Vec<u8>>, usize> {
    let mut found = BTreeMap::new();
    if Peer::CoreDns.for_test().is_none() {
        return found;
    }
    let server = start(kind, policy);
    let options = Options {
        odd_headers: 0.0,
        near_names: 0.0,
        odd_names: 0.0,
        edns: 0.0,
        tcp: 0.0,
        types: vec![(1, qtype)],
        ..Options::default()
    };
    for query in Generator::from_env([Pool::new(1, [name])], options).take(QUERIES) {
        let outcome = client::query(server.addr(), Transport::Udp, &query.wire, Duration::from_secs(3));
        let Ok(Outcome::Reply(reply)) = outcome else { panic!("{kind:?} does not answer") };
        let order = Message::decode(&reply).answer.into_iter().map(|record| record.rdata).collect();
        *found.entry(order).or_default() += 1;
    }
    found
}
