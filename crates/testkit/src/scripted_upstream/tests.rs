use std::time::{Duration, Instant};

use super::step::FORGED;
use super::*;
use crate::client::{self, Failure, Outcome, Transport};
use crate::message::Message;
use crate::name::Name;

const LONG: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(150);

fn query(name: &str, qtype: u16, id: u16, size: Option<u16>) -> Vec<u8> {
    let mut packet = id.to_be_bytes().to_vec();
    packet.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(size.is_some())]);
    packet.extend_from_slice(Name::parse(name).unwrap().wire());
    packet.extend(qtype.to_be_bytes());
    packet.extend([0, 1]);
    if let Some(size) = size {
        packet.extend([0, 0, 41]);
        packet.extend(size.to_be_bytes());
        packet.extend([0, 0, 0x80, 0, 0, 0]);
    }
    packet
}

fn query_upstream(upstream: &ScriptedUpstream, transport: Transport, name: &str, wait: Duration) -> Outcome {
    client::query(upstream.addr(), transport, &query(name, 1, 7, None), wait).unwrap()
}

/// The outcome in one line: code, flags and answers, or the failure.
fn describe(outcome: &Outcome) -> String {
    let bytes = match outcome {
        Outcome::NoAnswer(silence) => return format!("{silence:?}"),
        Outcome::Reply(bytes) => bytes,
    };
    let message = Message::decode(bytes);
    let answers: Vec<String> = message.answer.iter().take(2).map(ToString::to_string).collect();
    let questions: Vec<String> = message.questions.iter().map(|question| question.name.to_string()).collect();
    let broken = if message.broken.is_some() { " broken" } else { "" };
    let id = if message.id == 7 { "" } else { " id" };
    format!("{} {} {} {answers:?}{id}{broken}", message.rcode(), message.flags(), questions.join(" "))
}

#[test]
fn steps() {
    let good = || Step::address("192.0.2.1", 60).unwrap();
    let full = Reply::rcode(3).authority("example. 30 IN SOA ns. host. 1 2 3 4 30").unwrap();
    let udp_and_tcp = [
        ("good", good(), r#"0 qr,rd,ra Good.example. ["Good.example. 60 IN A 192.0.2.1"]"#, None),
        ("full", Step::Reply(full), "3 qr,rd,ra Full.example. []", None),
        ("lame", Step::Lame, "0 qr,rd,ra Lame.example. []", None),
        ("servfail", Step::Servfail, "2 qr,rd,ra Servfail.example. []", None),
        ("refused", Step::Refused, "5 qr,rd,ra Refused.example. []", None),
        ("notimp", Step::Rcode(4), "4 qr,rd,ra Notimp.example. []", None),
        ("silence", Step::Silence, "TimedOut", None),
        ("late", good().delayed(Duration::from_secs(1)), "TimedOut", None),
        (
            "tc",
            good().truncated(),
            "0 qr,tc,rd,ra Tc.example. []",
            Some(r#"0 qr,rd,ra Tc.example. ["Tc.example. 60 IN A 192.0.2.1"]"#),
        ),
        (
            "wrongid",
            Step::WrongId,
            r#"0 qr,rd,ra Wrongid.example. ["Wrongid.example. 3600 IN A 203.0.113.66"] id"#,
            None,
        ),
        (
            "wrongq",
            Step::WrongQuestion,
            r#"0 qr,rd,ra xrongq.example. ["xrongq.example. 3600 IN A 203.0.113.66"]"#,
            None,
        ),
        ("wrongport", Step::WrongPort, "TimedOut", None),
        ("lower", Step::Lame.in_lower_case(), "0 qr,rd,ra lower.example. []", None),
        ("broken", Step::Broken, "0 qr,rd,ra Broken.example. [] broken", None),
        ("all", Step::All(vec![Step::Lame, good()]), "0 qr,rd,ra All.example. []", None),
        ("close", Step::Close, "TimedOut", Some("Closed")),
        (
            "drip",
            good().dripping(Duration::from_millis(1)),
            r#"0 qr,rd,ra Drip.example. ["Drip.example. 60 IN A 192.0.2.1"]"#,
            None,
        ),
        (
            "oversize",
            Step::Oversize,
            r#"0 qr,rd,ra Oversize.example. ["Oversize.example. 300 IN A 198.18.0.0", "Oversize.example. 300 IN A 198.18.0.1"]"#,
            None,
        ),
    ];
    let upstream = ScriptedUpstream::start().unwrap();
    for (label, step, udp, tcp) in udp_and_tcp {
        upstream.on(label, [step]);
        let mut name = format!("{label}.example.");
        name[..1].make_ascii_uppercase();
        for (transport, expected) in [(Transport::Udp, udp), (Transport::Tcp, tcp.unwrap_or(udp))] {
            let wait = if expected == "TimedOut" { SHORT } else { LONG };
            assert_eq!(
                describe(&query_upstream(&upstream, transport, &name, wait)),
                expected,
                "{label} {transport:?}"
            );
        }
        assert_eq!(upstream.count(&name), 2, "{label}");
    }
    for (label, step, octets) in [("garbage", Step::Garbage, 40), ("short", Step::Short, 2)] {
        upstream.on(label, [step]);
        let outcome = query_upstream(&upstream, Transport::Udp, label, LONG);
        assert_eq!(outcome.reply().unwrap().len(), octets, "{label}");
    }
    assert_eq!(FORGED, [203, 0, 113, 66]);
}

#[test]
fn scripts_advance_and_whole_names_take_precedence() {
    let upstream = ScriptedUpstream::start().unwrap();
    upstream.on("www", [Step::Servfail, Step::Lame]);
    upstream.on("www.example.org", [Step::Rcode(3)]);
    upstream.otherwise([Step::Rcode(4)]);
    let rcodes =
        ["www.example.com.", "WWW.example.net.", "www.example.com.", "www.EXAMPLE.org.", "other.", "."].map(
            |name| {
                Message::decode(query_upstream(&upstream, Transport::Udp, name, LONG).reply().unwrap())
                    .rcode()
            },
        );
    assert_eq!(rcodes, [2, 0, 0, 3, 4, 4]);
    assert_eq!((upstream.total(), upstream.count("www.example.com")), (6, 2));
    let seen = upstream.seen();
    assert_eq!((seen[1].name.as_str(), seen[1].qtype, seen[1].id), ("WWW.example.net.", 1, 7));
    assert!(seen.windows(2).all(|pair| pair[0].at <= pair[1].at));
    upstream.forget();
    assert_eq!(upstream.total(), 0);
}

#[test]
fn edns_and_types() {
    let upstream = ScriptedUpstream::start().unwrap();
    let both = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    upstream.on("both", [Step::Addresses(both.to_vec(), 5)]);
    upstream.on("big", [Step::Oversize]);
    let reply = |name, qtype, size| {
        let outcome = client::udp(upstream.addr(), &query(name, qtype, 1, size), LONG, 0).unwrap();
        outcome.reply().unwrap().to_vec()
    };
    for (qtype, answers) in [(1, 1), (28, 1), (16, 0)] {
        assert_eq!(Message::decode(&reply("both.", qtype, None)).answer.len(), answers, "{qtype}");
    }
    let with_opt = Message::decode(&reply("both.", 1, Some(1232)));
    assert_eq!((with_opt.opts[0].size, with_opt.opts[0].flags), (1232, 0x8000));
    assert!(reply("big.", 1, None).len() > 512);
    assert!(reply("big.", 1, Some(4096)).len() > 4096);
}

#[test]
fn delays_do_not_block_other_queries() {
    let upstream = ScriptedUpstream::start().unwrap();
    let late = Step::Lame.delayed(Duration::from_millis(300));
    upstream.on("slow", [late]);
    upstream.on("fast", [Step::Lame]);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                assert!(query_upstream(&upstream, Transport::Udp, "slow.", LONG).reply().is_some())
            });
        }
        assert!(query_upstream(&upstream, Transport::Udp, "fast.", LONG).reply().is_some());
        assert!(start.elapsed() < Duration::from_millis(250));
    });
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(1500), "{took:?}");
}

#[test]
fn switch_off_silence_and_switch_on() {
    let upstream = ScriptedUpstream::start().unwrap();
    upstream.otherwise([Step::Lame]);
    for round in 0..3 {
        upstream.switch_off();
        for transport in [Transport::Udp, Transport::Tcp] {
            let outcome = query_upstream(&upstream, transport, "a.", LONG);
            assert_eq!(outcome, Outcome::NoAnswer(Failure::Refused), "{round} {transport:?}");
        }
        upstream.switch_on().unwrap();
        for transport in [Transport::Udp, Transport::Tcp] {
            assert!(
                query_upstream(&upstream, transport, "a.", LONG).reply().is_some(),
                "{round} {transport:?}"
            );
        }
    }
    upstream.silence();
    assert_eq!(describe(&query_upstream(&upstream, Transport::Udp, "a.", SHORT)), "TimedOut");
    upstream.switch_on().unwrap();
    assert!(query_upstream(&upstream, Transport::Udp, "a.", LONG).reply().is_some());
    assert_eq!(upstream.total(), 8);
}

#[test]
fn connections_can_be_closed() {
    let upstream = ScriptedUpstream::start().unwrap();
    upstream.otherwise([Step::Lame]);
    let queries = vec![query("a.", 1, 7, None); 3];
    let answered =
        |upstream: &ScriptedUpstream| client::pipeline(upstream.addr(), &queries, LONG).unwrap().len();
    assert_eq!(answered(&upstream), 3);
    upstream.accept(Accept::CloseAfterAnswer);
    assert_eq!(answered(&upstream), 1);
    upstream.accept(Accept::Close);
    assert_eq!(describe(&query_upstream(&upstream, Transport::Tcp, "a.", LONG)), "Closed");
}

#[test]
fn records_from_text() {
    for good in [
        "www.example. 300 IN A 192.0.2.1",
        "www.example. 300 IN AAAA 2001:db8::1",
        "www.example. 300 IN CNAME other.example.",
        "www.example. 300 IN MX 10 mail.example.",
        "www.example. 300 IN SRV 1 2 53 ns.example.",
        "www.example. 300 IN SOA ns.example. host.example. 1 2 3 4 5",
        "www.example. 300 IN TXT \"one\" \"two\"",
        "www.example. 300 IN TYPE4711 \\# 2 beef",
    ] {
        let record = Record::parse(good).unwrap();
        let shown = crate::message::Record {
            owner: record.owner.unwrap(),
            rtype: record.rtype,
            class: 1,
            ttl: record.ttl,
            rdata: record.data,
        };
        assert_eq!(shown.to_string(), good);
    }
    for bad in
        ["", "a. 1 IN", "a. x IN A 1.2.3.4", "a. 1 IN A 1.2.3", "a. 1 IN NOPE x", "a. 1 IN TYPE9 \\# 2 be"]
    {
        assert!(Record::parse(bad).is_err(), "{bad}");
    }
}
