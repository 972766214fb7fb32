//! Compares two replies and lists the differences as text.
//!
//! Name compression never counts as a difference, the order of records inside a section and a SOA's serial
//! (CoreDNS derives it from the time) only on request, and a TTL may be one second off where caches count down.

use std::fmt;

use crate::client::{Failure, Outcome};
use crate::message::{Message, Opt, Record, hex};
use crate::mnemonic;
use crate::query::GeneratedQuery;

/// What counts as a difference.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The order of records inside a section counts.
    pub strict_order: bool,
    /// A TTL may be one second off, since two caches do not fill in the same instant.
    pub cached_ttl: bool,
    /// TTLs do not count at all.
    pub any_ttl: bool,
    /// SOA serials count.
    pub serials: bool,
    /// Over TCP, closing differs from not answering.
    pub closing: bool,
}

/// One line of a difference: a part of only the left or only the right reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Left(String),
    Right(String),
}

/// A query that two servers answer differently.
#[derive(Clone, Debug)]
pub struct Difference {
    pub names: [String; 2],
    pub query: GeneratedQuery,
    pub outcomes: [Outcome; 2],
    /// Never empty.
    pub lines: Vec<Line>,
}

impl Difference {
    /// Whether both replies are truncated and differ only in their records: records are unordered, so which of
    /// them fit is random, and a server may differ from itself.
    pub fn is_of_truncation(&self) -> bool {
        const TC: u16 = 0x0200;
        let truncated =
            |outcome: &Outcome| outcome.reply().is_some_and(|reply| Message::decode(reply).bits & TC != 0);
        let a_record = |line: &Line| {
            let (Line::Left(text) | Line::Right(text)) = line;
            text.starts_with("answer ") || text.starts_with("additional ")
        };
        self.outcomes.iter().all(truncated) && self.lines.iter().all(a_record)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.query.description)?;
        writeln!(f, "  query {}", hex(&self.query.wire))?;
        writeln!(f, "  --- {}", self.names[0])?;
        writeln!(f, "  +++ {}", self.names[1])?;
        for line in &self.lines {
            match line {
                Line::Left(text) => writeln!(f, "  - {text}")?,
                Line::Right(text) => writeln!(f, "  + {text}")?,
            }
        }
        for (name, outcome) in self.names.iter().zip(&self.outcomes) {
            if let Outcome::Reply(bytes) = outcome {
                writeln!(f, "  reply of {name}: {}", hex(bytes))?;
            }
        }
        Ok(())
    }
}

/// The lines in which two outcomes differ; none if they are the same.
pub fn differences(left: &Outcome, right: &Outcome, options: &Options) -> Vec<Line> {
    match (left, right) {
        (Outcome::Reply(left), Outcome::Reply(right)) => {
            replies(&Message::decode(left), &Message::decode(right), options)
        }
        (Outcome::NoAnswer(a), Outcome::NoAnswer(b)) if a == b || !options.closing => Vec::new(),
        _ => vec![Line::Left(summary(left)), Line::Right(summary(right))],
    }
}

fn summary(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Reply(bytes) => {
            let reply = Message::decode(bytes);
            format!("a reply: {} [{}]", mnemonic::of_rcode(reply.rcode()), reply.flags())
        }
        Outcome::NoAnswer(Failure::TimedOut) => "no answer".into(),
        Outcome::NoAnswer(Failure::Closed) => "no answer, connection closed".into(),
        Outcome::NoAnswer(Failure::Refused) => "no answer, connection refused".into(),
    }
}

fn replies(left: &Message, right: &Message, options: &Options) -> Vec<Line> {
    let mut lines = Vec::new();
    let facts: [fn(&Message) -> Vec<String>; 6] = [
        |m| vec![format!("id {}", m.id)],
        |m| vec![format!("opcode {}", mnemonic::of_opcode(m.opcode()))],
        |m| vec![format!("flags [{}]", m.flags())],
        |m| vec![format!("rcode {}", mnemonic::of_rcode(m.rcode()))],
        |m| m.questions.iter().map(|q| format!("question {q}")).collect(),
        |m| m.opts.iter().flat_map(opt_facts).collect(),
    ];
    for fact in facts {
        ordered(&mut lines, fact(left), fact(right));
    }
    for (section, left, right) in [
        ("answer", &left.answer, &right.answer),
        ("authority", &left.authority, &right.authority),
        ("additional", &left.additional, &right.additional),
    ] {
        records(&mut lines, section, left, right, options);
    }
    ordered(&mut lines, rest_facts(left), rest_facts(right));
    lines
}

fn opt_facts(opt: &Opt) -> Vec<String> {
    let mut facts = vec![
        format!("edns size {}", opt.size),
        format!("edns version {}", opt.version),
        format!("edns flags {}{:#x}", if opt.flags & 0x8000 != 0 { "DO " } else { "" }, opt.flags & 0x7fff),
    ];
    facts.extend(
        opt.options.iter().map(|(code, data)| format!("edns {} {}", mnemonic::of_option(*code), hex(data))),
    );
    facts
}

fn rest_facts(message: &Message) -> Vec<String> {
    let mut facts: Vec<String> = message.broken.iter().map(|why| format!("undecodable: {why}")).collect();
    if !message.trailing.is_empty() {
        facts.push(format!("trailing bytes {}", hex(&message.trailing)));
    }
    facts
}

/// Facts whose order counts: equal ones at the same index are left out.
fn ordered(lines: &mut Vec<Line>, left: Vec<String>, right: Vec<String>) {
    for i in 0..left.len().max(right.len()) {
        let (l, r) = (left.get(i), right.get(i));
        if l != r {
            lines.extend(l.cloned().map(Line::Left));
            lines.extend(r.cloned().map(Line::Right));
        }
    }
}

fn records(lines: &mut Vec<Line>, section: &str, left: &[Record], right: &[Record], options: &Options) {
    let show = |record: &Record| format!("{section} {record}");
    if options.strict_order {
        for i in 0..left.len().max(right.len()) {
            let (l, r) = (left.get(i), right.get(i));
            if let (Some(l), Some(r)) = (l, r)
                && same(l, r, options)
            {
                continue;
            }
            lines.extend(l.map(|l| Line::Left(show(l))));
            lines.extend(r.map(|r| Line::Right(show(r))));
        }
        return;
    }
    // Pairs each left record with one right record. A record with an exact twin gets that one, so
    // that the TTL tolerance does not pair records crosswise; sections are small, and equal ones (by far
    // the most) take the shortcut.
    if left == right {
        return;
    }
    let mut unmatched: Vec<&Record> = right.iter().collect();
    let mut without_twin = Vec::new();
    for l in left {
        match unmatched.iter().position(|r| *r == l) {
            Some(i) => drop(unmatched.remove(i)),
            None => without_twin.push(l),
        }
    }
    for l in without_twin {
        match unmatched.iter().position(|r| same(l, r, options)) {
            Some(i) => drop(unmatched.remove(i)),
            None => lines.push(Line::Left(show(l))),
        }
    }
    lines.extend(unmatched.into_iter().map(|r| Line::Right(show(r))));
}

fn same(left: &Record, right: &Record, options: &Options) -> bool {
    let tolerance = u32::from(options.cached_ttl);
    (&left.owner, left.rtype, left.class) == (&right.owner, right.rtype, right.class)
        && (options.any_ttl || left.ttl.abs_diff(right.ttl) <= tolerance)
        && match (left.rtype, options.serials) {
            (6, false) => without_serial(&left.rdata) == without_serial(&right.rdata),
            _ => left.rdata == right.rdata,
        }
}

/// The data of a SOA record around its serial, which stands 20 octets before the end.
fn without_serial(rdata: &[u8]) -> (&[u8], &[u8]) {
    match rdata.len().checked_sub(20) {
        Some(serial) => (&rdata[..serial], &rdata[serial + 4..]),
        None => (rdata, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply built from parts, so that each test changes one.
    #[derive(Clone)]
    struct Reply {
        bits: u16,
        question: Vec<u8>,
        sections: [Vec<Vec<u8>>; 3],
        tail: Vec<u8>,
    }

    fn record(owner: &[u8], rtype: u8, ttl: u8, rdata: &[u8]) -> Vec<u8> {
        let head = [0, rtype, 0, 1, 0, 0, 0, ttl, 0, rdata.len() as u8];
        [owner, &head, rdata].concat()
    }

    fn opt(size: u16, rcode: u8, version: u8, dnssec_ok: bool, options: &[u8]) -> Vec<u8> {
        let [high, low] = size.to_be_bytes();
        let head = [0, 0, 41, high, low, rcode, version, u8::from(dnssec_ok) << 7, 0, 0, options.len() as u8];
        [&head, options].concat()
    }

    const OWNER: &[u8] = b"\x01a\x03org\x00";
    const POINTER: &[u8] = b"\xc0\x0c";

    fn soa(serial: u8) -> Vec<u8> {
        record(OWNER, 6, 30, &[&b"\x02ns\x00\x01h\x00"[..], &[0, 0, 0, serial], &[0; 16]].concat())
    }

    fn base() -> Reply {
        Reply {
            bits: 0x8500,
            question: [OWNER, &[0, 1, 0, 1]].concat(),
            sections: [
                vec![record(POINTER, 1, 30, &[10, 0, 0, 1]), record(POINTER, 1, 30, &[10, 0, 0, 2])],
                vec![soa(1)],
                vec![opt(1232, 0, 0, true, b"\x00\x03\x00\x01x\x00\x09\x00\x00")],
            ],
            tail: Vec::new(),
        }
    }

    impl Reply {
        fn outcome(&self) -> Outcome {
            let mut wire = vec![0, 7];
            wire.extend(self.bits.to_be_bytes());
            wire.extend([0, 1]);
            self.sections.iter().for_each(|s| wire.extend((s.len() as u16).to_be_bytes()));
            wire.extend(&self.question);
            wire.extend(self.sections.iter().flatten().flatten());
            wire.extend(&self.tail);
            Outcome::Reply(wire)
        }
    }

    fn changed(change: impl FnOnce(&mut Reply)) -> Outcome {
        let mut reply = base();
        change(&mut reply);
        reply.outcome()
    }

    fn diff(right: &Outcome, options: &Options) -> String {
        differences(&base().outcome(), right, options)
            .iter()
            .map(|line| match line {
                Line::Left(text) => format!("-{text}\n"),
                Line::Right(text) => format!("+{text}\n"),
            })
            .collect()
    }

    #[test]
    fn truncated_replies_may_hold_other_records() {
        let query = GeneratedQuery {
            wire: vec![],
            transport: crate::client::Transport::Udp,
            description: String::new(),
        };
        let truncated = |bits: u16, last: u8| {
            changed(|r| {
                r.bits |= bits;
                r.sections[0][1] = record(POINTER, 1, 30, &[10, 0, 0, last]);
            })
        };
        let of_truncation = |left: Outcome, right: Outcome| {
            let lines = differences(&left, &right, &Options::default());
            let names = ["left".into(), "right".into()];
            Difference { names, query: query.clone(), outcomes: [left, right], lines }.is_of_truncation()
        };
        assert!(of_truncation(truncated(0x0200, 2), truncated(0x0200, 3)));
        assert!(!of_truncation(truncated(0x0200, 2), truncated(0, 3)));
        assert!(!of_truncation(truncated(0, 2), truncated(0, 3)));
        assert!(!of_truncation(truncated(0x0200, 2), truncated(0x0203, 3)));
    }

    #[test]
    fn finds_every_kind_of_difference() {
        let addr = |last: u8, ttl: u8| record(POINTER, 1, ttl, &[10, 0, 0, last]);
        type Case = (Outcome, &'static str);
        let cases: Vec<Case> = vec![
            (changed(|r| r.bits |= 0x0080), "-flags [qr,aa,rd]\n+flags [qr,aa,rd,ra]\n"),
            (changed(|r| r.bits &= !0x0400), "-flags [qr,aa,rd]\n+flags [qr,rd]\n"),
            (changed(|r| r.bits |= 4 << 11), "-opcode QUERY\n+opcode NOTIFY\n"),
            (changed(|r| r.bits |= 3), "-rcode NOERROR\n+rcode NXDOMAIN\n"),
            (
                changed(|r| r.sections[2][0] = opt(1232, 1, 0, true, b"\x00\x03\x00\x01x\x00\x09\x00\x00")),
                "-rcode NOERROR\n+rcode BADVERS\n",
            ),
            (
                changed(|r| {
                    r.question[1] = b'A';
                    r.sections[0] =
                        vec![record(OWNER, 1, 30, &[10, 0, 0, 1]), record(OWNER, 1, 30, &[10, 0, 0, 2])];
                }),
                "-question a.org. IN A\n+question A.org. IN A\n",
            ),
            (
                changed(|r| r.sections[0][1] = addr(3, 30)),
                "-answer a.org. 30 IN A 10.0.0.2\n+answer a.org. 30 IN A 10.0.0.3\n",
            ),
            (changed(|r| drop(r.sections[0].pop())), "-answer a.org. 30 IN A 10.0.0.2\n"),
            (changed(|r| r.sections[0].push(addr(1, 30))), "+answer a.org. 30 IN A 10.0.0.1\n"),
            (
                changed(|r| r.sections[0][0] = addr(1, 31)),
                "-answer a.org. 30 IN A 10.0.0.1\n+answer a.org. 31 IN A 10.0.0.1\n",
            ),
            (
                changed(|r| r.sections[0][0] = record(b"\x01A\x03org\x00", 1, 30, &[10, 0, 0, 1])),
                "-answer a.org. 30 IN A 10.0.0.1\n+answer A.org. 30 IN A 10.0.0.1\n",
            ),
            (changed(|r| r.sections[2].insert(0, addr(9, 30))), "+additional a.org. 30 IN A 10.0.0.9\n"),
            (
                changed(|r| r.sections[2][0] = opt(512, 0, 0, true, b"\x00\x03\x00\x01x\x00\x09\x00\x00")),
                "-edns size 1232\n+edns size 512\n",
            ),
            (
                changed(|r| r.sections[2][0] = opt(1232, 0, 0, false, b"\x00\x03\x00\x01x\x00\x09\x00\x00")),
                "-edns flags DO 0x0\n+edns flags 0x0\n",
            ),
            (
                changed(|r| r.sections[2][0] = opt(1232, 0, 1, true, b"\x00\x03\x00\x01x\x00\x09\x00\x00")),
                "-edns version 0\n+edns version 1\n",
            ),
            (
                changed(|r| r.sections[2][0] = opt(1232, 0, 0, true, b"\x00\x09\x00\x00\x00\x03\x00\x01x")),
                "-edns NSID 78\n+edns EXPIRE \n-edns EXPIRE \n+edns NSID 78\n",
            ),
            (
                changed(|r| r.sections[2].clear()),
                "-edns size 1232\n-edns version 0\n-edns flags DO 0x0\n-edns NSID 78\n-edns EXPIRE \n",
            ),
            (changed(|r| r.tail.push(0xaa)), "+trailing bytes aa\n"),
            (Outcome::NoAnswer(Failure::TimedOut), "-a reply: NOERROR [qr,aa,rd]\n+no answer\n"),
        ];
        for (right, expected) in cases {
            assert_eq!(diff(&right, &Options::default()), expected);
        }
    }

    #[test]
    fn tolerated_differences() {
        let default = Options::default();
        let uncompressed = changed(|r| r.sections[0][0] = record(OWNER, 1, 30, &[10, 0, 0, 1]));
        let reordered = changed(|r| r.sections[0].reverse());
        let serial = changed(|r| r.sections[1][0] = soa(9));
        for right in [&base().outcome(), &uncompressed, &reordered, &serial] {
            assert_eq!(diff(right, &default), "");
        }
        let strict = Options { strict_order: true, serials: true, ..default.clone() };
        assert_eq!(diff(&uncompressed, &strict), "");
        assert_eq!(diff(&reordered, &strict).lines().count(), 4);
        assert_eq!(diff(&serial, &strict).lines().count(), 2);

        let cached = Options { cached_ttl: true, ..default };
        let ttl = |ttl| changed(|r| r.sections[0][0] = record(POINTER, 1, ttl, &[10, 0, 0, 1]));
        assert_eq!(diff(&ttl(31), &cached), "");
        assert_eq!(diff(&ttl(29), &cached), "");
        assert_eq!(diff(&ttl(32), &cached).lines().count(), 2);
        assert_eq!(diff(&ttl(32), &Options { any_ttl: true, ..Options::default() }), "");
    }

    #[test]
    fn no_answer_and_closing() {
        let (quiet, closed) = (Outcome::NoAnswer(Failure::TimedOut), Outcome::NoAnswer(Failure::Closed));
        assert_eq!(differences(&quiet, &closed, &Options::default()), []);
        let strict = Options { closing: true, ..Options::default() };
        assert_eq!(differences(&quiet, &closed, &strict).len(), 2);
        assert_eq!(differences(&closed, &closed, &strict), []);
    }

    #[test]
    fn compares_invalid_replies_by_their_bytes() {
        let cut = |n: usize| match base().outcome() {
            Outcome::Reply(mut bytes) => {
                bytes.truncate(bytes.len() - n);
                Outcome::Reply(bytes)
            }
            silent => silent,
        };
        assert_eq!(differences(&cut(1), &cut(1), &Options::default()), []);
        assert!(!differences(&cut(1), &cut(2), &Options::default()).is_empty());
    }

    #[test]
    fn printed_as_a_diff() {
        let right = changed(|r| r.bits |= 3);
        let difference = Difference {
            names: ["coredns".into(), "rhumb".into()],
            query: GeneratedQuery {
                wire: vec![0, 7],
                transport: crate::client::Transport::Udp,
                description: "udp QUERY a.org. IN A".into(),
            },
            lines: differences(&base().outcome(), &right, &Options::default()),
            outcomes: [Outcome::NoAnswer(Failure::TimedOut), Outcome::Reply(vec![1])],
        };
        assert_eq!(
            difference.to_string(),
            "udp QUERY a.org. IN A\n  query 0007\n  --- coredns\n  +++ rhumb\n  - rcode NOERROR\n  \
             + rcode NXDOMAIN\n  reply of rhumb: 01\n"
        );
    }
}
