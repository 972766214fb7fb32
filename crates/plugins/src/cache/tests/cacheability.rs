//! Which replies answer their question and may be cached.

use wire::{Class, Flags, NameBuf, Opcode, Opt, Owner, Query, Rcode, Reply, Rtype, Section};

use super::super::cacheability::{Cacheability, is_common, is_reply};
use super::super::options::Options;
use crate::messages::kind::Kind;

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).expect("a name")
}

/// A reply with answers such as `a.>b.` (an alias) and `b.=A`.
fn reply(query: &Query, records: &str) -> Reply {
    let mut reply = Reply::new();
    reply.begin(query);
    for record in records.split_whitespace() {
        let (owner, data) = record.split_at(record.find(['>', '=']).expect("a kind"));
        let owner = match owner == query.question.name().to_string() {
            true => Owner::Question(0),
            false => reply.store(name(owner).as_name()),
        };
        match data.split_at(1) {
            (">", target) => reply.push(Section::Answer, owner, Rtype::CNAME, 30, name(target).wire()),
            (_, rtype) => {
                let rtype = Rtype::from_mnemonic(rtype).expect("a type");
                reply.push(Section::Answer, owner, rtype, 30, &[1, 2, 3, 4]);
            }
        }
    }
    reply
}

#[test]
fn replies_with_aliases() {
    for (what, qtype, records, answers) in [
        ("plain", "A", "a.=A", true),
        ("in another spelling", "A", "A.=A", true),
        ("of another type", "A", "a.=TXT", false),
        ("of another name", "A", "b.=A", false),
        ("one alias", "A", "a.>b. b.=A", true),
        ("in any order", "A", "b.=A a.>b.", true),
        ("three", "A", "a.>b. b.>c. c.>d. d.=A", true),
        ("leading nowhere", "A", "a.>b.", false),
        ("leading to another type", "A", "a.>b. b.=TXT", false),
        ("data at the alias does not count", "A", "a.=A a.>b.", false),
        ("twice the same", "A", "a.>b. a.>B. b.=A", true),
        ("two different", "A", "a.>b. a.>c. b.=A c.=A", false),
        ("a circle", "A", "a.>b. b.>a.", false),
        ("to itself", "A", "a.>a. a.=A", false),
        ("asked for itself", "CNAME", "a.>b.", true),
        ("asked for, of another name", "CNAME", "b.>c.", false),
        ("anything", "ANY", "a.=TXT", true),
        ("anything of another name", "ANY", "b.=TXT", false),
    ] {
        let query = Query::ask(name("a.").as_name(), Rtype::from_mnemonic(qtype).expect("a type"));
        let reply = reply(&query, records);
        let cacheability = Cacheability::of(&query, &reply, &Options::default());
        assert_eq!(cacheability.answering, answers, "{what}");
        assert_eq!(cacheability.refusal.is_none(), answers, "{what}");
    }
}

#[test]
fn classes() {
    let mut query = Query::ask(name("a.").as_name(), Rtype::A);
    let reply = reply(&query, "a.=A");
    for (class, answers) in [(Class::IN, true), (Class::CH, false), (Class::ANY, true)] {
        query.question.qclass = class;
        assert_eq!(Cacheability::of(&query, &reply, &Options::default()).answering, answers, "{class}");
    }
}

#[test]
fn kinds_and_lifetimes() {
    let query = Query::ask(name("a.").as_name(), Rtype::A);
    let soa = |reply: &mut Reply| reply.push(Section::Authority, Owner::Question(0), Rtype::SOA, 30, &[]);
    let of = |reply: &Reply| {
        let cacheability = Cacheability::of(&query, reply, &Options::default());
        (cacheability.kind, cacheability.lifetime.as_secs(), cacheability.refusal.is_none())
    };
    let mut alias = reply(&query, "a.>b.");
    assert_eq!(of(&alias), (Kind::NoError, 30, false));
    soa(&mut alias);
    assert_eq!(of(&alias), (Kind::NoData, 30, true));
    // NXDOMAIN with an answer is contradictory.
    alias.rcode = Rcode::NXDOMAIN;
    assert_eq!(of(&alias), (Kind::OtherError, 5, false));
    // An expired signature counts if the reply has DO set.
    let mut signed = reply(&query, "a.=A");
    signed.push(Section::Answer, Owner::Question(0), Rtype::RRSIG, 30, &[0; 20]);
    assert_eq!(of(&signed), (Kind::NoError, 30, true));
    signed.opt = Some(Opt::new(4096, true));
    assert_eq!(of(&signed), (Kind::OtherError, 5, false));
    let mut cut = reply(&query, "a.=A");
    cut.flags.set(Flags::TC, true);
    assert_eq!(of(&cut), (Kind::NoError, 30, false));
    let transfer = Query::ask(name("a.").as_name(), Rtype::AXFR);
    assert!(Cacheability::of(&transfer, &reply(&transfer, "a.=A"), &Options::default()).refusal.is_some());
}

/// The fast path may accept only replies that the full check would accept unchanged; tries all small replies.
#[test]
fn common_replies_need_no_change() {
    let options = Options::default();
    let types = [Rtype::A, Rtype::SRV, Rtype::SOA, Rtype::NS, Rtype::CNAME, Rtype::RRSIG, Rtype::TXT];
    let sections = [Section::Answer, Section::Authority, Section::Additional];
    let records: Vec<Option<(Rtype, Section, u32)>> = types
        .into_iter()
        .flat_map(|rtype| sections.map(|section| (rtype, section)))
        .flat_map(|(rtype, section)| [0, 30, 3600, 9000].map(|ttl| Some((rtype, section, ttl))))
        .chain([None])
        .collect();
    let mut common = 0;
    for qtype in [Rtype::A, Rtype::TXT, Rtype::AXFR] {
        let query = Query::ask(name("a.").as_name(), qtype);
        for rcode in [Rcode::NOERROR, Rcode::NXDOMAIN, Rcode::SERVFAIL, Rcode::REFUSED] {
            for first in &records {
                for second in &records {
                    for asked_owner in [true, false] {
                        let mut reply = Reply::new();
                        reply.begin_error(&query, rcode);
                        for &(rtype, section, ttl) in [first, second].into_iter().flatten() {
                            let owner = match asked_owner {
                                true => Owner::Question(0),
                                false => reply.store(name("b.").as_name()),
                            };
                            reply.push(section, owner, rtype, ttl, name("c.").wire());
                        }
                        if is_common(&query, &reply, &options) {
                            common += 1;
                            let cacheability = Cacheability::of(&query, &reply, &options);
                            let what = format!("{qtype} {rcode} {first:?} {second:?} {asked_owner}");
                            assert_eq!(cacheability.refusal, None, "{what}");
                            assert!(is_reply(&reply), "{what}");
                            assert!(reply.records().iter().all(|it| it.ttl == cacheability.ttl()), "{what}");
                        }
                    }
                }
            }
        }
    }
    assert!(common > 10, "{common}");
}

#[test]
fn replies_that_are_not_common() {
    let options = Options::default();
    let query = Query::ask(name("a.").as_name(), Rtype::A);
    type Change = fn(&mut Query, &mut Reply);
    let changes: [(&str, Change, bool); 6] = [
        ("nothing", |_, _| {}, true),
        ("cut", |_, reply| reply.flags.set(Flags::TC, true), false),
        ("no reply", |_, reply| reply.flags.set(Flags::QR, false), false),
        ("with an OPT of its own", |_, reply| reply.opt = Some(Opt::new(512, false)), false),
        ("of another class", |query, _| query.question.qclass = Class::CH, false),
        ("of another opcode", |_, reply| reply.opcode = Opcode::NOTIFY, false),
    ];
    for (what, change, expected) in changes {
        let (mut query, mut reply) = (query.clone(), reply(&query, "a.=A"));
        change(&mut query, &mut reply);
        assert_eq!(is_common(&query, &reply, &options), expected, "{what}");
    }
}
