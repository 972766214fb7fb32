//! Lists of records in wire form, the fields of a SOA, and reasons to refuse a record.

use std::fmt;

use wire::message::Record;
use wire::{Class, Name, NameBuf, Rtype};

/// Records in uncompressed wire form, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordList {
    bytes: Vec<u8>,
    count: usize,
}

impl RecordList {
    pub fn push(&mut self, record: &Record<'_>) {
        self.bytes.extend_from_slice(record.owner.wire());
        self.bytes.extend_from_slice(&record.rtype.0.to_be_bytes());
        self.bytes.extend_from_slice(&record.class.0.to_be_bytes());
        self.bytes.extend_from_slice(&record.ttl.to_be_bytes());
        self.bytes.extend_from_slice(&(record.data.len() as u16).to_be_bytes());
        self.bytes.extend_from_slice(record.data);
        self.count += 1;
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Octets of all records.
    pub fn octets(&self) -> usize {
        self.bytes.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (record, after) = split_record(rest)?;
            rest = after;
            Some(record)
        })
    }
}

fn split_record(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let mut end = 0;
    while let len @ 1.. = *bytes.get(end)? {
        end += usize::from(len) + 1;
    }
    let (owner, rest) = bytes.split_at_checked(end + 1)?;
    let (head, rest) = rest.split_first_chunk::<10>()?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (data, rest) = rest.split_at_checked(usize::from(word(8)))?;
    let record = Record {
        owner: Name::from_wire(owner)?,
        rtype: Rtype(word(0)),
        class: Class(word(2)),
        ttl: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
        data,
    };
    Some((record, rest))
}

/// The fields of a SOA record that servers act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Soa {
    pub serial: u32,
    pub refresh: u32,
    pub retry: u32,
    pub expire: u32,
    pub minimum: u32,
}

impl Soa {
    /// Reads RDATA; None if it is no SOA.
    pub fn parse(data: &[u8]) -> Option<Soa> {
        let mut name = NameBuf::root();
        let at = name.read(data, 0).ok()?;
        let at = name.read(data, at).ok()?;
        let (numbers, []) = data.get(at..)?.as_chunks::<4>() else { return None };
        let [serial, refresh, retry, expire, minimum] = numbers else { return None };
        let number = |octets: &[u8; 4]| u32::from_be_bytes(*octets);
        Some(Soa {
            serial: number(serial),
            refresh: number(refresh),
            retry: number(retry),
            expire: number(expire),
            minimum: number(minimum),
        })
    }
}

/// Whether a serial is newer than another (RFC 1982 §3.2).
pub fn is_newer(serial: u32, than: u32) -> bool {
    serial.wrapping_sub(than) as i32 > 0
}

/// Why a zone cannot have a record, or cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    OutOfZone {
        owner: String,
        origin: String,
    },
    WrongClass {
        owner: String,
        class: Class,
    },
    /// A type for queries or transport only.
    MetaType {
        owner: String,
        rtype: Rtype,
    },
    SoaBelowApex {
        owner: String,
    },
    /// A type of which an owner has at most one record.
    Several {
        owner: String,
        rtype: Rtype,
    },
    CnameAndOther {
        owner: String,
        other: Rtype,
    },
    BadData {
        owner: String,
        rtype: Rtype,
    },
    NoSoa {
        origin: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OutOfZone { owner, origin } => write!(f, "{owner} is not in zone {origin}"),
            Refusal::WrongClass { owner, class } => write!(f, "{owner}: class {class} is not the zone's"),
            Refusal::MetaType { owner, rtype } => write!(f, "{owner}: type {rtype} cannot be in a zone"),
            Refusal::SoaBelowApex { owner } => write!(f, "{owner}: SOA below the zone's apex"),
            Refusal::Several { owner, rtype } => write!(f, "{owner}: more than one {rtype} record"),
            Refusal::CnameAndOther { owner, other } => {
                write!(f, "{owner}: CNAME and {other} at the same name")
            }
            Refusal::BadData { owner, rtype } => write!(f, "{owner}: RDATA is not of type {rtype}"),
            Refusal::NoSoa { origin } => write!(f, "zone {origin} has no SOA record"),
        }
    }
}

impl std::error::Error for Refusal {}
