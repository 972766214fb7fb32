//! Parses a query in one pass over the packet, without allocation once the buffers are warm.

use crate::edns::{self, Edns, EdnsOption};
use crate::layout::{Piece, walk_data};
use crate::{Class, Name, NameBuf, Opcode, Rcode, Rtype};

/// Size of the message header.
pub const HEADER_LEN: usize = 12;

/// The header's flag bits, at their position on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    pub const QR: Flags = Flags(0x8000);
    pub const AA: Flags = Flags(0x0400);
    pub const TC: Flags = Flags(0x0200);
    pub const RD: Flags = Flags(0x0100);
    pub const RA: Flags = Flags(0x0080);
    pub const Z: Flags = Flags(0x0040);
    pub const AD: Flags = Flags(0x0020);
    pub const CD: Flags = Flags(0x0010);

    pub const fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    pub const fn with(self, flag: Flags, on: bool) -> Flags {
        Flags(if on { self.0 | flag.0 } else { self.0 & !flag.0 })
    }

    pub fn set(&mut self, flag: Flags, on: bool) {
        *self = self.with(flag, on);
    }
}

/// The question, with its name in the client's case and in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    name: NameBuf,
    lower: NameBuf,
    pub qtype: Rtype,
    pub qclass: Class,
}

impl Question {
    pub fn new(name: Name<'_>, qtype: Rtype, qclass: Class) -> Question {
        Question { name: name.to_buf(), lower: name.to_lower(), qtype, qclass }
    }

    /// The name in the client's case.
    pub fn name(&self) -> Name<'_> {
        self.name.as_name()
    }

    /// The name in lower case, for lookups.
    pub fn lower(&self) -> Name<'_> {
        self.lower.as_name()
    }

    pub fn set_name(&mut self, name: Name<'_>) {
        self.name.set(name);
        self.lower.set_lower(&self.name);
    }
}

/// How [`Query::parse`] classified a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseOutcome {
    /// A query to answer.
    Query,
    /// A header with QDCOUNT 1 and nothing after it.
    NoQuestion,
    /// Reply with this code and the question, if one was read.
    Reject(Rcode),
    /// No reply: a response, or shorter than a header.
    Ignore,
}

/// A parsed query. A worker reuses one value for all its packets.
#[derive(Clone, Debug)]
pub struct Query {
    pub id: u16,
    pub opcode: Opcode,
    pub flags: Flags,
    pub question: Question,
    has_question: bool,
    pub edns: Option<Edns>,
    options: Vec<u8>,
    /// Octets of OPT's owner before the root label; 0 in a well-formed query.
    opt_owner: usize,
    packet: Vec<u8>,
    /// Octets of all records except OPT, with names uncompressed.
    other_records: usize,
}

impl Default for Query {
    fn default() -> Query {
        Query::new()
    }
}

impl Query {
    pub fn new() -> Query {
        Query {
            id: 0,
            opcode: Opcode::QUERY,
            flags: Flags::default(),
            question: Question::new(Name::ROOT, Rtype::NONE, Class::IN),
            has_question: false,
            edns: None,
            options: Vec::new(),
            opt_owner: 0,
            packet: Vec::new(),
            other_records: 0,
        }
    }

    /// A query of this server: class IN, RD set, no EDNS.
    pub fn ask(name: Name<'_>, qtype: Rtype) -> Query {
        let mut query = Query::new();
        query.flags.set(Flags::RD, true);
        query.question = Question::new(name, qtype, Class::IN);
        query.has_question = true;
        query
    }

    /// Parses a packet by CoreDNS's rules: one question, at most one answer (NOTIFY), one authority (IXFR) and two
    /// additional records, all well formed. Trailing octets and counts larger than the number of records are accepted.
    pub fn parse(&mut self, packet: &[u8]) -> ParseOutcome {
        self.has_question = false;
        self.edns = None;
        self.options.clear();
        self.opt_owner = 0;
        self.other_records = 0;
        self.packet.clear();
        self.packet.extend_from_slice(packet);

        let Some(header) = packet.first_chunk::<HEADER_LEN>() else { return ParseOutcome::Ignore };
        let word = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
        self.id = word(0);
        let bits = word(2);
        self.flags = Flags(bits & 0x07F0);
        self.opcode = Opcode((bits >> 11 & 0xF) as u8);
        if bits & Flags::QR.0 != 0 {
            return ParseOutcome::Ignore;
        }
        if self.opcode != Opcode::QUERY && self.opcode != Opcode::NOTIFY {
            return ParseOutcome::Reject(Rcode::NOTIMP);
        }
        let (questions, answers, authorities, additionals) = (word(4), word(6), word(8), word(10));
        if questions != 1 || answers > 1 || authorities > 1 || additionals > 2 {
            return ParseOutcome::Reject(Rcode::FORMERR);
        }
        if packet.len() == HEADER_LEN {
            return ParseOutcome::NoQuestion;
        }
        let Some(mut at) = self.read_question(packet) else { return ParseOutcome::Reject(Rcode::FORMERR) };
        for (count, additional) in [(answers, false), (authorities, false), (additionals, true)] {
            for _ in 0..count {
                if at == packet.len() {
                    break;
                }
                match self.read_record(packet, at, additional) {
                    Some(next) => at = next,
                    None => return ParseOutcome::Reject(Rcode::FORMERR),
                }
            }
        }
        ParseOutcome::Query
    }

    /// Reads the question; the packet may end after the name or after the type.
    fn read_question(&mut self, packet: &[u8]) -> Option<usize> {
        let mut at = self.question.name.read(packet, HEADER_LEN).ok()?;
        self.question.lower.set_lower(&self.question.name);
        self.question.qtype = Rtype::NONE;
        self.question.qclass = Class(0);
        if at < packet.len() {
            self.question.qtype = Rtype(u16_at(packet, at)?);
            at += 2;
        }
        if at < packet.len() {
            self.question.qclass = Class(u16_at(packet, at)?);
            at += 2;
        }
        self.has_question = true;
        Some(at)
    }

    fn read_record(&mut self, packet: &[u8], at: usize, additional: bool) -> Option<usize> {
        // Fast path: the owner of OPT is the root.
        let (fixed, owner_len) = match packet[at] {
            0 => (at + 1, 1),
            _ => {
                let mut owner = NameBuf::root();
                (owner.read(packet, at).ok()?, owner.wire().len())
            }
        };
        let head: &[u8; 10] = packet.get(fixed..)?.first_chunk()?;
        let rtype = Rtype(u16::from_be_bytes([head[0], head[1]]));
        let start = fixed + 10;
        let end = start + usize::from(u16::from_be_bytes([head[8], head[9]]));
        let data = packet.get(start..end)?;
        if rtype == Rtype::OPT {
            if !edns::valid(data) {
                return None;
            }
            if additional {
                // The last OPT wins.
                self.other_records += self.edns.map_or(0, |_| 11 + self.opt_extra_len());
                self.edns = Some(Edns {
                    udp_size: u16::from_be_bytes([head[2], head[3]]),
                    extended_rcode: head[4],
                    version: head[5],
                    flags: u16::from_be_bytes([head[6], head[7]]),
                });
                self.opt_owner = owner_len - 1;
                self.options.clear();
                self.options.extend_from_slice(data);
                return Some(end);
            }
        }
        let mut size = owner_len + 10;
        if !data.is_empty() {
            let well_formed = walk_data(rtype, packet, start, end, |piece| {
                size += match piece {
                    Piece::Bytes(bytes) => bytes.len(),
                    Piece::Name(name) => name.len(),
                }
            });
            if !well_formed {
                return None;
            }
        }
        self.other_records += size;
        Some(end)
    }

    /// Encodes header, question and OPT.
    pub fn to_packet(&self) -> Vec<u8> {
        let mut packet = Vec::with_capacity(64);
        let bits = self.flags.0 | u16::from(self.opcode.0) << 11;
        for word in [self.id, bits, 1, 0, 0, u16::from(self.edns.is_some())] {
            packet.extend_from_slice(&word.to_be_bytes());
        }
        packet.extend_from_slice(self.question.name().wire());
        packet.extend_from_slice(&self.question.qtype.0.to_be_bytes());
        packet.extend_from_slice(&self.question.qclass.0.to_be_bytes());
        if let Some(edns) = self.edns {
            packet.extend_from_slice(&[0, 0, 41]);
            packet.extend_from_slice(&edns.udp_size.to_be_bytes());
            packet.extend_from_slice(&[edns.extended_rcode, edns.version]);
            packet.extend_from_slice(&edns.flags.to_be_bytes());
            packet.extend_from_slice(&(self.options.len() as u16).to_be_bytes());
            packet.extend_from_slice(&self.options);
        }
        packet
    }

    /// Whether a question was read; false for rejected packets only.
    pub fn has_question(&self) -> bool {
        self.has_question
    }

    /// Replaces the client's EDNS options.
    pub fn set_options(&mut self, options: &[EdnsOption<'_>]) {
        self.options.clear();
        for option in options {
            self.options.extend_from_slice(&option.code.to_be_bytes());
            self.options.extend_from_slice(&(option.data.len() as u16).to_be_bytes());
            self.options.extend_from_slice(option.data);
        }
    }

    /// The client's EDNS options.
    pub fn options(&self) -> impl Iterator<Item = EdnsOption<'_>> {
        edns::options(&self.options)
    }

    /// Octets of OPT in [`Query::plain_len`], less the eleven of an empty OPT.
    pub fn opt_extra_len(&self) -> usize {
        self.opt_owner + edns::rewritten_len(&self.options)
    }

    /// The packet as received, for plugins that sign or record it; empty for a query of this server.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    pub fn dnssec_ok(&self) -> bool {
        self.edns.is_some_and(|edns| edns.dnssec_ok())
    }

    /// Largest UDP reply the client accepts: its advertised size, at least 512.
    pub fn udp_limit(&self) -> usize {
        self.edns.map_or(512, |edns| usize::from(edns.udp_size).max(512))
    }

    /// Size of the query with all names uncompressed, as the query log reports it.
    pub fn plain_len(&self) -> usize {
        let question = if self.has_question { self.question.name().len() + 4 } else { 0 };
        let opt = if self.edns.is_some() { 11 + self.opt_extra_len() } else { 0 };
        HEADER_LEN + question + self.other_records + opt
    }

    /// Replaces the question and returns the old one; flags and EDNS stay.
    pub fn set_question(&mut self, question: Question) -> Question {
        self.has_question = true;
        std::mem::replace(&mut self.question, question)
    }
}

fn u16_at(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(flags: u16, counts: [u16; 4]) -> Vec<u8> {
        [0x1234, flags, counts[0], counts[1], counts[2], counts[3]]
            .iter()
            .flat_map(|w| w.to_be_bytes())
            .collect()
    }

    fn packet(flags: u16, counts: [u16; 4], rest: &[u8]) -> Vec<u8> {
        let mut packet = header(flags, counts);
        packet.extend_from_slice(rest);
        packet
    }

    const A_QUESTION: &[u8] = b"\x03Www\x03org\x00\x00\x01\x00\x01";

    #[test]
    fn packets_are_classified() {
        let long = b"\x03org\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x03\x01\x02\x03";
        let cases: &[(&str, Vec<u8>, ParseOutcome)] = &[
            ("empty", vec![], ParseOutcome::Ignore),
            ("response", packet(0x8000, [1, 0, 0, 0], A_QUESTION), ParseOutcome::Ignore),
            ("plain", packet(0x0100, [1, 0, 0, 0], A_QUESTION), ParseOutcome::Query),
            ("status", packet(0x1000, [1, 0, 0, 0], A_QUESTION), ParseOutcome::Reject(Rcode::NOTIMP)),
            ("no question", packet(0, [0, 0, 0, 0], &[]), ParseOutcome::Reject(Rcode::FORMERR)),
            ("question missing", packet(0, [1, 0, 0, 0], &[]), ParseOutcome::NoQuestion),
            ("two questions", packet(0, [2, 0, 0, 0], A_QUESTION), ParseOutcome::Reject(Rcode::FORMERR)),
            ("three additionals", packet(0, [1, 0, 0, 3], A_QUESTION), ParseOutcome::Reject(Rcode::FORMERR)),
            ("count too large", packet(0, [1, 0, 0, 1], A_QUESTION), ParseOutcome::Query),
            ("trailing bytes", packet(0, [1, 0, 0, 0], &[A_QUESTION, b"xyz"].concat()), ParseOutcome::Query),
            ("name only", packet(0, [1, 0, 0, 0], b"\x03org\x00"), ParseOutcome::Query),
            (
                "half a type",
                packet(0, [1, 0, 0, 0], b"\x03org\x00\x00"),
                ParseOutcome::Reject(Rcode::FORMERR),
            ),
            ("bad address record", packet(0, [1, 0, 0, 1], long), ParseOutcome::Reject(Rcode::FORMERR)),
            (
                "cut record",
                packet(0, [1, 0, 0, 1], &[A_QUESTION, b"\x00\x00\x29"].concat()),
                ParseOutcome::Reject(Rcode::FORMERR),
            ),
        ];
        let mut query = Query::new();
        for (case, packet, expected) in cases {
            assert_eq!(query.parse(packet), *expected, "{case}");
        }
    }

    #[test]
    fn edns_is_read() {
        let opt = b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x04\x00\x03\x00\x00";
        let mut query = Query::new();
        assert_eq!(
            query.parse(&packet(0x0110, [1, 0, 0, 1], &[A_QUESTION, opt].concat())),
            ParseOutcome::Query
        );
        assert_eq!(query.question.name().to_string(), "Www.org.");
        assert_eq!(query.question.lower().to_string(), "www.org.");
        assert_eq!(query.edns.unwrap().udp_size, 1232);
        assert!(query.dnssec_ok());
        assert_eq!(query.options().map(|o| o.code).collect::<Vec<_>>(), [option::NSID]);
        assert_eq!(query.plain_len(), 12 + 9 + 4 + 15);
        assert!(query.flags.has(Flags::CD) && query.flags.has(Flags::RD) && !query.flags.has(Flags::AD));
    }

    use crate::option;

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            Query::new().parse(&bytes);
        }

        #[test]
        fn parsing_mutations_never_panics(at in 0usize..60, value: u8) {
            let opt = b"\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x04\x00\x03\x00\x00";
            let mut bytes = packet(0x0110, [1, 0, 0, 1], &[A_QUESTION, opt].concat());
            let len = bytes.len();
            bytes[at % len] = value;
            Query::new().parse(&bytes);
        }
    }
}
