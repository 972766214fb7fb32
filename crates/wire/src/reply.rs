//! A reply: flags, code and records, gathered in one arena and encoded once at the end.
//!
//! Records are kept flat and uncompressed, so that plugins can shuffle them, change their times or take them
//! out without decoding anything. Owners that are the question's name (or a parent of it) are only a number
//! and become a compression pointer. Encoding is one loop; only replies too large for the client take the
//! slower way through real compression and truncation (`compress.rs`).

use crate::record::{Piece, walk_data};
use crate::{
    Class, Edns, EdnsOption, Flags, HEADER_LEN, Name, NameBuf, Opcode, Owner, Query, Rcode, Rdata, Record,
    Rtype, Section,
};
use crate::{compress, edns};

/// The OPT record a plugin gave the reply itself; otherwise the query's is reflected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opt {
    pub udp_size: u16,
    pub flags: u16,
    pub(crate) options: Vec<u8>,
}

impl Opt {
    pub fn new(udp_size: u16, dnssec_ok: bool) -> Opt {
        Opt { udp_size, flags: if dnssec_ok { Edns::DO } else { 0 }, options: Vec::new() }
    }

    pub fn options(&self) -> impl Iterator<Item = EdnsOption<'_>> {
        edns::options(&self.options)
    }

    pub fn push(&mut self, code: u16, data: &[u8]) {
        self.options.extend_from_slice(&code.to_be_bytes());
        self.options.extend_from_slice(&(data.len() as u16).to_be_bytes());
        self.options.extend_from_slice(data);
    }

    /// Replaces the option, in its place if it was there.
    pub fn set(&mut self, code: u16, data: &[u8]) {
        let old = std::mem::take(&mut self.options);
        let mut found = false;
        for option in edns::options(&old) {
            if option.code == code {
                found = true;
                self.push(code, data);
            } else {
                self.push(option.code, option.data);
            }
        }
        if !found {
            self.push(code, data);
        }
    }
}

/// How an encoding went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Records had to be left out; TC is set.
    pub truncated: bool,
}

/// A reply in the making. Cleared and filled again for every query.
#[derive(Clone, Debug)]
pub struct Reply {
    pub rcode: Rcode,
    pub opcode: Opcode,
    pub flags: Flags,
    pub opt: Option<Opt>,
    records: Vec<Record>,
    counts: [u16; 3],
    pub(crate) arena: Vec<u8>,
}

impl Default for Reply {
    fn default() -> Reply {
        Reply::new()
    }
}

impl Reply {
    pub fn new() -> Reply {
        Reply {
            rcode: Rcode::NOERROR,
            opcode: Opcode::QUERY,
            flags: Flags::QR,
            opt: None,
            records: Vec::new(),
            counts: [0; 3],
            arena: Vec::new(),
        }
    }

    /// Forgets everything and becomes an empty NOERROR reply to `query`: RD and CD are copied, the rest is off.
    pub fn begin(&mut self, query: &Query) {
        self.rcode = Rcode::NOERROR;
        self.opcode = query.opcode;
        let copied =
            if query.opcode == Opcode::QUERY { query.flags.0 & (Flags::RD.0 | Flags::CD.0) } else { 0 };
        self.flags = Flags(Flags::QR.0 | copied);
        self.opt = None;
        self.clear();
    }

    /// Drops all records and keeps their room.
    pub fn clear(&mut self) {
        self.records.clear();
        self.counts = [0; 3];
        self.arena.clear();
    }

    /// Leaves the room for records to another reply, whose own are dropped. A reply that has some keeps it.
    pub fn leave_room_to(&mut self, other: &mut Reply) {
        if self.records.is_empty() && self.arena.is_empty() {
            other.clear();
            std::mem::swap(&mut self.records, &mut other.records);
            std::mem::swap(&mut self.arena, &mut other.arena);
        }
    }

    /// An empty reply with a code.
    pub fn begin_error(&mut self, query: &Query, rcode: Rcode) {
        self.begin(query);
        self.rcode = rcode;
    }

    /// Adds a record; `data` writes its data.
    pub fn push_with(
        &mut self,
        section: Section,
        owner: Owner,
        rtype: Rtype,
        class: Class,
        ttl: u32,
        data: impl FnOnce(&mut Rdata<'_>),
    ) {
        let start = self.arena.len();
        data(&mut Rdata { arena: &mut self.arena });
        let data_len = self.arena.len() - start;
        debug_assert!(data_len <= usize::from(u16::MAX));
        let record = Record { owner, rtype, class, ttl, data_at: start as u32, data_len: data_len as u16 };
        self.insert(section, record);
    }

    /// Adds a record of class IN with these bytes as its data.
    pub fn push(&mut self, section: Section, owner: Owner, rtype: Rtype, ttl: u32, data: &[u8]) {
        self.push_with(section, owner, rtype, Class::IN, ttl, |out| {
            out.bytes(data);
        });
    }

    fn insert(&mut self, section: Section, record: Record) {
        let end: usize = self.counts[..=section as usize].iter().map(|&n| usize::from(n)).sum();
        if end == self.records.len() {
            self.records.push(record);
        } else {
            self.records.insert(end, record);
        }
        self.counts[section as usize] += 1;
    }

    /// Keeps a name for use as an owner.
    pub fn store(&mut self, name: Name<'_>) -> Owner {
        let at = self.arena.len() as u32;
        self.arena.extend_from_slice(name.wire());
        Owner::Stored { at, len: name.len() as u8 }
    }

    /// The name that begins after so many octets of the data of the record that was added last, as an owner.
    pub fn end_of_last(&self, skipped: u16) -> Option<Owner> {
        let record = self.records.last()?;
        let len = u8::try_from(record.data_len.checked_sub(skipped)?).ok()?;
        Some(Owner::Stored { at: record.data_at + u32::from(skipped), len })
    }

    pub fn section(&self, section: Section) -> &[Record] {
        &self.records[self.range(section)]
    }

    /// The records of a section, to reorder or to change in their fixed fields.
    pub fn section_mut(&mut self, section: Section) -> &mut [Record] {
        let range = self.range(section);
        &mut self.records[range]
    }

    fn range(&self, section: Section) -> std::ops::Range<usize> {
        let start: usize = self.counts[..section as usize].iter().map(|&n| usize::from(n)).sum();
        start..start + usize::from(self.counts[section as usize])
    }

    /// Takes out the records that do not please.
    pub fn retain(&mut self, section: Section, mut keep: impl FnMut(&Record) -> bool) {
        let range = self.range(section);
        let mut kept = range.start;
        for at in range.clone() {
            if keep(&self.records[at]) {
                self.records.swap(kept, at);
                kept += 1;
            }
        }
        self.records.drain(kept..range.end);
        self.counts[section as usize] = (kept - range.start) as u16;
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// All records, to change their fixed fields.
    pub fn records_mut(&mut self) -> &mut [Record] {
        &mut self.records
    }

    pub fn data(&self, record: &Record) -> &[u8] {
        let at = record.data_at as usize;
        &self.arena[at..at + usize::from(record.data_len)]
    }

    /// Whose record it is, given the question the owner may refer to.
    pub fn owner<'a>(&'a self, record: &Record, question: Name<'a>) -> Name<'a> {
        // Owners are only ever made from names.
        Name::from_wire(self.owner_octets(record.owner, question)).unwrap_or(Name::ROOT)
    }

    /// The octets of the name that an owner is.
    pub fn owner_octets<'a>(&'a self, owner: Owner, question: Name<'a>) -> &'a [u8] {
        match owner {
            Owner::Question(at) => &question.wire()[usize::from(at)..],
            Owner::Stored { at, len } => &self.arena[at as usize..at as usize + usize::from(len)],
        }
    }

    /// Owners that follow the question keep this name from now on, because the question is about to change.
    pub fn pin_owners(&mut self, question: Name<'_>) {
        if !self.records.iter().any(|record| matches!(record.owner, Owner::Question(_))) {
            return;
        }
        let Owner::Stored { at: base, .. } = self.store(question) else { return };
        for record in &mut self.records {
            if let Owner::Question(at) = record.owner {
                record.owner =
                    Owner::Stored { at: base + u32::from(at), len: (question.len() - usize::from(at)) as u8 };
            }
        }
    }

    /// Adds the records of a section of another reply, whose question was for `question`.
    pub fn append(&mut self, section: Section, other: &Reply, question: Name<'_>) {
        for record in other.section(section) {
            let owner = self.store(other.owner(record, question));
            self.push_with(section, owner, record.rtype, record.class, record.ttl, |data| {
                data.bytes(other.data(record));
            });
        }
    }

    /// Becomes a copy of another reply, both to the same question.
    pub fn copy_from(&mut self, other: &Reply) {
        self.rcode = other.rcode;
        self.opcode = other.opcode;
        self.flags = other.flags;
        self.opt.clone_from(&other.opt);
        self.records.clone_from(&other.records);
        self.counts = other.counts;
        self.arena.clone_from(&other.arena);
    }

    /// Octets with all names written out and no reflected OPT: what the query log and the metrics call size.
    pub fn plain_len(&self, question: &crate::Question) -> usize {
        let qname = question.name().len();
        let records: usize = self.records.iter().map(|record| plain_record_len(record, qname)).sum();
        HEADER_LEN + qname + 4 + records + self.opt.as_ref().map_or(0, |opt| 11 + opt.options.len())
    }

    /// Writes the reply for the client behind `query`, of at most `limit` octets.
    pub fn encode(&self, query: &Query, limit: usize, out: &mut Vec<u8>) -> Encoded {
        let opt = self.outgoing_opt(query);
        let opt_len = opt.map_or(0, |(_, options)| 11 + options.len());
        let qname = query.question.name();
        let records: usize = self.records.iter().map(written_record_len).sum();
        let len = HEADER_LEN + qname.len() + 4 + records + opt_len;
        if len > limit {
            out.clear();
            return compress::encode(self, query, opt, limit, out);
        }
        // All of it is written over, so what was there may stay till then.
        out.resize(len, 0);
        let mut room = Room(out);
        room.put(&header(self, query, self.flags, opt.is_some(), self.counts));
        if query.has_question() {
            room.copy(qname.wire());
            room.put(&question_tail(query));
        }
        for record in &self.records {
            self.write_record(record, qname, &mut room);
        }
        if let Some((edns, options)) = opt {
            room.put(&opt_head(edns, options, self.rcode));
            room.copy(options);
        }
        let unused = room.0.len();
        out.truncate(len - unused);
        Encoded { truncated: false }
    }

    /// One record behind the pointer to its owner, or behind the owner itself.
    fn write_record(&self, record: &Record, qname: Name<'_>, room: &mut Room<'_>) {
        // Owner pointer, type, class, time and length are one write in the usual case.
        let mut head = [0; HEADER_LEN];
        head[2..4].copy_from_slice(&record.rtype.0.to_be_bytes());
        head[4..6].copy_from_slice(&record.class.0.to_be_bytes());
        head[6..10].copy_from_slice(&record.ttl.to_be_bytes());
        head[10..].copy_from_slice(&record.data_len.to_be_bytes());
        match record.owner {
            Owner::Question(at) if qname.wire()[usize::from(at)] != 0 => {
                head[..2].copy_from_slice(&(0xC00C + u16::from(at)).to_be_bytes());
                room.put(&head);
            }
            // The root is shorter than a pointer to it.
            Owner::Question(_) => room.copy(&head[1..]),
            Owner::Stored { .. } => {
                room.copy(self.owner_octets(record.owner, qname));
                room.copy(&head[2..]);
            }
        }
        let data = self.data(record);
        match data.first_chunk::<4>() {
            Some(address) if data.len() == 4 => room.put(address),
            _ => room.copy(data),
        }
    }

    /// The OPT that goes out. A query without one gets none unless a plugin insisted; with one, size and DO
    /// are the client's, and the options only those a plugin put in.
    fn outgoing_opt(&self, query: &Query) -> Option<(Edns, &[u8])> {
        let reflect = |udp_size, flags| Edns { udp_size, version: 0, extended_rcode: 0, flags };
        match (&self.opt, query.edns) {
            (None, None) => None,
            (None, Some(edns)) => Some((reflect(edns.udp_size, edns.flags & 0xFF00), &[])),
            (Some(opt), Some(edns)) => {
                Some((reflect(edns.udp_size, opt.flags & 0xFF00 | edns.flags & Edns::DO), &opt.options))
            }
            (Some(opt), None) => Some((reflect(opt.udp_size, opt.flags), &opt.options)),
        }
    }

    /// Reads a whole reply message, as from another server. Returns the id and the question it answers, or
    /// None if the message is malformed.
    pub fn decode(&mut self, message: &[u8]) -> Option<(u16, crate::Question)> {
        let header: &[u8; HEADER_LEN] = message.first_chunk()?;
        let word = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
        let bits = word(2);
        self.opcode = Opcode((bits >> 11 & 0xF) as u8);
        self.flags = Flags(bits & 0x87F0);
        self.rcode = Rcode(bits & 0xF);
        self.opt = None;
        self.records.clear();
        self.counts = [0; 3];
        self.arena.clear();
        if word(4) != 1 {
            return None;
        }
        let mut name = NameBuf::root();
        let mut at = name.read(message, HEADER_LEN).ok()?;
        let fixed: &[u8; 4] = message.get(at..)?.first_chunk()?;
        let question = crate::Question::new(
            name.as_name(),
            Rtype(u16::from_be_bytes([fixed[0], fixed[1]])),
            Class(u16::from_be_bytes([fixed[2], fixed[3]])),
        );
        at += 4;
        for (section, count) in
            [(Section::Answer, word(6)), (Section::Authority, word(8)), (Section::Additional, word(10))]
        {
            for _ in 0..count {
                // Counts may promise more than there is; what is there is taken.
                if at == message.len() {
                    break;
                }
                at = self.decode_record(message, at, section, question.name())?;
            }
        }
        Some((word(0), question))
    }

    fn decode_record(
        &mut self,
        message: &[u8],
        at: usize,
        section: Section,
        qname: Name<'_>,
    ) -> Option<usize> {
        let mut owner = NameBuf::root();
        let at = owner.read(message, at).ok()?;
        let head: &[u8; 10] = message.get(at..)?.first_chunk()?;
        let rtype = Rtype(u16::from_be_bytes([head[0], head[1]]));
        let class = Class(u16::from_be_bytes([head[2], head[3]]));
        let ttl = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let start = at + 10;
        let end = start + usize::from(u16::from_be_bytes([head[8], head[9]]));
        let data = message.get(start..end)?;
        if rtype == Rtype::OPT && section == Section::Additional {
            if !edns::valid(data) {
                return None;
            }
            self.rcode = Rcode(self.rcode.0 & 0xF | u16::from(head[4]) << 4);
            self.opt = Some(Opt { udp_size: class.0, flags: (ttl & 0xFFFF) as u16, options: data.to_vec() });
            return Some(end);
        }
        let owner = if owner.as_name() == qname { Owner::Question(0) } else { self.store(owner.as_name()) };
        let mut well_formed = true;
        self.push_with(section, owner, rtype, class, ttl, |out| {
            well_formed = data.is_empty()
                || walk_data(rtype, message, start, end, |piece| match piece {
                    Piece::Bytes(bytes) => {
                        out.bytes(bytes);
                    }
                    Piece::Name(name) => {
                        out.name(name);
                    }
                });
        });
        well_formed.then_some(end)
    }
}

fn plain_record_len(record: &Record, qname: usize) -> usize {
    let owner = match record.owner {
        Owner::Question(at) => qname - usize::from(at),
        Owner::Stored { len, .. } => usize::from(len),
    };
    owner + 10 + usize::from(record.data_len)
}

/// The most octets [`Reply::encode`] writes for a record; it may be one less.
fn written_record_len(record: &Record) -> usize {
    let owner = match record.owner {
        Owner::Question(_) => 2,
        Owner::Stored { len, .. } => usize::from(len),
    };
    owner + 10 + usize::from(record.data_len)
}

/// What is left of a packet that has its length already: writing is checked, but nothing grows.
struct Room<'a>(&'a mut [u8]);

impl Room<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, octets: &[u8; N]) {
        let room = std::mem::take(&mut self.0);
        if let Some((place, rest)) = room.split_first_chunk_mut() {
            *place = *octets;
            self.0 = rest;
        }
    }

    #[inline]
    fn copy(&mut self, octets: &[u8]) {
        let room = std::mem::take(&mut self.0);
        if let Some((place, rest)) = room.split_at_mut_checked(octets.len()) {
            place.copy_from_slice(octets);
            self.0 = rest;
        }
    }
}

pub(crate) fn header(
    reply: &Reply,
    query: &Query,
    flags: Flags,
    opt: bool,
    counts: [u16; 3],
) -> [u8; HEADER_LEN] {
    let bits = flags.0 | u16::from(reply.opcode.0) << 11 | reply.rcode.0 & 0xF;
    let [i0, i1] = query.id.to_be_bytes();
    let [b0, b1] = bits.to_be_bytes();
    let [a0, a1] = counts[0].to_be_bytes();
    let [u0, u1] = counts[1].to_be_bytes();
    let [m0, m1] = (counts[2] + u16::from(opt)).to_be_bytes();
    [i0, i1, b0, b1, 0, u8::from(query.has_question()), a0, a1, u0, u1, m0, m1]
}

pub(crate) fn write_question(query: &Query, out: &mut Vec<u8>) {
    if query.has_question() {
        out.extend_from_slice(query.question.name().wire());
        out.extend_from_slice(&question_tail(query));
    }
}

fn question_tail(query: &Query) -> [u8; 4] {
    let [t0, t1] = query.question.qtype.0.to_be_bytes();
    let [c0, c1] = query.question.qclass.0.to_be_bytes();
    [t0, t1, c0, c1]
}

/// Type, class and time to live: what lies between owner and data length.
pub(crate) fn write_fixed(record: &Record, out: &mut Vec<u8>) {
    let mut fixed = [0; 8];
    fixed[..2].copy_from_slice(&record.rtype.0.to_be_bytes());
    fixed[2..4].copy_from_slice(&record.class.0.to_be_bytes());
    fixed[4..].copy_from_slice(&record.ttl.to_be_bytes());
    out.extend_from_slice(&fixed);
}

/// An OPT record but for its options.
pub(crate) fn opt_head(edns: Edns, options: &[u8], rcode: Rcode) -> [u8; 11] {
    let [s0, s1] = edns.udp_size.to_be_bytes();
    let [f0, f1] = edns.flags.to_be_bytes();
    let [l0, l1] = (options.len() as u16).to_be_bytes();
    [0, 0, 41, s0, s1, (rcode.0 >> 4) as u8, edns.version, f0, f1, l0, l1]
}

#[cfg(test)]
mod tests;
