use server::log as process_log;
use wire::{Owner, Query, Reply};

use super::capture::Capture;
use super::format::{COMMON, Format, Piece, Value, combined};
use crate::messages::kind::{Class, Kind};
use crate::testing::harness::{ask, check, configure, refused, service};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for body in [
        "log",
        "log .",
        "log example.org",
        "log example.org example.net",
        "log example.org \"{name}\"",
        "log \"{name}\"",
        "log example.org {common}",
        "log example.org {combined}",
        "log {|}",
        "log {| class denial|}",
        "log {| class denial error|}",
        "log {| class all|}",
        "log . {| class denial| class error|}",
        "log . a..b \"{x}\"",
        "log a..b",
        "log . {combined} {| class denial|}",
        "log|log",
        "log a b c {|}",
        "log example.org|log example.net {| class error|}",
    ] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
    for (body, error) in [
        (
            "log {| class|}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'class'",
        ),
        ("log {| class abc|}", "invalid Class: abc"),
        ("log {| class denial abc|}", "invalid Class: abc"),
        ("log {| klass denial|}", "Corefile:3 - Error during parsing: unknown property 'klass'"),
        ("log {| unknown|}", "Corefile:3 - Error during parsing: unknown property 'unknown'"),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/log: {error}"), "{body}");
    }
}

/// Each line is CoreDNS 1.15's for the same Corefile and query, except for the client and the duration.
#[test]
fn lines() {
    let log = Capture::take();
    for (body, question, line) in [
        (
            "log|whoami",
            "L1.Example.ORG A",
            r#"10.240.0.1:40212 - 4711 "A IN l1.example.org. udp 32 false 512" NOERROR qr,aa 100 "#,
        ),
        (
            "log|whoami",
            "l2.example.org A do rd cd",
            r#"10.240.0.1:40212 - 4711 "A IN l2.example.org. udp 43 true 4096" NOERROR qr,aa,rd,cd 100 "#,
        ),
        // CoreDNS has removed the option from the query when it writes the line.
        (
            "log|whoami",
            "l3.example.org A size=100 nsid tcp",
            r#"10.240.0.1:40212 - 4711 "A IN l3.example.org. tcp 43 false 65535" NOERROR qr,aa 100 "#,
        ),
        (
            "log|whoami",
            "l4.example.org A from=2001:db8::1",
            r#"[2001:db8::1]:40212 - 4711 "A IN l4.example.org. udp"#,
        ),
        // After a failure the query still has its option.
        (
            "log",
            r"l5\.x.example.org TXT nsid rd",
            r#"10.240.0.1:40212 - 4711 "TXT IN l5\.x.example.org. udp 49 false 4096" SERVFAIL qr,rd 34 "#,
        ),
        (
            "log . \"{local} {proto} {type} {/x/y} {>opcode} {foo} } {\"|whoami",
            "l6.example.org A",
            "127.0.0.1 udp A - 0 {foo} } {",
        ),
        ("log . {combined}|whoami", "l7.example.org A", r#"s "0""#),
        (
            "log example.org \"{name} first\"|log . \"{name} second\"|whoami",
            "l8.example.org A",
            "l8.example.org. first",
        ),
        (
            "log example.org \"{name} first\"|log . \"{name} second\"|whoami",
            "l8.example.net A",
            "l8.example.net. second",
        ),
        (
            "metadata|log . \"{name} {/log/class} {/log/type}\"|whoami",
            "l9.example.org A",
            "l9.example.org. success NOERROR",
        ),
        (
            "metadata|log . \"{name} {/log/class} {/log/type}\"",
            "l10.example.org A",
            "l10.example.org. error SERVERERROR",
        ),
        ("log . \"{name} {/log/class}\"|whoami", "l11.example.org A", "l11.example.org. -"),
        (
            "log . \"{name} {rcode} {>rflags} {rsize} {size}\"|erratic {| drop 1|}",
            "l12.example.org A nsid",
            "l12.example.org. - - 0 48",
        ),
        (
            "log|whoami",
            "l13.example.org TXT notify rd",
            r#""TXT IN l13.example.org. udp 33 false 512" NOERROR qr,aa 103 "#,
        ),
        // Here the reply has an OPT of its own, so the query keeps its options.
        ("log|nsid foo|whoami", "l14.example.org A nsid", r#"udp 48 false 4096" NOERROR qr,aa 103 "#),
    ] {
        log.lines("");
        ask(&service(&corefile(body)), question);
        let lines = log.lines("");
        let found: Vec<&String> = lines.iter().filter(|got| got.contains(line)).collect();
        assert_eq!(found.len(), 1, "{question}\nwanted {line}\ngot    {lines:?}");
        assert!(found[0].starts_with("[INFO] "), "{}", found[0]);
    }
}

#[test]
fn not_logged() {
    let log = Capture::take();
    for (body, question) in [
        ("log example.net|whoami", "n1.example.org A"),
        ("log {| class denial error|}|whoami", "n1.example.org A"),
        ("log {| class success|}", "n1.example.org A"),
        ("log a..b|whoami", "n1.example.org A"),
    ] {
        ask(&service(&corefile(body)), question);
        assert_eq!(log.lines("n1.example.org"), Vec::<String>::new(), "{body}");
    }
    for class in ["success", "denial success", "all", "error all"] {
        ask(&service(&corefile(&format!("log {{| class {class}|}}|whoami"))), "n2.example.org A");
        assert_eq!(log.lines("n2.example.org").len(), 1, "{class}");
    }
}

/// Truncation shows in the flags; the size is the one before it.
#[test]
fn truncation() {
    let log = Capture::take();
    let addresses: String = (1..=40).map(|i| format!("10.0.0.{i} t1.example.org|")).collect();
    let service = service(&corefile(&format!("log|hosts {{|{addresses}}}")));
    for (question, line) in [
        ("t1.example.org A", "udp 32 false 512\" NOERROR qr,aa,tc 1232 "),
        ("t1.example.org A size=4096", "udp 43 false 4096\" NOERROR qr,aa 1232 "),
        ("t1.example.org A tcp", "tcp 32 false 65535\" NOERROR qr,aa 1232 "),
    ] {
        ask(&service, question);
        let lines = log.lines("t1.example.org");
        assert!(matches!(&lines[..], [got] if got.contains(line)), "wanted {line}\ngot    {lines:?}");
    }
}

#[test]
fn json() {
    let log = Capture::take();
    process_log::set_format(process_log::Format::Json);
    ask(&service(&corefile("log . \"{name} {rcode}\"|whoami")), "j1.example.org A");
    ask(&service(&corefile("log . \"{name} {rcode}\"|erratic {| drop 1|}")), "j2.example.org A");
    let lines = log.lines("\"plugin\":\"log\"");
    process_log::set_format(process_log::Format::Text);
    let [first, second] = &lines[..] else { panic!("{lines:?}") };
    assert!(second.contains("\"msg\":\"j2.example.org. -\""), "{second}");
    assert!(second.contains("\"rcode\":null,\"response_size\":0,"), "{second}");
    let after_time = first.split_once("\",\"level\"").unwrap().1;
    let (members, duration) = after_time.split_once(",\"duration_seconds\":").unwrap();
    assert_eq!(
        members,
        ":\"INFO\",\"msg\":\"j1.example.org. NOERROR\",\"plugin\":\"log\",\"client_ip\":\"10.240.0.1\",\
         \"client_port\":40212,\"qname\":\"j1.example.org.\",\"qtype\":\"A\",\"qclass\":\"IN\",\"protocol\":\"udp\",\
         \"id\":4711,\"opcode\":0,\"request_size\":32,\"dnssec_ok\":false,\"bufsize\":512,\"rcode\":\"NOERROR\",\
         \"response_size\":100"
    );
    assert!(duration.trim_end_matches('}').parse::<f64>().is_ok(), "{duration}");
}

#[test]
fn is_part_of_the_chain() {
    let _log = Capture::take();
    check(&corefile("log"), "example.org A", "SERVFAIL qr");
    let answered = ask(&service(&corefile("log")), "example.org A");
    assert_eq!(answered.error.as_deref(), Some("plugin/log: no next plugin found"));
}

#[test]
fn formats() {
    let literal = |text: &str| Piece::Literal(text.into());
    for (text, pieces) in [
        ("", vec![]),
        ("plain", vec![literal("plain")]),
        ("A {type}", vec![literal("A "), Piece::Value(Value::Type)]),
        ("{ {name} }", vec![literal("{ "), Piece::Value(Value::Name), literal(" }")]),
        ("A } {foo}", vec![literal("A } {foo}")]),
        ("{foo{>id}", vec![literal("{foo"), Piece::Value(Value::Id)]),
        ("{/a/b}{/}", vec![Piece::Metadata("a/b".into()), Piece::Metadata("".into())]),
        ("{TYPE} {", vec![literal("{TYPE} {")]),
    ] {
        assert_eq!(Format::parse(text).pieces, pieces, "{text}");
    }
    let values = |text: &str| {
        Format::parse(text).pieces.iter().filter(|piece| matches!(piece, Piece::Value(_))).count()
    };
    assert_eq!((values(COMMON), values(&combined())), (14, 15));
}

#[test]
fn kinds() {
    use server::Outcome::{Drop, Failure, Records};
    use wire::Section::{Answer, Authority};
    use wire::{NameBuf, Opcode, Rcode, Rtype};
    let name = NameBuf::parse("example.org.").unwrap();
    let old = [0u8, 1, 8, 2, 0, 0, 0, 60, 0, 0, 0, 9, 0, 0, 0, 8, 0, 1, 0];
    for (outcome, qtype, opcode, rcode, records, kind, class) in [
        (
            Records,
            Rtype::A,
            Opcode::QUERY,
            Rcode::NOERROR,
            &[(Answer, Rtype::A)][..],
            Kind::NoError,
            Class::Success,
        ),
        (Records, Rtype::A, Opcode::QUERY, Rcode::NOERROR, &[], Kind::NoError, Class::Success),
        (
            Records,
            Rtype::A,
            Opcode::QUERY,
            Rcode::NOERROR,
            &[(Authority, Rtype::SOA)],
            Kind::NoData,
            Class::Denial,
        ),
        (
            Records,
            Rtype::A,
            Opcode::QUERY,
            Rcode::NOERROR,
            &[(Authority, Rtype::NS)],
            Kind::Delegation,
            Class::Success,
        ),
        (
            Records,
            Rtype::A,
            Opcode::QUERY,
            Rcode::NXDOMAIN,
            &[(Authority, Rtype::SOA)],
            Kind::NameError,
            Class::Denial,
        ),
        (
            Records,
            Rtype::A,
            Opcode::QUERY,
            Rcode::NXDOMAIN,
            &[(Answer, Rtype::CNAME)],
            Kind::OtherError,
            Class::Error,
        ),
        (Records, Rtype::A, Opcode::QUERY, Rcode::SERVFAIL, &[], Kind::ServerError, Class::Error),
        (Failure, Rtype::A, Opcode::QUERY, Rcode::NOTIMP, &[], Kind::ServerError, Class::Error),
        (Failure, Rtype::A, Opcode::QUERY, Rcode::REFUSED, &[], Kind::OtherError, Class::Error),
        (
            Records,
            Rtype::AXFR,
            Opcode::QUERY,
            Rcode::NOERROR,
            &[(Answer, Rtype::SOA)],
            Kind::Meta,
            Class::Error,
        ),
        (Records, Rtype::SOA, Opcode::NOTIFY, Rcode::NOERROR, &[], Kind::Meta, Class::Error),
        (Records, Rtype::A, Opcode::UPDATE, Rcode::NOERROR, &[], Kind::Update, Class::Error),
        (
            Records,
            Rtype::A,
            Opcode::QUERY,
            Rcode::NOERROR,
            &[(Answer, Rtype::RRSIG)],
            Kind::OtherError,
            Class::Error,
        ),
        (Drop, Rtype::A, Opcode::QUERY, Rcode::NOERROR, &[], Kind::OtherError, Class::Error),
    ] {
        let mut query = Query::ask(name.as_name(), qtype);
        query.edns =
            Some(wire::Edns { udp_size: 4096, version: 0, extended_rcode: 0, flags: wire::Edns::DO });
        let mut reply = Reply::new();
        (reply.opcode, reply.rcode) = (opcode, rcode);
        for (section, rtype) in records {
            reply.push(*section, Owner::Question(0), *rtype, 60, &old);
        }
        let got = Kind::of(outcome, &query, &reply);
        assert_eq!((got, got.class()), (kind, class), "{qtype} {rcode} {records:?}");
        assert_eq!(Kind::from_number(got.number()), Some(got));
    }
}
