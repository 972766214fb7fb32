//! Packets: whatever arrives, the parser holds, and the answer is one that a client can read.

use hickory_proto::op::Message;
use server::Transport;
use wire::{Flags, HEADER_LEN, NameBuf, ParseOutcome, Query, Reply, Section};

use super::reply;
use crate::service;

/// Parsed before each input, since a worker parses a packet into the buffers of the one before.
const EARLIER: &[u8] = include_bytes!("../../corpus/packet/cookie-do");

/// No data holds more than two names, and a packet at most four records besides the question.
const MOST_NAMES: usize = 1 + 4 * 3;

pub fn check(input: &[u8]) {
    let mut query = Query::new();
    query.parse(EARLIER);
    let arrival = query.parse(input);
    match arrival {
        ParseOutcome::Ignore => {
            assert_eq!(service::answer(input, Transport::Udp), None, "answered a packet to be ignored");
            return;
        }
        ParseOutcome::Query => check_query(&query, input),
        ParseOutcome::Reject(_) | ParseOutcome::NoQuestion => {}
    }
    // As a client does: over TCP when UDP was too small, and then the reply must be whole. A rejection returns the
    // query's own TC.
    let truncated = ask(&query, input, Transport::Udp) && ask(&query, input, Transport::Tcp);
    assert!(!truncated || arrival != ParseOutcome::Query, "truncated over TCP");
}

/// The name survives its presentation format, and the size without compression is plausible.
fn check_query(query: &Query, input: &[u8]) {
    let name = query.question.name();
    let text = name.to_string();
    let back = NameBuf::parse(&text);
    assert!(back.as_ref().is_ok_and(|back| back.as_name() == name), "the name {text} reads back as {back:?}");
    let possible = HEADER_LEN + name.len() + 4..=input.len() + 4 + 255 * MOST_NAMES;
    let plain = query.plain_len();
    assert!(possible.contains(&plain), "{plain} octets without compression, not {possible:?}");
}

/// Has the service answer and checks its reply; true if that is truncated.
fn ask(query: &Query, input: &[u8], transport: Transport) -> bool {
    let packet = service::answer(input, transport).expect("an answer");
    let limit = match transport {
        Transport::Udp => query.udp_limit(),
        Transport::Tcp => usize::from(u16::MAX),
    };
    assert!(packet.len() <= limit, "{} octets for a client that takes {limit}", packet.len());
    assert_eq!(packet.get(..2), input.get(..2), "another id");
    let second = Message::from_vec(&packet).expect("hickory reads the reply");
    if !query.has_question() {
        assert_eq!(second.queries.len(), 0, "questions in the answer to a packet without any");
        return false;
    }
    let mut reply = Reply::new();
    let decoded = reply.decode(&packet);
    assert_eq!(decoded, Some((query.id, query.question.clone())), "id and question of the reply");
    check_agreement(&reply, &second);
    reply::check(&packet);
    reply.flags.has(Flags::TC)
}

/// Two decoders read the same message.
fn check_agreement(ours: &Reply, theirs: &Message) {
    let count = |section| ours.section(section).len();
    assert_eq!(
        [count(Section::Answer), count(Section::Authority), count(Section::Additional)],
        [theirs.answers.len(), theirs.authorities.len(), theirs.additionals.len()],
        "records, and as hickory reads them"
    );
    assert_eq!(ours.rcode.0, u16::from(theirs.metadata.response_code), "rcode, and as hickory reads it");
}
