//! Packets: whatever arrives, the parser holds, and the answer is one that a client can read.

use std::sync::Arc;

use hickory_proto::op::Message;
use server::{Service, Transport};
use wire::{Arrival, NameBuf, Query, Reply};

use super::reply::ReplyCheck;
use crate::service;
use crate::shape::Shape;
use crate::target::Target;

/// UDP workers read at most 4 KiB; beyond an Ethernet frame nothing new happens.
const MAX_LEN: usize = 1500;

/// No data holds more than two names, and a packet at most four records besides the question.
const MOST_NAMES: usize = 1 + 4 * 3;

const DICTIONARY: &[&[u8]] = &[
    // Pointers: to the question, to themselves, beyond the end.
    b"\xc0\x0c", b"\xc0\x00", b"\xff\xff", b"\xc0\x0e",
    // Types and classes behind a name.
    b"\x00\x00\x01\x00\x01", b"\x00\x00\x1c\x00\x01", b"\x00\x00\x0c\x00\x01", b"\x00\x00\xff\x00\x01",
    b"\x00\x00\x10\x00\x03", b"\x00\x00\x2b\x00\x01", b"\x00\x00\xfc\x00\x01", b"\x00\x00\x01\x00\xff",
    // Names the server knows.
    b"\x03one\x07example", b"\x04many\x07example", b"\x04both\x07example", b"\x07reverse\x07example",
    b"\x07minimal\x07example", b"\x05empty\x07example", b"\x09localhost", b"\x07version\x04bind",
    b"\x011\x012\x010\x03192\x07in-addr\x04arpa",
    // OPT records: plain, tiny, DO, version 1, and with NSID, cookie, subnet, padding.
    b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00", b"\x00\x00\x29\x00\x00\x00\x00\x80\x00\x00\x00",
    b"\x00\x00\x29\xff\xff\x00\x01\x00\x00\x00\x00", b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x04\x00\x03\x00\x00",
    b"\x00\x0a\x00\x08abcdefgh", b"\x00\x08\x00\x07\x00\x01\x18\x00\xc0\x00\x02", b"\x00\x0c\x00\x04\x00\x00\x00\x00",
    // A record of each shape: address, name, two names and numbers, texts, signature.
    b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01",
    b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x02\xc0\x0c",
    b"\xc0\x0c\x00\x06\x00\x01\x00\x00\x00\x3c\x00\x18\xc0\x0c\xc0\x0c\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00\x05",
    b"\xc0\x0c\x00\x10\x00\x01\x00\x00\x00\x3c\x00\x04\x03abc",
    b"\x00\x00\xfa\x00\xff\x00\x00\x00\x00\x00\x02\xc0\x0c",
];

/// Parsing queries, answering them, and reading what was answered.
pub struct Packet {
    service: Arc<Service>,
    query: Query,
    replies: ReplyCheck,
}

impl Packet {
    pub fn new() -> Result<Self, String> {
        Ok(Self { service: service::service()?, query: Query::new(), replies: ReplyCheck::new(DICTIONARY) })
    }

    fn parse(&mut self, input: &[u8]) -> Result<Arrival, String> {
        let arrival = self.query.parse(input);
        let query = &self.query;
        if arrival != Arrival::Query {
            return Ok(arrival);
        }
        let name = query.question.name();
        let text = name.to_string();
        match NameBuf::parse(&text) {
            Ok(back) if back.as_name() == name => {}
            other => return Err(format!("the name {text} reads back as {other:?}")),
        }
        let least = 12 + name.len() + 4;
        let most = input.len() + 4 + 255 * MOST_NAMES;
        if !(least..=most).contains(&query.plain_len()) {
            return Err(format!("written out it has {} octets, not {least} to {most}", query.plain_len()));
        }
        Ok(arrival)
    }

    /// One way in, one packet out. Says whether it was truncated.
    fn ask(&mut self, input: &[u8], transport: Transport, shape: &mut Shape) -> Result<bool, String> {
        let Some(packet) = service::answer(&self.service, input, transport)?.packet else {
            return Err("no answer".to_owned());
        };
        let limit = match transport {
            Transport::Udp => self.query.udp_limit(),
            Transport::Tcp => usize::from(u16::MAX),
        };
        if packet.len() > limit {
            return Err(format!("{} octets for a client that takes {limit}", packet.len()));
        }
        if packet.get(..2) != input.get(..2) {
            return Err("another id".to_owned());
        }
        let second =
            Message::from_vec(&packet).map_err(|error| format!("hickory cannot read it: {error}"))?;
        if !self.query.has_question() {
            shape.add(second.metadata.response_code.low());
            return match second.queries.len() {
                0 => Ok(false),
                n => Err(format!("{n} questions in the answer to a packet without any")),
            };
        }
        let mut reply = Reply::new();
        let Some((id, question)) = reply.decode(&packet) else {
            return Err("our own reply does not decode".to_owned());
        };
        if id != self.query.id || question != self.query.question {
            return Err(format!("asked {:?}, answered {question:?}", self.query.question));
        }
        agree(&reply, &second)?;
        shape.add(reply.rcode.0);
        // Not all flags: those that merely come back from the client would make a thousand shapes of one.
        shape.add([wire::Flags::AA, wire::Flags::TC, wire::Flags::RA].map(|flag| reply.flags.has(flag)));
        shape.add(reply.opcode == wire::Opcode::NOTIFY);
        shape.add(reply.opt.is_some());
        for section in [wire::Section::Answer, wire::Section::Authority, wire::Section::Additional] {
            shape.add_size(reply.section(section).len());
        }
        self.replies.check(&packet)?;
        Ok(reply.flags.has(wire::Flags::TC))
    }
}

impl Target for Packet {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn max_len(&self) -> usize {
        MAX_LEN
    }

    fn dictionary(&self) -> &'static [&'static [u8]] {
        DICTIONARY
    }

    fn check(&mut self, input: &[u8]) -> Result<Shape, String> {
        let mut shape = Shape::new();
        let arrival = self.parse(input)?;
        match arrival {
            Arrival::Ignore => {
                return match service::answer(&self.service, input, Transport::Udp)?.packet {
                    None => Ok(shape.with("ignored")),
                    Some(_) => Err("answered what is to be ignored".to_owned()),
                };
            }
            Arrival::Reject(rcode) => shape.add((1, rcode.0)),
            Arrival::NoQuestion => shape.add(2),
            Arrival::Query => {
                shape.add(3);
                shape.add(self.query.edns.map(|edns| (edns.version == 0, edns.dnssec_ok())));
                shape.add_size(self.query.options().count());
                shape.add_size(self.query.question.name().label_count());
            }
        }
        // As a client would: over TCP when UDP was too small. And then it must be whole.
        if self.ask(input, Transport::Udp, &mut shape)? && self.ask(input, Transport::Tcp, &mut shape)? {
            // TC in the query's own header comes back with a rejection.
            if arrival == Arrival::Query {
                return Err("truncated over TCP".to_owned());
            }
        }
        Ok(shape)
    }
}

/// Two decoders, one message.
fn agree(ours: &Reply, theirs: &Message) -> Result<(), String> {
    let counts = |section| ours.section(section).len();
    let mine =
        [counts(wire::Section::Answer), counts(wire::Section::Authority), counts(wire::Section::Additional)];
    let other = [theirs.answers.len(), theirs.authorities.len(), theirs.additionals.len()];
    if mine != other {
        return Err(format!("{mine:?} records, or {other:?} as hickory reads it"));
    }
    let rcode = u16::from(theirs.metadata.response_code);
    if rcode != ours.rcode.0 {
        return Err(format!("code {}, or {rcode} as hickory reads it", ours.rcode.0));
    }
    Ok(())
}
