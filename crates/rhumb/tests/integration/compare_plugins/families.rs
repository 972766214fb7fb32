//! Shared by the sets of `dns64` and `siit`: an upstream with all kinds of names, and clients of both families.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use testkit::compare::{self, Comparison, Difference, Line};
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind, logs};

use super::QUERIES;

/// `{port}` is the server's, `{upstream}` the upstream's address.
pub struct Set {
    pub corefile: &'static str,
    /// The queried address, which also sets the client's family.
    pub servers: &'static [&'static str],
    pub cached: bool,
    pub logged: bool,
    pub intended: fn(&Difference) -> Option<&'static str>,
}

pub const BOTH: Set =
    Set { corefile: "", servers: &["127.0.0.1", "::1"], cached: false, logged: true, intended: |_| None };

/// For both servers, beside the Corefile.
const HOSTS: &[(&str, &str)] = &[(
    "hosts",
    "10.0.0.1 four.hosts.example Both.Hosts.example\n10.0.0.2 four.hosts.example\n\
     2001:db8::1 six.hosts.example both.hosts.example\n2001:db8::2 six.hosts.example\n\
     ::ffff:10.0.0.4 mapped.hosts.example\n64:ff9b::a00:5 nat.hosts.example\n64:ff9b:0:0:100::a00:5 nat.hosts.example\n\
     2001:db8:a:b:c:d:e:f mixed.hosts.example\n2001:db8:64::10.9.8.7 nat.hosts.example mixed.hosts.example\n\
     2001:db8:6400:0a09:0008:0700:: mixed.hosts.example\n255.255.255.255 odd.hosts.example\n0.0.0.0 odd.hosts.example\n",
)];

const ZONE: &str = "\
$ORIGIN example.org.
@       3600 IN SOA ns.example.org. hostmaster.example.org. 2026111501 7200 1800 86400 60
@       3600 IN NS  ns
ns      300  IN A   192.0.2.53
four    300  IN A   192.0.2.1
four    300  IN A   192.0.2.2
short   7    IN A   192.0.2.3
long    86400 IN A  192.0.2.4
six     300  IN AAAA 2001:db8::1
six     300  IN AAAA 2001:db8::2
both    300  IN A   192.0.2.5
both    300  IN AAAA 2001:db8::5
nat     86400 IN AAAA 64:ff9b::c000:201
nat     86400 IN AAAA 2001:db8::7
mapped  300  IN AAAA ::ffff:192.0.2.8
alias4  60   IN CNAME four
chain4  60   IN CNAME alias4
alias6  60   IN CNAME nat
out     60   IN CNAME elsewhere.net.
loose   60   IN CNAME missing
nothing 60   IN TXT  \"neither\"
*.wild  60   IN A   192.0.2.99
deep.ent 60  IN A   192.0.2.98
sub     300  IN NS  ns.sub
ns.sub  300  IN A   192.0.2.54
";

const NAMES: &[&str] = &[
    "four.hosts.example",
    "six.hosts.example",
    "both.hosts.example",
    "mapped.hosts.example",
    "nat.hosts.example",
    "mixed.hosts.example",
    "odd.hosts.example",
    "none.hosts.example",
    "four.example.org",
    "short.example.org",
    "long.example.org",
    "six.example.org",
    "both.example.org",
    "nat.example.org",
    "mapped.example.org",
    "alias4.example.org",
    "chain4.example.org",
    "alias6.example.org",
    "out.example.org",
    "loose.example.org",
    "nothing.example.org",
    "a.wild.example.org",
    "ent.example.org",
    "x.sub.example.org",
    "missing.example.org",
    "many4.example.org",
    "many6.example.org",
    "fails.example.org",
    "refused.example.org",
    "a-fails.example.org",
    "a-denied.example.org",
    "aaaa-fails.example.org",
    "aaaa-refused.example.org",
    "example.org",
    "elsewhere.net",
];

/// The relevant types, and some others.
const TYPES: &[(u32, u16)] =
    &[(10, 1), (14, 28), (1, 16), (1, 5), (1, 255), (1, 12), (1, 6), (1, 65), (1, 0)];

fn upstream() -> DnsServer {
    let many: String =
        (0..60).map(|i| format!("many4 60 IN A 10.1.0.{i}\nmany6 60 IN AAAA 64:ff9b::a02:{i:x}\n")).collect();
    let zone = format!("{ZONE}{many}");
    let port = testkit::ports::free().expect("a port");
    let template = |name: &str, lines: &[(&str, &str)]| {
        let lines: String = lines
            .iter()
            .map(|(qtype, rcode)| format!(" template IN {qtype} {{\n rcode {rcode}\n }}\n"))
            .collect();
        format!("{name}.example.org:{port} {{\n bind 127.0.0.1\n{lines}}}\n")
    };
    let corefile = [
        template("fails", &[("ANY", "SERVFAIL")]),
        template("refused", &[("ANY", "REFUSED")]),
        template("a-fails", &[("A", "SERVFAIL"), ("ANY", "NOERROR")]),
        template("a-denied", &[("A", "NXDOMAIN"), ("ANY", "NOERROR")]),
        template("aaaa-fails", &[("AAAA", "SERVFAIL"), ("ANY", "NOERROR")]),
        template("aaaa-refused", &[("AAAA", "REFUSED"), ("ANY", "NOERROR")]),
        format!("example.org:{port} {{\n bind 127.0.0.1\n file zone\n}}\n"),
    ]
    .concat();
    DnsServer::start_with_files(Kind::CoreDns, &corefile, port, &[("zone", &zone)])
        .unwrap_or_else(|error| panic!("{error}"))
}

/// With `rewrite` below it, CoreDNS's reply has the rewritten name.
pub fn changed_question(difference: &Difference) -> Option<&'static str> {
    let question = |line: &Line| matches!(line, Line::Left(text) if text.starts_with("question "));
    difference
        .lines
        .iter()
        .any(question)
        .then_some("translation above rewrite: the client's question comes back")
}

pub fn check(set: &Set) {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream = upstream();
    let start = |kind| {
        let port = testkit::ports::free().expect("a port");
        let corefile = set
            .corefile
            .replace("{port}", &port.to_string())
            .replace("{upstream}", &upstream.addr().to_string());
        DnsServer::start_with_files(kind, &corefile, port, HOSTS).unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let intended = set.intended;
    for server in set.servers {
        let ip: IpAddr = server.parse().expect("an address");
        let at = |server: &DnsServer| SocketAddr::new(ip, server.addr().port());
        let options = Options {
            odd_headers: 0.03,
            odd_names: 0.01,
            near_names: 0.05,
            types: TYPES.to_vec(),
            ..Options::default()
        };
        let generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], options);
        let seed = generator.seed();
        let report = Comparison::new(("CoreDNS", at(&coredns)), ("Rhumb", at(&rhumb)))
            .lanes(if set.cached { 1 } else { 4 })
            .separate_other_opcodes()
            .options(compare::Options { cached_ttl: set.cached, ..compare::Options::default() })
            // Longer than an upstream may take, unless the set expects no answers.
            .timeout(Duration::from_millis(if set.corefile.contains(" drop ") { 500 } else { 6_000 }))
            .accept(move |difference| super::intended(difference).or_else(|| intended(difference)))
            .check(generator, QUERIES);
        println!(
            "{server}, seed {seed}: {} queries, {} silent, {:?}, accepted {:?}",
            report.queries, report.silent, report.rcodes, report.accepted
        );
        assert_eq!(report.queries, QUERIES);
    }
    if set.logged {
        // The last lines may not be in the pipe yet.
        std::thread::sleep(Duration::from_millis(500));
        // CoreDNS also truncates internal lookups to the client's size.
        let lines = |server: &DnsServer| {
            let mut lines = logs::query_lines(server.process().lines().iter().map(String::as_str));
            lines.retain(|line| !line.name.starts_with("many"));
            lines.retain(|line| line.name.len() + "_udp.".len() < super::WHOAMI_MAX_LENGTH);
            lines
        };
        let (left, right) = (lines(&coredns), lines(&rhumb));
        assert!(left.len() > QUERIES, "only {} lines", left.len());
        let differing = logs::compare(&left, &right);
        assert_eq!(differing, [] as [Line; 0]);
    }
}
