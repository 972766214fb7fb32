//! With the same Corefile CoreDNS and Rhumb produce the same answers and the same query log.
//!
//! Each plugin set gets at least 2,000 generated queries with its own seed, which is printed; set RHUMB_SEED to
//! repeat a run. docs/differences.md lists the intended differences.

mod autopath;
mod dns64;
mod families;
mod geoip;
mod loadbalance;
mod multisocket;
mod shed;
mod siit;
mod template;
mod view;

use std::time::Duration;

use testkit::compare::{self, Comparison, Difference, Line};
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind, logs};

const QUERIES: usize = 2_000;

/// A Corefile for both servers; `{port}` is filled in.
struct Set {
    corefile: &'static str,
    files: &'static [(&'static str, &'static str)],
    names: &'static [&'static str],
    malformed: f64,
    /// Sequential queries, where answers depend on earlier ones.
    in_order: bool,
    logged: bool,
}

const PLAIN: Set =
    Set { corefile: "", files: &[], names: NAMES, malformed: 0.05, in_order: false, logged: true };

const NAMES: &[&str] = &[
    ".",
    "example.org",
    "a.example.org",
    "b.example.org",
    "deep.b.example.org",
    "x.wild.example.org",
    "y.x.wild.example.org",
    "localhost",
    "sub.localhost",
    "localhost.example.org",
    "1.0.0.127.in-addr.arpa",
    "127.in-addr.arpa",
    "0.in-addr.arpa",
    "1.0.0.10.in-addr.arpa",
    "version.bind",
    "authors.bind",
    "hostname.bind",
    "id.server",
    "org",
    "elsewhere.net",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
];

fn check(set: &Set) {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let start = |kind| {
        let port = testkit::ports::free().expect("a free port");
        DnsServer::start_with_files(kind, &set.corefile.replace("{port}", &port.to_string()), port, set.files)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let options = Options { malformed: set.malformed, transfers: true, ..Options::default() };
    let generator = Generator::from_env([Pool::new(1, set.names.iter().copied())], options);
    let seed = generator.seed();
    // Most of the time is spent on unanswered queries.
    let lanes = if set.in_order { 1 } else { 24 };
    let rewrites_ttl = set.corefile.contains("rewrite continue ttl ");
    let has_templates = set.corefile.contains("template ");
    let report = Comparison::new(("CoreDNS", coredns.addr()), ("Rhumb", rhumb.addr()))
        .repeated()
        .lanes(lanes)
        // A second may pass between the two answers.
        .options(compare::Options {
            cached_ttl: set.corefile.contains(" cache "),
            ..compare::Options::default()
        })
        .timeout(if set.in_order { Duration::from_millis(120) } else { Duration::from_millis(700) })
        .accept(move |difference| {
            if rewrites_ttl && only_flags_of_opt(difference) {
                return Some("rewrite: the OPT record has no time to live");
            }
            if has_templates && truncated_for_escapes(difference) {
                return Some("template: escapes in TXT records do not count when a reply is cut");
            }
            intended(difference)
        })
        .check(generator, QUERIES);
    println!(
        "seed {seed}: {} asked, {} silent, {:?}, accepted {:?}",
        report.queries, report.silent, report.rcodes, report.accepted
    );
    assert_eq!(report.queries, QUERIES);
    if set.logged {
        // The last lines may not be in the pipe yet.
        std::thread::sleep(Duration::from_millis(500));
        // Sizes of replies differ where whoami's name is too long and in erratic's transfer of the root.
        let lines = |server: &DnsServer| {
            let mut lines = logs::query_lines(server.process().lines().iter().map(String::as_str));
            lines.retain(|line| line.name.len() + "_udp.".len() < WHOAMI_MAX_LENGTH);
            lines.retain(|line| (line.qtype.as_str(), line.name.as_str()) != ("AXFR", "."));
            if set.corefile.contains(" rewrite ") {
                lines.iter_mut().for_each(without_rewritten);
            }
            if set.corefile.contains("autopath") {
                lines.retain(|line| autopath::is_logged_equally(&line.qtype, &line.name));
            }
            lines
        };
        let (left, right) = (lines(&coredns), lines(&rhumb));
        assert!(left.len() > QUERIES / 4, "only {} lines", left.len());
        let differing = logs::compare(&left, &right);
        assert_eq!(differing, [] as [Line; 0], "seed {seed}");
    }
}

/// CoreDNS logs the original name, but type, class and sizes after `rewrite`.
fn without_rewritten(line: &mut logs::LogLine) {
    (line.qtype, line.class) = (String::new(), String::new());
    (line.size, line.reply_size) = (0, 0);
}

/// Differences listed in docs/differences.md.
fn intended(difference: &Difference) -> Option<&'static str> {
    if let Some(reason) = autopath::intended(difference) {
        return Some(reason);
    }
    // A zone name of maximum length has no room for name servers below it.
    let longest_name = difference.query.wire.len() >= 12 + WHOAMI_MAX_LENGTH + 4;
    if difference.query.description.contains(" AXFR ") && longest_name {
        return Some("erratic: names longer than 255 octets are left out");
    }
    let too_long = |line: &Line| match line {
        Line::Left(text) => {
            let name = text.strip_prefix("additional _").and_then(|rest| rest.split(' ').next());
            name.is_some_and(|name| name.len() >= WHOAMI_MAX_LENGTH)
        }
        Line::Right(_) => false,
    };
    if difference.query.description.contains(" . ")
        && difference.query.description.contains(" AXFR ")
        && difference.lines[0] == Line::Left("no answer".into())
    {
        return Some("erratic: a transfer of the root can be answered");
    }
    difference.lines.iter().all(too_long).then_some("whoami: a name longer than 255 octets is left out")
}

/// CoreDNS measures TXT records by their escaped text, and truncates replies that would have fit.
fn truncated_for_escapes(difference: &Difference) -> bool {
    let more = |line: &Line| match line {
        Line::Left(text) => text.starts_with("flags [") && text.contains("tc"),
        Line::Right(text) => !text.starts_with("rcode"),
    };
    difference.query.description.contains('\\')
        && difference.query.description.starts_with("udp ")
        && difference.lines.iter().all(more)
}

/// CoreDNS's `rewrite ttl` treats them as a TTL.
fn only_flags_of_opt(difference: &Difference) -> bool {
    matches!(&difference.lines[..], [Line::Left(left), Line::Right(right)]
        if left.starts_with("edns flags ") && right.starts_with("edns flags "))
}

/// From this length on, the name with whoami's `_udp` label exceeds 255 octets.
const WHOAMI_MAX_LENGTH: usize = 254;

const HOSTS: &[(&str, &str)] = &[(
    "hosts",
    "10.0.0.1 a.example.org B.Example.org # comment\n10.0.0.2\ta.example.org\n2001:db8::1 a.example.org v6.example.org\n\
     10.0.0.3 *.wild.example.org\n::ffff:10.0.0.4 mapped.example.org\n10.0.0.300 bad.example.org\nfe80::1%eth0 zoned.example.org\n",
)];

/// Custom formats, compared as raw lines; they omit port and duration.
#[test]
fn log_formats() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let corefile = ".:{port} {\n bind 127.0.0.1 ::1\n metadata\n log . \"FORMAT {type} {class} {name} {proto} {size} {>do} {>bufsize} {rcode} {>rflags} {rsize} {>opcode} {>id} {local} {remote} {/log/class} {/log/type} {/no/label} {unknown} } {\"\n errors\n chaos Version author\n hosts hosts\n}\n";
    let start = |kind| {
        let port = testkit::ports::free().expect("a free port");
        DnsServer::start_with_files(kind, &corefile.replace("{port}", &port.to_string()), port, HOSTS)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    for ip in ["127.0.0.1", "::1"] {
        let at = |server: &DnsServer| {
            std::net::SocketAddr::new(ip.parse().expect("an address"), server.addr().port())
        };
        let generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], Options::default());
        Comparison::new(("CoreDNS", at(&coredns)), ("Rhumb", at(&rhumb))).check(generator, QUERIES / 2);
    }
    std::thread::sleep(Duration::from_millis(500));
    let lines = |server: &DnsServer| {
        let mut lines: Vec<String> =
            server.process().lines().iter().filter(|line| line.contains("FORMAT")).cloned().collect();
        lines.sort();
        lines
    };
    let (left, right) = (lines(&coredns), lines(&rhumb));
    assert!(left.len() > QUERIES / 2);
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).take(5).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(&left, &right), only(&right, &left)), (vec![], vec![]));
    assert_eq!(left.len(), right.len());
}

#[test]
fn hosts_from_a_file() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n hosts hosts {\n  10.9.0.1 inline.example.org a.example.org\n  ttl 60\n }\n}\n",
        files: HOSTS,
        names: &[
            "a.example.org",
            "b.example.org",
            "v6.example.org",
            "x.wild.example.org",
            "y.x.wild.example.org",
            "wild.example.org",
            "mapped.example.org",
            "bad.example.org",
            "zoned.example.org",
            "inline.example.org",
            "1.0.0.10.in-addr.arpa",
            "2.0.0.10.in-addr.arpa",
            "1.0.9.10.in-addr.arpa",
            "4.0.0.10.in-addr.arpa",
            "example.org",
            ".",
            "10.in-addr.arpa",
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
            "01.0.0.10.in-addr.arpa",
        ],
        ..PLAIN
    });
}

#[test]
fn hosts_falling_through_to_whoami() {
    check(&Set {
        corefile: "example.org:{port} {\n bind 127.0.0.1\n errors\n log\n hosts hosts example.org {\n  no_reverse\n  fallthrough b.example.org wild.example.org\n }\n whoami\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n hosts {\n 127.0.0.7 elsewhere.net\n fallthrough\n fallthrough_unsupported\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}

#[test]
fn acl_by_zone_type_and_network() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n acl b.example.org wild.example.org {\n  allow type A net 127.0.0.1\n  block net 10.0.0.0/8 2001:db8::/32\n  filter type AAAA MX net 192.0.2.1 127.0.0.0/8\n  block type TXT SRV ANY net *\n  drop type HTTPS\n }\n \
                   acl {\n  block type A AAAA net 127.0.0.0/8\n  filter type NS SOA AXFR\n  block net ::/0\n }\n \
                   acl localhost {\n  DROP TYPE PTR NET 127.0.0.1\n  block\n }\n hosts hosts {\n  fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}

#[test]
fn acl_with_other_plugins() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n nsid the one\n bufsize 900\n chaos Version author\n any\n loadbalance\n header {\n  response set ra\n }\n minimal\n acl example.org {\n  allow net 127.0.0.0/30 type A\n  block\n }\n acl . {\n  filter type * net 0.0.0.0/1\n }\n hosts hosts {\n  fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}

#[test]
fn loadbalance_minimal_header() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n errors\n loadbalance\n minimal\n header {\n  response set ra\n  response clear aa\n  query set rd\n }\n hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}

#[test]
fn nsid_bufsize_chaos_any_local() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n errors\n nsid the one\n bufsize 900\n any\n chaos Version-1 \"one author\"\n local\n erratic {\n  drop 0\n  large\n }\n}\n",
        ..PLAIN
    });
}

#[test]
fn local_without_the_prefix_and_whoami() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n local {\n localhost_prefix off\n }\n whoami\n}\n",
        ..PLAIN
    });
}

#[test]
fn several_blocks_and_zones() {
    check(&Set {
        corefile: "example.org:{port} 10.0.0.0/24:{port} {\n bind 127.0.0.1\n log\n whoami\n}\n\
                   b.example.org:{port} {\n bind 127.0.0.1\n log\n errors\n metadata\n cancel 2s\n}\n\
                   empty.example.org:{port} {\n bind 127.0.0.1\n}\n\
                   localhost:{port} {\n bind 127.0.0.1\n log\n erratic {\n drop 0\n truncate 0\n }\n}\n",
        names: &[
            "example.org",
            "a.example.org",
            "b.example.org",
            "c.b.example.org",
            "empty.example.org",
            "x.empty.example.org",
            "localhost",
            "1.0.0.10.in-addr.arpa",
            "0.0.10.in-addr.arpa",
            "0.10.in-addr.arpa",
            "elsewhere.net",
            ".",
            "org",
        ],
        ..PLAIN
    });
}

#[test]
fn erratic_drops_truncates_and_delays() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n errors\n erratic {\n  drop 7\n  truncate 3\n  delay 5 5ms\n }\n}\n",
        in_order: true,
        malformed: 0.0,
        logged: false,
        ..PLAIN
    });
}

#[test]
fn log_classes_and_names() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log example.org b.example.org {\n class success\n }\n log . {\n class denial error\n }\n errors\n local\n hosts hosts {\n fallthrough example.org\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}

/// A hosts file whose answers exceed UDP sizes: many addresses, many names, long names.
fn large_hosts() -> String {
    let mut text = String::new();
    for i in 0..60 {
        text += &format!("10.1.0.{i} many.example.org few{}.example.org\n", i % 20);
        text += &format!("2001:db8::{i:x} many.example.org\n");
        text += &format!("10.2.0.1 name-{i}.of.the.same.machine.example.org\n");
        text += &format!("10.3.0.{i} {0}.{0}.{0}.example.org\n", "long".repeat(12));
    }
    text
}

#[test]
fn truncation() {
    let hosts: &'static str = large_hosts().leak();
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n hosts hosts\n}\n",
        files: vec![("hosts", hosts)].leak(),
        names: vec![
            "many.example.org",
            "few1.example.org",
            "1.0.2.10.in-addr.arpa",
            format!("{0}.{0}.{0}.example.org", "long".repeat(12)).leak(),
        ]
        .leak(),
        malformed: 0.0,
        ..PLAIN
    });
}

#[test]
fn header_changes_queries() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n header {\n  query clear rd\n  response set aa ra rd\n }\n bufsize\n cancel 1s\n timeouts {\n read 2s\n }\n chaos \"two words\" a b c\n nsid\n minimal\n local\n whoami\n}\n",
        ..PLAIN
    });
}

#[test]
fn classless_reverse_zones() {
    check(&Set {
        corefile: "10.0.0.0/27:{port} 2001:db8::/33:{port} {\n bind 127.0.0.1\n log\n hosts hosts\n}\n",
        files: HOSTS,
        names: &[
            "1.0.0.10.in-addr.arpa",
            "31.0.0.10.in-addr.arpa",
            "32.0.0.10.in-addr.arpa",
            "0.0.10.in-addr.arpa",
            "a.31.0.0.10.in-addr.arpa",
            "0.8.b.d.0.1.0.0.2.ip6.arpa",
            "7.8.b.d.0.1.0.0.2.ip6.arpa",
            "8.8.b.d.0.1.0.0.2.ip6.arpa",
            "8.b.d.0.1.0.0.2.ip6.arpa",
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
        ],
        ..PLAIN
    });
}

#[test]
fn malformed_packets_only() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n chaos Version author\n whoami\n}\n",
        malformed: 0.9,
        logged: false,
        ..PLAIN
    });
}

#[test]
fn rewrite_names() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   rewrite name old.example.org a.example.org\n \
                   rewrite name prefix pre b answer auto\n \
                   rewrite continue name suffix .example.com .example.org answer auto\n \
                   rewrite name substring .mid. .b. answer auto\n \
                   rewrite stop {\n name regex (.*)-(west|east)\\.example\\.net {1}.example.org\n \
                   answer name (.*)\\.example\\.org {1}-west.example.net\n }\n \
                   rewrite name regex ^bad(.*)$ {1}\n \
                   rewrite name suffix .arpa .arpa answer value (.*)\\.example\\.org\\. {1}.value.\n \
                   rewrite name exact many.example.org a.example.org answer auto\n \
                   hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        names: REWRITTEN,
        malformed: 0.0,
        ..PLAIN
    });
}

#[test]
fn rewrite_replies() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   rewrite continue ttl suffix example.org 30-300\n \
                   rewrite continue ttl exact b.example.org 7\n \
                   rewrite continue ttl regex ^v6 -5\n \
                   rewrite continue rcode prefix a NOERROR REFUSED\n \
                   rewrite continue rcode regex wild 0 3\n \
                   rewrite continue rcode substring example.com SERVFAIL NXDOMAIN\n \
                   rewrite type TXT A\n rewrite cname nobody.example. somebody.example.\n \
                   hosts hosts\n}\n",
        files: HOSTS,
        names: REWRITTEN,
        malformed: 0.0,
        ..PLAIN
    });
}

#[test]
fn rewrite_options() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   rewrite continue edns0 local set 0xffee abcd\n \
                   rewrite continue edns0 local set 0xffef {qname} revert\n \
                   rewrite continue edns0 local append 0xfff0 {qtype}\n \
                   rewrite continue edns0 nsid set\n rewrite continue edns0 subnet set 24 56\n \
                   rewrite edns0 local replace 0xffee bcde revert\n \
                   hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        malformed: 0.0,
        ..PLAIN
    });
}

const REWRITTEN: &[&str] = &[
    "old.example.org",
    "pre.example.org",
    "a.example.com",
    "b.example.com",
    "x.mid.example.com",
    "a-west.example.net",
    "b-east.example.net",
    "bad.example.org",
    "many.example.org",
    "a.example.org",
    "b.example.org",
    "v6.example.org",
    "x.wild.example.org",
    "1.0.0.10.in-addr.arpa",
    "elsewhere.net",
    ".",
];
