//! Whole messages, record by record, for everything but questions and their answers: transfers, updates, NOTIFY and
//! their signatures. Not for the answer path: it allocates.

use crate::layout::{Piece, walk_data};
use crate::{Class, Flags, HEADER_LEN, Name, NameBuf, Opcode, Rcode, Rtype, Section};

/// A record, with owner and RDATA uncompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub owner: Name<'a>,
    pub rtype: Rtype,
    pub class: Class,
    pub ttl: u32,
    pub data: &'a [u8],
}

impl Record<'_> {
    /// The serial of a SOA record; None for other types, and for a SOA that is incomplete.
    pub fn serial(&self) -> Option<u32> {
        if self.rtype != Rtype::SOA {
            return None;
        }
        let mut name = NameBuf::root();
        let mailbox = name.read(self.data, 0).ok()?;
        let numbers = self.data.get(name.read(self.data, mailbox).ok()?..)?;
        let serial = numbers.first_chunk().filter(|_| numbers.len() == 20)?;
        Some(u32::from_be_bytes(*serial))
    }
}

/// The fields of the header that are not counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub id: u16,
    pub opcode: Opcode,
    pub flags: Flags,
    pub rcode: Rcode,
}

/// The message cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads a message from its beginning to its end.
pub struct Reader<'a> {
    message: &'a [u8],
    at: usize,
    header: Header,
    /// Records still to read in question, answer, authority and additional section.
    left: [u16; 4],
    owner: NameBuf,
    data: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub fn new(message: &'a [u8]) -> Result<Reader<'a>, Malformed> {
        let header: &[u8; HEADER_LEN] = message.first_chunk().ok_or(Malformed)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let bits = word(2);
        Ok(Reader {
            message,
            at: HEADER_LEN,
            header: Header {
                id: word(0),
                opcode: Opcode((bits >> 11 & 0xF) as u8),
                flags: Flags(bits & 0x87F0),
                rcode: Rcode(bits & 0xF),
            },
            left: [word(4), word(6), word(8), word(10)],
            owner: NameBuf::root(),
            data: Vec::new(),
        })
    }

    pub fn header(&self) -> Header {
        self.header
    }

    /// The offset of the next question or record.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next question; None if there is no other. In an update it is the zone.
    pub fn question(&mut self) -> Result<Option<(Name<'_>, Rtype, Class)>, Malformed> {
        let Some(left) = self.left[0].checked_sub(1) else { return Ok(None) };
        self.left[0] = left;
        let at = self.owner.read(self.message, self.at).map_err(|_| Malformed)?;
        let [t1, t0, c1, c0] = *self.chunk(at)?;
        self.at = at + 4;
        let (qtype, qclass) = (Rtype(u16::from_be_bytes([t1, t0])), Class(u16::from_be_bytes([c1, c0])));
        Ok(Some((self.owner.as_name(), qtype, qclass)))
    }

    /// The next record; None at the end, where nothing may follow. Questions are skipped.
    pub fn record(&mut self) -> Result<Option<(Section, Record<'_>)>, Malformed> {
        while self.question()?.is_some() {}
        let sections = [Section::Answer, Section::Authority, Section::Additional];
        let Some(index) = (0..3).find(|index| self.left[index + 1] > 0) else {
            return if self.at == self.message.len() { Ok(None) } else { Err(Malformed) };
        };
        self.left[index + 1] -= 1;
        let at = self.owner.read(self.message, self.at).map_err(|_| Malformed)?;
        let [t1, t0, c1, c0, ttl @ .., l1, l0] = *self.chunk::<10>(at)?;
        let rtype = Rtype(u16::from_be_bytes([t1, t0]));
        let (start, end) = (at + 10, at + 10 + usize::from(u16::from_be_bytes([l1, l0])));
        if end > self.message.len() {
            return Err(Malformed);
        }
        let data = &mut self.data;
        data.clear();
        // Without RDATA there is nothing to decode, as in updates.
        let is_well_formed = walk_data(rtype, self.message, start, end, |piece| match piece {
            Piece::Bytes(bytes) => data.extend_from_slice(bytes),
            Piece::Name(name) => data.extend_from_slice(name.wire()),
        });
        if !is_well_formed {
            return Err(Malformed);
        }
        self.at = end;
        let record = Record {
            owner: self.owner.as_name(),
            rtype,
            class: Class(u16::from_be_bytes([c1, c0])),
            ttl: u32::from_be_bytes(ttl),
            data: &self.data,
        };
        Ok(Some((sections[index], record)))
    }

    fn chunk<const N: usize>(&self, at: usize) -> Result<&'a [u8; N], Malformed> {
        self.message.get(at..).and_then(<[u8]>::first_chunk).ok_or(Malformed)
    }
}

/// Writes a message, without compression. Sections must be written in order.
pub struct Writer {
    message: Vec<u8>,
}

impl Writer {
    pub fn new(header: Header) -> Writer {
        let Header { id, opcode, flags, rcode } = header;
        let bits = flags.0 | u16::from(opcode.0 & 0xF) << 11 | rcode.0 & 0xF;
        let mut message = vec![0; HEADER_LEN];
        message[..2].copy_from_slice(&id.to_be_bytes());
        message[2..4].copy_from_slice(&bits.to_be_bytes());
        Writer { message }
    }

    pub fn question(&mut self, name: Name<'_>, qtype: Rtype, qclass: Class) {
        self.count(4);
        self.message.extend_from_slice(name.wire());
        self.message.extend_from_slice(&qtype.0.to_be_bytes());
        self.message.extend_from_slice(&qclass.0.to_be_bytes());
    }

    pub fn record(&mut self, section: Section, record: &Record<'_>) {
        self.count(match section {
            Section::Answer => 6,
            Section::Authority => 8,
            Section::Additional => 10,
        });
        append(&mut self.message, record);
    }

    /// None if it is longer than a message can be.
    pub fn finish(self) -> Option<Vec<u8>> {
        Some(self.message).filter(|message| message.len() <= usize::from(u16::MAX))
    }

    fn count(&mut self, at: usize) {
        // A count that wraps belongs to a message that is too long.
        let count = u16::from_be_bytes([self.message[at], self.message[at + 1]]).wrapping_add(1);
        self.message[at..at + 2].copy_from_slice(&count.to_be_bytes());
    }
}

/// Appends a record to a message, without counting it. RDATA longer than possible is cut.
pub fn append(message: &mut Vec<u8>, record: &Record<'_>) {
    let Record { owner, rtype, class, ttl, data } = *record;
    let data = &data[..data.len().min(usize::from(u16::MAX))];
    message.extend_from_slice(owner.wire());
    message.extend_from_slice(&rtype.0.to_be_bytes());
    message.extend_from_slice(&class.0.to_be_bytes());
    message.extend_from_slice(&ttl.to_be_bytes());
    message.extend_from_slice(&(data.len() as u16).to_be_bytes());
    message.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NameBuf {
        NameBuf::parse(text).expect("a name")
    }

    fn message() -> Vec<u8> {
        let (zone, ns) = (name("example."), name("ns.example."));
        let header = Header { id: 7, opcode: Opcode::UPDATE, flags: Flags::QR, rcode: Rcode::NOTAUTH };
        let mut writer = Writer::new(header);
        writer.question(zone.as_name(), Rtype::SOA, Class::IN);
        let soa = [ns.wire(), zone.wire(), &[0, 0, 0, 9], &[0; 16]].concat();
        let record = |rtype, data| Record { owner: zone.as_name(), rtype, class: Class::IN, ttl: 60, data };
        writer.record(Section::Answer, &record(Rtype::SOA, &soa));
        writer.record(Section::Authority, &record(Rtype::NS, ns.wire()));
        writer.record(Section::Additional, &Record { class: Class::ANY, ..record(Rtype::A, &[]) });
        writer.finish().expect("a short message")
    }

    #[test]
    fn what_is_written_is_read() {
        let message = message();
        let mut reader = Reader::new(&message).expect("a message");
        let Header { id, opcode, rcode, flags } = reader.header();
        assert_eq!((id, opcode, rcode, flags), (7, Opcode::UPDATE, Rcode::NOTAUTH, Flags::QR));
        let zone = name("example.");
        assert_eq!(reader.question(), Ok(Some((zone.as_name(), Rtype::SOA, Class::IN))));
        assert_eq!(reader.question(), Ok(None));
        let mut seen = Vec::new();
        while let Some((section, record)) = reader.record().expect("well-formed") {
            assert_eq!(record.owner, zone.as_name());
            seen.push((section, record.rtype, record.class, record.data.len(), record.serial()));
        }
        let expected = [
            (Section::Answer, Rtype::SOA, Class::IN, 41, Some(9)),
            (Section::Authority, Rtype::NS, Class::IN, 12, None),
            (Section::Additional, Rtype::A, Class::ANY, 0, None),
        ];
        assert_eq!(seen, expected);
        assert_eq!(reader.position(), message.len());
    }

    #[test]
    fn names_in_rdata_are_decompressed() {
        let zone = name("example.");
        let header = Header { id: 0, opcode: Opcode::QUERY, flags: Flags::QR, rcode: Rcode::NOERROR };
        let mut writer = Writer::new(header);
        writer.question(zone.as_name(), Rtype::NS, Class::IN);
        let data = [2, b'n', b's', 0xC0, HEADER_LEN as u8];
        let record =
            Record { owner: zone.as_name(), rtype: Rtype::NS, class: Class::IN, ttl: 0, data: &data };
        writer.record(Section::Answer, &record);
        let message = writer.finish().expect("a short message");
        let mut reader = Reader::new(&message).expect("a message");
        let (_, record) = reader.record().expect("well-formed").expect("a record");
        assert_eq!(record.data, name("ns.example.").wire());
    }

    #[test]
    fn a_message_that_is_cut_or_followed_by_more_is_malformed() {
        let whole = message();
        let is_readable = |message: &[u8]| {
            let mut reader = Reader::new(message)?;
            while reader.record()?.is_some() {}
            Ok::<(), Malformed>(())
        };
        assert_eq!(is_readable(&whole), Ok(()));
        for len in 0..whole.len() {
            assert_eq!(is_readable(&whole[..len]), Err(Malformed), "{len}");
        }
        assert_eq!(is_readable(&[&whole[..], &[0]].concat()), Err(Malformed));
    }
}
