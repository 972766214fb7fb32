//! Queries: the parser accepts or rejects any bytes, and a client can decode the answer.

use hickory_proto::op::Message;
use server::Transport;
use wire::{Flags, HEADER_LEN, NameBuf, ParseOutcome, Query, Reply, Section};

use super::reply;
use crate::service;

/// Parsed before each input, because a worker reuses the buffers of the previous packet.
const PREVIOUS: &[u8] = include_bytes!("../../corpus/packet/cookie-do");

/// RDATA has at most two names, and a packet at most four records besides the question.
const MAX_NAMES: usize = 1 + 4 * 3;

pub fn check(input: &[u8]) {
    let mut query = Query::new();
    query.parse(PREVIOUS);
    let arrival = query.parse(input);
    match arrival {
        ParseOutcome::Ignore => {
            assert_eq!(service::answer(input, Transport::Udp), None, "answered a packet to be ignored");
            return;
        }
        ParseOutcome::Query => check_query(&query, input),
        ParseOutcome::Reject(_) | ParseOutcome::NoQuestion => {}
    }
    // Like a client, retries a truncated reply over TCP, which must not truncate. A rejection copies the query's TC.
    let truncated =
        check_answer(&query, input, Transport::Udp) && check_answer(&query, input, Transport::Tcp);
    assert!(!truncated || arrival != ParseOutcome::Query, "truncated over TCP");
}

/// The name round-trips through presentation format, and the size without compression is plausible.
fn check_query(query: &Query, input: &[u8]) {
    let name = query.question.name();
    let text = name.to_string();
    let back = NameBuf::parse(&text);
    assert!(back.as_ref().is_ok_and(|back| back.as_name() == name), "the name {text} parses as {back:?}");
    let possible = HEADER_LEN + name.len() + 4..=input.len() + 4 + 255 * MAX_NAMES;
    let plain = query.plain_len();
    assert!(possible.contains(&plain), "{plain} octets without compression, not {possible:?}");
}

/// Checks the reply of the service; true if it is truncated.
fn check_answer(query: &Query, input: &[u8], transport: Transport) -> bool {
    let packet = service::answer(input, transport).expect("an answer");
    let limit = match transport {
        Transport::Udp => query.udp_limit(),
        Transport::Tcp => usize::from(u16::MAX),
    };
    assert!(packet.len() <= limit, "{} octets for a client that accepts {limit}", packet.len());
    assert_eq!(packet.get(..2), input.get(..2), "another id");
    let hickory = Message::from_vec(&packet).expect("hickory decodes the reply");
    if !query.has_question() {
        assert_eq!(hickory.queries.len(), 0, "questions in the reply to a packet without any");
        return false;
    }
    let mut reply = Reply::new();
    let decoded = reply.decode(&packet);
    assert_eq!(decoded, Some((query.id, query.question.clone())), "id and question of the reply");
    check_agreement(&reply, &hickory);
    reply::check(&packet);
    reply.flags.has(Flags::TC)
}

/// Both decoders agree on the message.
fn check_agreement(ours: &Reply, theirs: &Message) {
    let count = |section| ours.section(section).len();
    assert_eq!(
        [count(Section::Answer), count(Section::Authority), count(Section::Additional)],
        [theirs.answers.len(), theirs.authorities.len(), theirs.additionals.len()],
        "records per section, and hickory's"
    );
    assert_eq!(ours.rcode.0, u16::from(theirs.metadata.response_code), "rcode, and hickory's");
}
