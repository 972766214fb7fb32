use super::*;
use crate::{ParseOutcome, Question};

fn question(name: &str, qtype: Rtype) -> Query {
    Query::ask(NameBuf::parse(name).unwrap().as_name(), qtype)
}

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).unwrap()
}

/// Encodes and decodes a reply; returns the decoded records as text.
fn round_trip(reply: &Reply, query: &Query, limit: usize) -> (Vec<String>, Encoded, Vec<u8>) {
    let mut out = Vec::new();
    let encoded = reply.encode(query, limit, &mut out);
    assert!(out.len() <= limit, "{} > {limit}", out.len());
    let mut decoded = Reply::new();
    let (id, question) = decoded.decode(&out).expect("an encoded reply decodes");
    assert_eq!(id, query.id);
    assert_eq!(question, query.question);
    let text = decoded
        .records()
        .iter()
        .map(|r| {
            format!("{} {} {} {:?}", decoded.owner(r, query.question.name()), r.ttl, r.rtype, decoded.data(r))
        })
        .collect();
    (text, encoded, out)
}

#[test]
fn owner_of_addresses_is_a_pointer() {
    let query = question("Web.example.ORG.", Rtype::A);
    let mut reply = Reply::new();
    reply.begin(&query);
    reply.flags.set(Flags::AA, true);
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, 30, &[10, 0, 0, 1]);
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, 30, &[10, 0, 0, 2]);
    let (text, encoded, out) = round_trip(&reply, &query, 512);
    assert_eq!(text, ["Web.example.ORG. 30 A [10, 0, 0, 1]", "Web.example.ORG. 30 A [10, 0, 0, 2]"]);
    assert!(!encoded.truncated);
    assert_eq!(out.len(), 12 + 17 + 4 + 2 * 16);
    assert_eq!(reply.plain_len(&query.question), 12 + 17 + 4 + 2 * (17 + 14));
    assert_eq!(&out[2..4], &[0x85, 0x00]);
}

#[test]
fn sections_keep_their_order_whatever_the_order_of_pushing() {
    let query = question("a.org.", Rtype::A);
    let mut reply = Reply::new();
    reply.begin(&query);
    reply.push(Section::Additional, Owner::Question(0), Rtype::A, 1, &[1; 4]);
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, 2, &[2; 4]);
    reply.push(Section::Authority, Owner::Question(2), Rtype::NS, 3, &[0]);
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, 4, &[4; 4]);
    let ttls: Vec<u32> = reply.records().iter().map(|r| r.ttl).collect();
    assert_eq!(ttls, [2, 4, 3, 1]);
    reply.retain(Section::Answer, |record| record.ttl != 2);
    let ttls: Vec<u32> = reply.records().iter().map(|r| r.ttl).collect();
    assert_eq!(ttls, [4, 3, 1]);
    assert_eq!(reply.section(Section::Authority)[0].rtype, Rtype::NS);
}

#[test]
fn truncation_keeps_records_that_fit() {
    let query = question("many.example.org.", Rtype::A);
    let mut reply = Reply::new();
    reply.begin(&query);
    for i in 0..60u8 {
        reply.push(Section::Answer, Owner::Question(0), Rtype::A, 5, &[10, 0, 0, i]);
    }
    let (text, encoded, out) = round_trip(&reply, &query, 512);
    assert!(encoded.truncated);
    assert_eq!(text.len(), (512 - 12 - 18 - 4) / 16);
    assert!(out[2] & 0x02 != 0, "TC");
    let (text, encoded, _) = round_trip(&reply, &query, 65535);
    assert!(!encoded.truncated);
    assert_eq!(text.len(), 60);
}

#[test]
fn compression_shares_suffixes_but_not_in_srv_data() {
    let query = question("_http._tcp.web.example.org.", Rtype::SRV);
    let mut reply = Reply::new();
    reply.begin(&query);
    for i in 0..20u8 {
        let target = name(&format!("pod-{i}.web.example.org."));
        reply.push_with(Section::Answer, Owner::Question(0), Rtype::SRV, Class::IN, 5, |data| {
            data.u16(0).u16(5).u16(80).name(target.as_name());
        });
        let owner = reply.store(target.as_name());
        reply.push(Section::Additional, owner, Rtype::A, 5, &[10, 0, 0, i]);
    }
    // If all fits, only the question's name is compressed.
    let (text, _, written) = round_trip(&reply, &query, reply.plain_len(&query.question) - 1);
    assert_eq!(text.len(), 40);
    // Otherwise the owners of the addresses become pointers too; the SRV targets stay uncompressed.
    let (shared, encoded, out) = round_trip(&reply, &query, written.len() - 1);
    assert_eq!(shared, text);
    assert!(!encoded.truncated);
    let owners: usize = (0..20).map(|i| format!("pod-{i}.web.example.org.").len() + 1).sum();
    assert_eq!(written.len() - out.len(), owners - 20 * 2);
}

#[test]
fn opt_is_reflected() {
    let mut query = question("a.org.", Rtype::A);
    let mut reply = Reply::new();
    reply.begin(&query);
    let mut out = Vec::new();
    reply.encode(&query, 512, &mut out);
    assert_eq!(out[11], 0, "no OPT without one in the query");
    query.edns = Some(Edns { udp_size: 1232, version: 0, extended_rcode: 0, flags: 0xFF01 });
    query.set_options(&[EdnsOption { code: 3, data: b"" }]);
    reply.encode(&query, 512, &mut out);
    assert_eq!(&out[out.len() - 11..], [0, 0, 41, 4, 0xD0, 0, 0, 0xFF, 0, 0, 0]);
    reply.rcode = Rcode::BADVERS;
    reply.encode(&query, 512, &mut out);
    assert_eq!(out[3] & 0xF, 0);
    assert_eq!(out[out.len() - 6], 1);
    let mut opt = Opt::new(4096, true);
    opt.set(crate::option::NSID, b"x");
    opt.set(crate::option::NSID, b"me");
    reply.opt = Some(opt);
    reply.encode(&query, 512, &mut out);
    assert_eq!(&out[out.len() - 17..], [0, 0, 41, 4, 0xD0, 1, 0, 0x80, 0, 0, 6, 0, 3, 0, 2, b'm', b'e']);
}

#[test]
fn owners_are_pinned_before_the_question_changes() {
    let mut query = question("b.cluster.local.", Rtype::A);
    let mut reply = Reply::new();
    reply.begin(&query);
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, 5, &[1; 4]);
    reply.push(Section::Authority, Owner::Question(2), Rtype::NS, 5, &[0]);
    reply.pin_owners(name("b.cluster.local.").as_name());
    query.set_question(Question::new(name("a.example.").as_name(), Rtype::A, Class::IN));
    let (text, ..) = round_trip(&reply, &query, 512);
    assert_eq!(text, ["b.cluster.local. 5 A [1, 1, 1, 1]", "cluster.local. 5 NS [0]"]);
}

#[test]
fn rejected_packets_get_a_reply_too() {
    let mut query = Query::new();
    let mut packet = vec![0, 7, 0x10, 0x10, 0, 1, 0, 0, 0, 0, 0, 0];
    assert_eq!(query.parse(&packet), ParseOutcome::Reject(Rcode::NOTIMP));
    packet[2] = 0;
    packet[5] = 2;
    assert_eq!(query.parse(&packet), ParseOutcome::Reject(Rcode::FORMERR));
    let mut reply = Reply::new();
    reply.begin_error(&query, Rcode::FORMERR);
    let mut out = Vec::new();
    reply.encode(&query, 512, &mut out);
    assert_eq!(out, [0, 7, 0x80, 0x11, 0, 0, 0, 0, 0, 0, 0, 0]);
}
