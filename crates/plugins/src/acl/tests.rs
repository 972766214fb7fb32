use std::net::IpAddr;
use std::sync::Arc;

use corefile::reverse::Prefix;
use server::Service;
use wire::Reply;

use super::sources::Sources;
use crate::testing::harness::{ask, configure, refused, service};

/// The outcome of a query: `passed`, `dropped`, or the rcode and the info code of the extended error.
fn outcome(service: &Arc<Service>, question: &str) -> String {
    let Some(packet) = ask(service, question).packet else { return "dropped".to_owned() };
    let mut reply = Reply::new();
    reply.decode(&packet).expect("our own reply decodes");
    let errors: Vec<u16> = reply.opt.iter().flat_map(|opt| opt.options()).map(extended_error).collect();
    match errors[..] {
        [] => "passed".to_owned(),
        [info] => format!("{} {info}", reply.rcode),
        _ => panic!("several extended errors"),
    }
}

fn extended_error(found: wire::EdnsOption<'_>) -> u16 {
    assert_eq!(found.code, wire::option::EXTENDED_ERROR);
    u16::from_be_bytes(found.data.try_into().expect("a code and no text"))
}

const BLOCKED: &str = "REFUSED 15";
const FILTERED: &str = "NOERROR 17";

#[test]
fn the_first_matching_line_decides() {
    for (lines, question, expected) in [
        ("block", "a. A", BLOCKED),
        ("filter", "a. A", FILTERED),
        ("drop", "a. A", "dropped"),
        ("allow", "a. A", "passed"),
        ("", "a. A", "passed"),
        ("BLOCK TYPE A Net *", "a. A", BLOCKED),
        ("allow net 10.240.0.1\nblock", "a. A", "passed"),
        ("allow net 10.240.0.1\nblock", "a. A from=10.240.0.2", BLOCKED),
        ("block net 10.240.0.1\nallow", "a. A", BLOCKED),
        ("filter type A\nblock", "a. A", FILTERED),
        ("filter type A\nblock", "a. AAAA", BLOCKED),
        ("block type A AAAA", "a. AAAA", BLOCKED),
        ("block type A type TXT", "a. TXT", BLOCKED),
        ("block type A", "a. TXT", "passed"),
        ("block type None", "a. TXT", BLOCKED),
        ("block type A * nonsense", "a. TXT", BLOCKED),
        ("block type ANY", "a. TXT", "passed"),
        ("block type ANY", "a. ANY", BLOCKED),
        ("block net 10.0.0.0/8 type A", "a. A", BLOCKED),
        ("block net 10.0.0.0/8 type A", "a. A from=11.0.0.0", "passed"),
        ("block net 192.0.2.0/24 net 10.0.0.0/8", "a. A", BLOCKED),
        ("block net 192.0.2.0/24 * nonsense", "a. A", BLOCKED),
        ("block net 192.0.2.7/0", "a. A", BLOCKED),
        ("block net 10.0.0.0/8", "a. A from=::ffff:10.1.2.3", BLOCKED),
        ("block net 2001:db8::/32", "a. A from=2001:db8:1::2", BLOCKED),
        ("block net 2001:db8::1", "a. A from=2001:db8::2", "passed"),
        // A network matches its own family only.
        ("block net ::/0", "a. A", "passed"),
        ("block net ::/0", "a. A from=::1", BLOCKED),
        ("block net 0.0.0.0/0", "a. A from=::1", "passed"),
        // docs/differences.md: in CoreDNS this line matches nobody.
        ("block net ::ffff:10.0.0.0/104", "a. A", BLOCKED),
        ("block net ::ffff:10.0.0.0/104", "a. A from=11.0.0.1", "passed"),
    ] {
        let got = outcome(&service(&format!(". {{\nacl {{\n{lines}\n}}\nwhoami\n}}")), question);
        assert_eq!(got, expected, "{question}\n{lines}");
    }
}

#[test]
fn zones_and_several_rules() {
    let corefile = "example.org {
        acl a.example.org b.example.org {
            allow type TXT
            block
        }
        acl {
            filter type TXT MX
        }
        acl sub.b.example.org {
            drop
        }
        acl elsewhere.net {
            block
        }
        whoami
    }";
    let service = service(corefile);
    for (question, expected) in [
        ("example.org A", "passed"),
        ("example.org TXT", FILTERED),
        ("x.A.example.org A", BLOCKED),
        // Allowed by the first rule; no other is checked.
        ("a.example.org TXT", "passed"),
        ("a.example.org MX", BLOCKED),
        ("ba.example.org MX", FILTERED),
        ("sub.b.example.org A", BLOCKED),
        ("c.example.org A", "passed"),
    ] {
        assert_eq!(outcome(&service, question), expected, "{question}");
    }
}

#[test]
fn explain_shows_the_deciding_line() {
    let service = service(". {\nacl {\nallow type TXT\nblock net 10.0.0.0/8 type A\n}\nwhoami\n}");
    for (question, expected) in [
        ("a. A", "10.240.0.1: block net 10.0.0.0/8 type A (Corefile:4)"),
        ("a. TXT from=::1", "::1: allow type TXT (Corefile:3)"),
        ("a. MX", "no acl rule matches 10.240.0.1 and type MX; default is allow"),
    ] {
        let notes = ask(&service, question).notes;
        let found: Vec<&str> =
            notes.iter().filter(|note| note.plugin == "acl").map(|note| note.text.as_str()).collect();
        assert_eq!(found.first(), Some(&expected), "{question}");
    }
}

#[test]
fn complete_replies() {
    for (action, question, expected) in [
        ("block", "A.example.org A rd cd", "REFUSED qr,rd,cd\nopt: 4096 do 15:\0\u{f}\n"),
        ("filter", "a.example.org A", "NOERROR qr\nopt: 4096 do 15:\0\u{11}\n"),
        ("filter", "a.example.org A size=1400", "NOERROR qr\nopt: 1400 do 15:\0\u{11}\n"),
        ("block", "a.example.org A size=1400 do", "REFUSED qr\nopt: 1400 do 15:\0\u{f}\n"),
    ] {
        let service = service(&format!(". {{\nacl {{\n{action}\n}}\n}}"));
        assert_eq!(crate::testing::harness::answer(&service, question), expected, "{action} {question}");
    }
}

#[test]
fn networks_become_ranges() {
    let networks: Vec<Prefix> = [
        "10.0.0.0/24",
        "10.0.1.0/24",
        "10.0.0.128/25",
        "255.255.255.255/32",
        "2001:db8::/64",
        "2001:db8::1/128",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
    ]
    .iter()
    .map(|text| Prefix::parse(text).expect("a network"))
    .collect();
    let sources = Sources::new(&networks);
    for (client, expected) in [
        ("9.255.255.255", false),
        ("10.0.0.0", true),
        ("10.0.0.255", true),
        ("10.0.1.255", true),
        ("10.0.2.0", false),
        ("255.255.255.254", false),
        ("255.255.255.255", true),
        ("::", false),
        ("2001:db8::2", true),
        ("2001:db8:0:1::", false),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", false),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
    ] {
        assert_eq!(sources.contains(client.parse::<IpAddr>().expect("an address")), expected, "{client}");
    }
    assert!(!Sources::new(&[]).contains(IpAddr::from([0, 0, 0, 0])));
}

#[test]
fn queries_are_counted() {
    let corefile = "example.org:7150 {
        acl . b.example.org {
            block type A
            filter type MX
            drop type TXT
            allow type SRV
        }
        whoami
    }";
    let service = service(corefile);
    for question in
        ["example.org A", "x.b.example.org A", "example.org MX", "b.example.org TXT", "b.example.org SRV"]
    {
        ask(&service, question);
    }
    ask(&service, "b.example.org AAAA");
    let text = metrics::registry().encode();
    let server = "server=\"dns://:7150\",view=\"\"";
    for line in [
        format!("coredns_acl_allowed_requests_total{{{server}}} 2"),
        format!("coredns_acl_blocked_requests_total{{{server},zone=\".\"}} 1"),
        format!("coredns_acl_blocked_requests_total{{{server},zone=\"b.example.org.\"}} 1"),
        format!("coredns_acl_filtered_requests_total{{{server},zone=\".\"}} 1"),
        format!("coredns_acl_dropped_requests_total{{{server},zone=\"b.example.org.\"}} 1"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    // A series without an event does not exist.
    let never = format!("coredns_acl_dropped_requests_total{{{server},zone=\".\"}}");
    assert!(!text.contains(&never));
}

#[test]
fn options() {
    for body in [
        "acl",
        "acl\nacl",
        "acl {\n}",
        "acl example.org a.example.org {\n}",
        "acl {\n allow\n Block\n FILTER\n drop\n}",
        "acl {\n block type NSAP-PTR HTTPS net 10.0.0.1/8 2001:db8::1\n}",
        "acl {\n block net 10.0.0.0/08 type * x\n}",
    ] {
        assert!(configure(&format!(". {{\n{body}\n}}")).is_ok(), "{body}");
    }
    for (line, error) in [
        ("deny", "unexpected token \"deny\"; expect 'allow', 'block', 'filter' or 'drop'"),
        ("block A", "unexpected token \"A\"; expect 'type | net'"),
        ("block type", "no token specified in \"type\" section"),
        ("block NET", "no token specified in \"net\" section"),
        ("block type net 10.0.0.0/8", "no token specified in \"type\" section"),
        ("block type A net", "no token specified in \"net\" section"),
        ("block type a", "unexpected token \"a\"; expect legal QTYPE"),
        ("block type TYPE65", "unexpected token \"TYPE65\"; expect legal QTYPE"),
        ("block type A,AAAA", "unexpected token \"A,AAAA\"; expect legal QTYPE"),
        ("block net 10.0.0.256", "illegal CIDR notation \"10.0.0.256/32\""),
        ("block net 2001:db8:::1", "illegal CIDR notation \"2001:db8:::1/128\""),
        ("block net 10.0.0.0/33", "illegal CIDR notation \"10.0.0.0/33\""),
        ("block net 10.0.0.0/+8", "illegal CIDR notation \"10.0.0.0/+8\""),
        ("block net 10.0.0.0/", "illegal CIDR notation \"10.0.0.0/\""),
        ("block net example.org", "illegal CIDR notation \"example.org/32\""),
        ("block net fe80::1%eth0", "illegal CIDR notation \"fe80::1%eth0/128\""),
    ] {
        let at = "plugin/acl: Corefile:3 - Error during parsing: ";
        assert_eq!(refused(&format!(". {{\nacl {{\n{line}\n}}\n}}")), format!("{at}{error}"));
    }
}
