//! A query on its way: what was sent, and whether a packet that came back answers it.

use std::cell::RefCell;

use wire::{Flags, NameBuf, Query, Rcode, Reply};

use crate::Error;
use crate::owners::Sieve;

/// Id, flags and counts.
const HEADER: usize = 12;

/// A query as it goes out, with what the client sent in mind.
pub(crate) struct Question<'a> {
    original: &'a [u8],
    packet: Vec<u8>,
    /// Where the name ends; type and class follow.
    name_end: usize,
    exact: bool,
}

/// What a packet is to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The answer, with its code, to which OPT may add.
    Answer(Rcode),
    /// Ours by its id, not by its question.
    WrongQuestion,
    /// Ours, but its records cannot be read.
    Broken,
    /// Somebody else's, or nobody's.
    Stray,
}

impl<'a> Question<'a> {
    /// A copy of the query under an id nobody can foresee, spelt in random case if `mixed_case`.
    pub(crate) fn new(original: &'a [u8], mixed_case: bool) -> Result<Question<'a>, Error> {
        let mut question = Question::with_id(original, rand::random())?;
        if mixed_case {
            question.exact = true;
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
        // A pointer in the question could only point into the header.
        if original.get(HEADER..name_end) != Some(name.wire()) || original.len() < name_end + 4 {
            return Err(Error::InvalidQuery);
        }
        let mut packet = original.to_vec();
        packet[..2].copy_from_slice(&id.to_be_bytes());
        Ok(Question { original, packet, name_end, exact: false })
    }

    pub(crate) fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// Judges a packet; `whole` is false for one that was cut on arrival. An answer is left with the records that
    /// belong to the question.
    pub(crate) fn judge(&self, reply: &mut Vec<u8>, whole: bool) -> Fit {
        let Some(bits) = word(reply, 2) else { return Fit::Stray };
        if reply.len() < HEADER || reply[..2] != self.packet[..2] || bits & Flags::QR.0 == 0 {
            return Fit::Stray;
        }
        let mut name = NameBuf::root();
        let (Some(1), Ok(end)) = (word(reply, 4), name.read(reply, HEADER)) else {
            return Fit::WrongQuestion;
        };
        let asked = &self.packet[HEADER..self.name_end];
        let same_name =
            if self.exact { name.wire() == asked } else { name.wire().eq_ignore_ascii_case(asked) };
        // Written out as we did: who points into the header or elsewhere cannot have a good reason.
        if !same_name || end != self.name_end || reply.get(end..end + 4) != Some(self.type_and_class()) {
            return Fit::WrongQuestion;
        }
        match decode(reply) {
            Some(rcode) if whole => Fit::Answer(rcode),
            _ => Fit::Broken,
        }
    }

    /// Gives a fitting reply the id and the spelling the client used.
    pub(crate) fn restore(&self, reply: &mut [u8]) {
        reply[..2].copy_from_slice(&self.original[..2]);
        if self.exact {
            reply[HEADER..self.name_end].copy_from_slice(&self.original[HEADER..self.name_end]);
        }
    }

    /// What is left of a reply that fits but cannot be read: header and question, truncated, so that the client
    /// comes back over TCP. Gives its code.
    pub(crate) fn cut(&self, reply: &mut Vec<u8>) -> Rcode {
        reply.truncate(self.name_end + 4);
        reply[2] |= (Flags::TC.0 >> 8) as u8;
        reply[6..HEADER].fill(0);
        Rcode(u16::from(reply[3] & 0xF))
    }

    fn type_and_class(&self) -> &[u8] {
        &self.packet[self.name_end..self.name_end + 4]
    }
}

/// The code of a reply that can be read from end to end. What does not belong in it is taken out.
fn decode(message: &mut Vec<u8>) -> Option<Rcode> {
    thread_local! {
        /// Kept for its room: reading a reply costs no allocation.
        static READER: RefCell<(Reply, Sieve)> = RefCell::new((Reply::new(), Sieve::default()));
    }
    READER.with_borrow_mut(|(reply, sieve)| {
        let (id, question) = reply.decode(message)?;
        if sieve.sift(reply, &question) {
            // Without EDNS of the query's, the reply keeps its own.
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
    fn what_fits() {
        let packet = query();
        let question = Question::new(&packet, false).expect("a query");
        type Change = fn(&mut Vec<u8>);
        let cases: [(&str, Change, Fit); 15] = [
            ("as asked", |_| {}, Fit::Answer(Rcode(0))),
            ("with a code", |r| r[3] |= 3, Fit::Answer(Rcode(3))),
            ("another case", |r| r[13..16].make_ascii_uppercase(), Fit::Answer(Rcode(0))),
            (
                "with OPT",
                |r| {
                    r[11] = 1;
                    r.extend([0, 0, 41, 4, 0xD0, 1, 0, 0, 0, 0, 0]);
                },
                Fit::Answer(Rcode(16)),
            ),
            ("another id", |r| r[1] ^= 1, Fit::Stray),
            ("a query", |r| r[2] &= 0x7F, Fit::Stray),
            ("short", |r| r.truncate(11), Fit::Stray),
            ("empty", |r| r.clear(), Fit::Stray),
            ("another name", |r| r[13] = b'x', Fit::WrongQuestion),
            ("another type", |r| r[12 + 17 + 1] = 28, Fit::WrongQuestion),
            ("another class", |r| r[12 + 17 + 3] = 3, Fit::WrongQuestion),
            (
                "no question",
                |r| {
                    r[5] = 0;
                    r.truncate(12);
                },
                Fit::WrongQuestion,
            ),
            ("half a question", |r| r.truncate(20), Fit::WrongQuestion),
            ("promises", |r| r[7] = 1, Fit::Answer(Rcode(0))),
            (
                "half a record",
                |r| {
                    r[7] = 1;
                    r.extend([0, 0, 1]);
                },
                Fit::Broken,
            ),
        ];
        for (what, change, fit) in cases {
            assert_eq!(question.judge(&mut reply(&question, change), true), fit, "{what}");
        }
        assert_eq!(question.judge(&mut reply(&question, |_| {}), false), Fit::Broken);
    }

    #[test]
    fn a_mixed_name_must_come_back_as_it_went() {
        let packet = query();
        // A name of 13 letters stays as it was once in 8192 times.
        let question = std::iter::repeat_with(|| Question::new(&packet, true).expect("a query"))
            .find(|question| question.packet()[12..] != packet[12..])
            .expect("random case");
        assert!(question.packet()[12..].eq_ignore_ascii_case(&packet[12..]));
        let mut good = reply(&question, |_| {});
        assert_eq!(question.judge(&mut good, true), Fit::Answer(Rcode(0)));
        question.restore(&mut good);
        assert_eq!((&good[..2], &good[12..]), (&packet[..2], &packet[12..]));
        let lower = reply(&question, |r| r[12..29].make_ascii_lowercase());
        let upper = reply(&question, |r| r[12..29].make_ascii_uppercase());
        let is_wrong = |mut reply: Vec<u8>| question.judge(&mut reply, true) == Fit::WrongQuestion;
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
