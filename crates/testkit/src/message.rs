//! A tolerant decoder of DNS messages: it decodes a message as far as it is valid.
//!
//! Our own rather than a library's, since a comparison needs details that libraries hide: the case of names,
//! the place of an OPT record, trailing bytes, and the point at which a message becomes invalid.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::mnemonic;
use crate::name::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: u16,
    /// The second pair of octets, unchanged: QR, opcode, flags, rcode.
    pub bits: u16,
    pub questions: Vec<Question>,
    pub answer: Vec<Record>,
    pub authority: Vec<Record>,
    /// Without OPT records.
    pub additional: Vec<Record>,
    /// All of them, though more than one is invalid.
    pub opts: Vec<Opt>,
    /// Why decoding stopped before all counted records were read.
    pub broken: Option<String>,
    /// Bytes left when decoding ended.
    pub trailing: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    pub name: Name,
    pub qtype: u16,
    pub class: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    pub owner: Name,
    pub rtype: u16,
    pub class: u16,
    pub ttl: u32,
    /// With the names in it uncompressed, so that equal data are equal bytes.
    pub rdata: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opt {
    pub size: u16,
    pub extended_rcode: u8,
    pub version: u8,
    /// DO and the bits behind it.
    pub flags: u16,
    pub options: Vec<(u16, Vec<u8>)>,
}

const OPT: u16 = 41;

impl Message {
    pub fn decode(bytes: &[u8]) -> Self {
        let mut message = Self {
            id: 0,
            bits: 0,
            questions: Vec::new(),
            answer: Vec::new(),
            authority: Vec::new(),
            additional: Vec::new(),
            opts: Vec::new(),
            broken: None,
            trailing: Vec::new(),
        };
        let mut reader = Reader { bytes, at: 0 };
        if let Err(why) = message.fill(&mut reader) {
            message.broken = Some(why);
        }
        message.trailing = bytes[reader.at..].to_vec();
        message
    }

    /// On an error the reader stays before the undecodable part.
    fn fill(&mut self, reader: &mut Reader<'_>) -> Result<(), String> {
        if reader.bytes.len() < 12 {
            return Err("shorter than a header".into());
        }
        self.id = reader.u16()?;
        self.bits = reader.u16()?;
        let mut counts = [0; 4];
        for count in &mut counts {
            *count = reader.u16()?;
        }
        for i in 0..counts[0] {
            let question = reader.question().map_err(|e| format!("question {i} of {}: {e}", counts[0]))?;
            self.questions.push(question);
        }
        for (section, &count) in ["answer", "authority", "additional"].into_iter().zip(&counts[1..]) {
            for i in 0..count {
                let record = reader.record().map_err(|e| format!("{section} {i} of {count}: {e}"))?;
                match section {
                    "answer" => self.answer.push(record),
                    "authority" => self.authority.push(record),
                    _ if record.rtype == OPT && record.owner == Name::root() => {
                        match Opt::from_record(&record) {
                            Some(opt) => self.opts.push(opt),
                            None => self.additional.push(record),
                        }
                    }
                    _ => self.additional.push(record),
                }
            }
        }
        Ok(())
    }

    pub fn opcode(&self) -> u16 {
        self.bits >> 11 & 0xf
    }

    /// The response code, with the upper bits of the OPT record if there is one.
    pub fn rcode(&self) -> u16 {
        let upper = self.opts.first().map_or(0, |opt| u16::from(opt.extended_rcode));
        upper << 4 | self.bits & 0xf
    }

    /// The header's flags by name, in the order of their bits.
    pub fn flags(&self) -> String {
        flag_names(self.bits)
    }
}

/// The set flags among QR AA TC RD RA Z AD CD, as `qr,aa,rd`.
pub fn flag_names(bits: u16) -> String {
    const NAMES: [(u16, &str); 8] = [
        (0x8000, "qr"),
        (0x0400, "aa"),
        (0x0200, "tc"),
        (0x0100, "rd"),
        (0x0080, "ra"),
        (0x0040, "z"),
        (0x0020, "ad"),
        (0x0010, "cd"),
    ];
    NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}

impl Opt {
    /// `None` when the options do not fit their record.
    fn from_record(record: &Record) -> Option<Self> {
        let mut options = Vec::new();
        let mut rest = record.rdata.as_slice();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at_checked(4)?;
            let code = u16::from_be_bytes([head[0], head[1]]);
            let (data, tail) = tail.split_at_checked(usize::from(u16::from_be_bytes([head[2], head[3]])))?;
            options.push((code, data.to_vec()));
            rest = tail;
        }
        Some(Self {
            size: record.class,
            extended_rcode: (record.ttl >> 24) as u8,
            version: (record.ttl >> 16) as u8,
            flags: record.ttl as u16,
            options,
        })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn u16(&mut self) -> Result<u16, String> {
        let pair = self.bytes.get(self.at..self.at + 2).ok_or("the end of the message")?;
        self.at += 2;
        Ok(u16::from_be_bytes([pair[0], pair[1]]))
    }

    fn name(&mut self) -> Result<Name, String> {
        let (name, end) = Name::read(self.bytes, self.at)?;
        self.at = end;
        Ok(name)
    }

    fn question(&mut self) -> Result<Question, String> {
        let start = self.at;
        let mut read = || Ok(Question { name: self.name()?, qtype: self.u16()?, class: self.u16()? });
        read().inspect_err(|_| self.at = start)
    }

    fn record(&mut self) -> Result<Record, String> {
        let start = self.at;
        let mut read = || {
            let owner = self.name()?;
            let (rtype, class) = (self.u16()?, self.u16()?);
            let ttl = u32::from(self.u16()?) << 16 | u32::from(self.u16()?);
            let length = usize::from(self.u16()?);
            let end = self.at + length;
            let raw = self.bytes.get(self.at..end).ok_or("data run past the end")?;
            let rdata = uncompressed(self.bytes, self.at, end, rtype).unwrap_or_else(|| raw.to_vec());
            self.at = end;
            Ok(Record { owner, rtype, class, ttl, rdata })
        };
        read().inspect_err(|_| self.at = start)
    }
}

/// A part of record data; finds the names in it.
enum Part {
    Name,
    Octets(usize),
    Text,
    Rest,
}

/// The record types with names in their data. Types whose names must not be compressed are here as well: a
/// server that compresses them anyway then does not differ, since clients decode them alike.
fn layout(rtype: u16) -> &'static [Part] {
    use Part::{Name, Octets, Rest, Text};
    match rtype {
        2 | 3 | 4 | 5 | 7 | 8 | 9 | 12 | 39 => &[Name],
        6 => &[Name, Name, Octets(20)],
        14 | 17 => &[Name, Name],
        15 | 18 | 21 | 36 => &[Octets(2), Name],
        24 | 46 => &[Octets(18), Name, Rest],
        26 => &[Octets(2), Name, Name],
        30 | 47 => &[Name, Rest],
        33 => &[Octets(6), Name],
        35 => &[Octets(4), Text, Text, Text, Name],
        64 | 65 => &[Octets(2), Name, Rest],
        _ => &[Rest],
    }
}

/// The data of a record with its names uncompressed; `None` when the data do not fit the type.
fn uncompressed(message: &[u8], start: usize, end: usize, rtype: u16) -> Option<Vec<u8>> {
    let mut at = start;
    let mut data = Vec::new();
    for part in layout(rtype) {
        let next = match part {
            Part::Name => {
                let (name, next) = Name::read(message, at).ok()?;
                data.extend_from_slice(name.wire());
                at = next;
                continue;
            }
            Part::Octets(n) => at + n,
            Part::Text => at + 1 + usize::from(*message.get(at)?),
            Part::Rest => end,
        };
        data.extend_from_slice(message[..end].get(at..next)?);
        at = next;
    }
    (at == end).then_some(data)
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, mnemonic::of_class(self.class), mnemonic::of_type(self.qtype))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, rtype) = (mnemonic::of_class(self.class), mnemonic::of_type(self.rtype));
        write!(f, "{} {} {class} {rtype} ", self.owner, self.ttl)?;
        match readable(self.rtype, &self.rdata) {
            Some(text) => f.write_str(&text),
            None => write!(f, "\\# {} {}", self.rdata.len(), hex(&self.rdata)),
        }
    }
}

/// The data of the commonest types in presentation form; `None` for other types and invalid data.
fn readable(rtype: u16, data: &[u8]) -> Option<String> {
    let number = |at: usize| Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?));
    let name = |at: usize| Name::read(data, at).ok();
    Some(match rtype {
        1 => Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).to_string(),
        28 => Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).to_string(),
        2 | 5 | 12 | 39 => name(0)?.0.to_string(),
        6 => {
            let (mname, at) = name(0)?;
            let (rname, at) = name(at)?;
            let numbers: Vec<String> = data
                .get(at..)?
                .chunks_exact(4)
                .map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]]).to_string())
                .collect();
            format!("{mname} {rname} {}", numbers.join(" "))
        }
        15 => format!("{} {}", number(0)?, name(2)?.0),
        16 => {
            let mut rest = data;
            let mut texts = Vec::new();
            while let Some((&n, tail)) = rest.split_first() {
                let (text, tail) = tail.split_at_checked(usize::from(n))?;
                texts.push(format!("\"{}\"", text.escape_ascii()));
                rest = tail;
            }
            texts.join(" ")
        }
        33 => format!("{} {} {} {}", number(0)?, number(2)?, number(4)?, name(6)?.0),
        _ => return None,
    })
}

/// Lower-case hexadecimal without blanks.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply with a compressed MX, an OPT with one option, and a trailing byte.
    fn sample() -> Vec<u8> {
        let mut m = vec![0x12, 0x34, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 1];
        m.extend(b"\x01A\x01b\x00\x00\x0f\x00\x01");
        m.extend(b"\xc0\x0c\x00\x0f\x00\x01\x00\x00\x00\x1e\x00\x07\x00\x0a\x02mx\xc0\x0e");
        m.extend(b"\x00\x00\x29\x04\xd0\x01\x00\x80\x00\x00\x06\x00\x0f\x00\x02\x00\x16");
        m.push(0xff);
        m
    }

    #[test]
    fn all_parts() {
        let m = Message::decode(&sample());
        assert_eq!(m.broken, None);
        assert_eq!((m.id, m.flags().as_str(), m.rcode()), (0x1234, "qr,aa,rd,ra", 16));
        assert_eq!(m.questions[0].to_string(), "A.b. IN MX");
        assert_eq!(m.answer[0].to_string(), "A.b. 30 IN MX 10 mx.b.");
        let opt = &m.opts[0];
        assert_eq!((opt.size, opt.version, opt.flags), (1232, 0, 0x8000));
        assert_eq!(opt.options, [(15, vec![0, 22])]);
        assert_eq!(m.trailing, [0xff]);
    }

    #[test]
    fn never_panics_on_a_cut_or_changed_message() {
        let whole = sample();
        for n in 0..whole.len() - 1 {
            assert!(Message::decode(&whole[..n]).broken.is_some(), "cut at {n}");
        }
        let mut random = crate::random::Random::new(7);
        for _ in 0..20_000 {
            let mut m = whole.clone();
            for _ in 0..random.between(1, 4) {
                let at = random.below(m.len());
                m[at] = random.byte();
            }
            let m = Message::decode(&m);
            let _ = m.answer.iter().map(|r| r.to_string()).collect::<String>();
        }
    }
}
