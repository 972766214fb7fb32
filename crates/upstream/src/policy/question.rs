//! A query to an upstream: the packet sent, and whether a received packet answers it.

use std::cell::RefCell;

use wire::{Flags, NameBuf, Query, Rcode, Reply};

use super::bailiwick::BailiwickFilter;
use crate::Error;

/// Id, flags and counts.
const HEADER: usize = 12;

/// A query as sent to an upstream, with the client's original packet.
pub(crate) struct Question<'a> {
    original: &'a [u8],
    packet: Vec<u8>,
    /// The end of the name; type and class follow.
    name_end: usize,
    /// The reply must repeat the name in the same case (0x20).
    case_sensitive: bool,
}

/// The result of checking a packet against a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The answer, with its rcode including the extended bits of OPT.
    Answer(Rcode),
    /// The id matches, the question does not.
    WrongQuestion,
    /// Id and question match, but the records cannot be decoded.
    Malformed,
    /// No reply, or one with another id.
    Unrelated,
}

impl<'a> Question<'a> {
    /// A copy of the query with a random id, and with the name in random case if `mixed_case`.
    pub(crate) fn new(original: &'a [u8], mixed_case: bool) -> Result<Question<'a>, Error> {
        let mut question = Question::with_id(original, rand::random())?;
        if mixed_case {
            question.case_sensitive = true;
            mix_case(&mut question.packet[HEADER..question.name_end]);
        }
        Ok(question)
    }

    pub(crate) fn with_id(original: &'a [u8], id: u16) -> Result<Question<'a>, Error> {
        if word(original, 4) != Some(1) {
            return Err(Error::InvalidQuery);
        }
        let mut name = NameBuf::root();
        let name_end = name.read(original, HEADER).map_err(|_| Error::InvalidQuery)?;
        // A compression pointer in the question could only point into the header.
        if original.get(HEADER..name_end) != Some(name.wire()) || original.len() < name_end + 4 {
            return Err(Error::InvalidQuery);
        }
        let mut packet = original.to_vec();
        packet[..2].copy_from_slice(&id.to_be_bytes());
        Ok(Question { original, packet, name_end, case_sensitive: false })
    }

    pub(crate) fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// Checks a packet; `whole` is false for one that was truncated on receipt. Of an answer, records that do not belong
    /// to the question are removed.
    pub(crate) fn check(&self, reply: &mut Vec<u8>, whole: bool) -> Verdict {
        let Some(bits) = word(reply, 2) else { return Verdict::Unrelated };
        if reply.len() < HEADER || reply[..2] != self.packet[..2] || bits & Flags::QR.0 == 0 {
            return Verdict::Unrelated;
        }
        let mut name = NameBuf::root();
        let (Some(1), Ok(end)) = (word(reply, 4), name.read(reply, HEADER)) else {
            return Verdict::WrongQuestion;
        };
        let sent = &self.packet[HEADER..self.name_end];
        let same_name =
            if self.case_sensitive { name.wire() == sent } else { name.wire().eq_ignore_ascii_case(sent) };
        // The name must be uncompressed, as it was sent: there is no good reason for a pointer.
        if !same_name || end != self.name_end || reply.get(end..end + 4) != Some(self.type_and_class()) {
            return Verdict::WrongQuestion;
        }
        match decode(reply) {
            Some(rcode) if whole => Verdict::Answer(rcode),
            _ => Verdict::Malformed,
        }
    }

    /// Restores the client's id and spelling of the name in a reply.
    pub(crate) fn restore(&self, reply: &mut [u8]) {
        reply[..2].copy_from_slice(&self.original[..2]);
        if self.case_sensitive {
            reply[HEADER..self.name_end].copy_from_slice(&self.original[HEADER..self.name_end]);
        }
    }

    /// Reduces a malformed reply to header and question with TC set, so that the client retries over TCP. Returns its
    /// rcode.
    pub(crate) fn truncate(&self, reply: &mut Vec<u8>) -> Rcode {
        reply.truncate(self.name_end + 4);
        reply[2] |= (Flags::TC.0 >> 8) as u8;
        reply[6..HEADER].fill(0);
        Rcode(u16::from(reply[3] & 0xF))
    }

    fn type_and_class(&self) -> &[u8] {
        &self.packet[self.name_end..self.name_end + 4]
    }
}

/// Decodes a reply, removes records that do not belong to the question and returns the rcode; None if it is malformed.
fn decode(message: &mut Vec<u8>) -> Option<Rcode> {
    thread_local! {
        /// Kept for its capacity: decoding a reply costs no allocation.
        static READER: RefCell<(Reply, BailiwickFilter)> =
            RefCell::new((Reply::new(), BailiwickFilter::default()));
    }
    READER.with_borrow_mut(|(reply, bailiwick)| {
        let (id, question) = reply.decode(message)?;
        if bailiwick.filter(reply, &question) {
            // This query has no EDNS, so the encoder keeps the reply's own OPT.
            let mut query = Query::ask(question.name(), question.qtype);
            query.id = id;
            query.question.qclass = question.qclass;
            reply.encode(&query, usize::from(u16::MAX), message);
        }
        Some(reply.rcode)
    })
}

fn mix_case(name: &mut [u8]) {
    let mut bits = 0u64;
    for (i, octet) in name.iter_mut().enumerate() {
        if i % 64 == 0 {
            bits = rand::random();
        }
        // Length octets are below 64 and so never letters.
        if octet.is_ascii_alphabetic() && bits >> (i % 64) & 1 == 1 {
            *octet ^= 0x20;
        }
    }
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Query, Rtype};

    fn query() -> Vec<u8> {
        let name = NameBuf::parse("www.Example.org").expect("a name");
        let mut query = Query::ask(name.as_name(), Rtype::A);
        query.id = 0xBEEF;
        query.to_packet()
    }

    /// A reply to what the question sent, after `change`.
    fn reply(question: &Question<'_>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut reply = question.packet().to_vec();
        reply[2] |= 0x80;
        change(&mut reply);
        reply
    }

    #[test]
    fn verdicts() {
        let packet = query();
        let question = Question::new(&packet, false).expect("a query");
        type Change = fn(&mut Vec<u8>);
        let cases: [(&str, Change, Verdict); 15] = [
            ("as asked", |_| {}, Verdict::Answer(Rcode(0))),
            ("with a code", |r| r[3] |= 3, Verdict::Answer(Rcode(3))),
            ("another case", |r| r[13..16].make_ascii_uppercase(), Verdict::Answer(Rcode(0))),
            (
                "with OPT",
                |r| {
                    r[11] = 1;
                    r.extend([0, 0, 41, 4, 0xD0, 1, 0, 0, 0, 0, 0]);
                },
                Verdict::Answer(Rcode(16)),
            ),
            ("another id", |r| r[1] ^= 1, Verdict::Unrelated),
            ("a query", |r| r[2] &= 0x7F, Verdict::Unrelated),
            ("short", |r| r.truncate(11), Verdict::Unrelated),
            ("empty", |r| r.clear(), Verdict::Unrelated),
            ("another name", |r| r[13] = b'x', Verdict::WrongQuestion),
            ("another type", |r| r[12 + 17 + 1] = 28, Verdict::WrongQuestion),
            ("another class", |r| r[12 + 17 + 3] = 3, Verdict::WrongQuestion),
            (
                "no question",
                |r| {
                    r[5] = 0;
                    r.truncate(12);
                },
                Verdict::WrongQuestion,
            ),
            ("half a question", |r| r.truncate(20), Verdict::WrongQuestion),
            ("promises", |r| r[7] = 1, Verdict::Answer(Rcode(0))),
            (
                "half a record",
                |r| {
                    r[7] = 1;
                    r.extend([0, 0, 1]);
                },
                Verdict::Malformed,
            ),
        ];
        for (what, change, verdict) in cases {
            assert_eq!(question.check(&mut reply(&question, change), true), verdict, "{what}");
        }
        assert_eq!(question.check(&mut reply(&question, |_| {}), false), Verdict::Malformed);
    }

    #[test]
    fn a_mixed_case_name_must_be_repeated_exactly() {
        let packet = query();
        // A name of 13 letters stays as it was once in 8192 times.
        let question = std::iter::repeat_with(|| Question::new(&packet, true).expect("a query"))
            .find(|question| question.packet()[12..] != packet[12..])
            .expect("random case");
        assert!(question.packet()[12..].eq_ignore_ascii_case(&packet[12..]));
        let mut good = reply(&question, |_| {});
        assert_eq!(question.check(&mut good, true), Verdict::Answer(Rcode(0)));
        question.restore(&mut good);
        assert_eq!((&good[..2], &good[12..]), (&packet[..2], &packet[12..]));
        let lower = reply(&question, |r| r[12..29].make_ascii_lowercase());
        let upper = reply(&question, |r| r[12..29].make_ascii_uppercase());
        let is_wrong = |mut reply: Vec<u8>| question.check(&mut reply, true) == Verdict::WrongQuestion;
        assert!(is_wrong(lower) || is_wrong(upper));
    }

    #[test]
    fn only_queries_with_a_question_are_sent() {
        let good = query();
        for (what, packet) in [
            ("nothing", vec![]),
            ("a header", good[..12].to_vec()),
            ("no type", good[..good.len() - 4].to_vec()),
            ("two questions", good.iter().enumerate().map(|(i, b)| if i == 5 { 2 } else { *b }).collect()),
            ("a pointer", [&good[..12], &[0xC0, 0x04, 0, 1, 0, 1]].concat()),
        ] {
            assert!(matches!(Question::new(&packet, false), Err(Error::InvalidQuery)), "{what}");
        }
    }
}
