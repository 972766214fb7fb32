//! A reply: flags, rcode and records in one arena, encoded once at the end.
//!
//! Records are flat and uncompressed, so that plugins can shuffle them, change their TTLs or remove them without
//! decoding. An owner that is the question's name or a suffix of it is an offset, encoded as a compression pointer.
//! Encoding is one loop; only replies too large for the client are compressed fully and truncated (`compress.rs`).

use crate::layout::{Piece, walk_data};
use crate::{
    Class, Edns, EdnsOption, Flags, HEADER_LEN, Name, NameBuf, Opcode, Owner, Query, Rcode, Rdata, Record,
    Rtype, Section,
};
use crate::{compress, edns};

/// The OPT record a plugin set on the reply; without one, the query's is reflected.
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

    /// Replaces the option in place, or appends it.
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

/// The result of [`Reply::encode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Some records did not fit; TC is set.
    pub truncated: bool,
}

/// A reply under construction. A worker reuses one value for all its queries.
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

    /// Resets this to an empty NOERROR reply to `query`: RD and CD are copied, other flags are cleared.
    pub fn begin(&mut self, query: &Query) {
        self.rcode = Rcode::NOERROR;
        self.opcode = query.opcode;
        let copied =
            if query.opcode == Opcode::QUERY { query.flags.0 & (Flags::RD.0 | Flags::CD.0) } else { 0 };
        self.flags = Flags(Flags::QR.0 | copied);
        self.opt = None;
        self.clear();
    }

    /// Removes all records and keeps their buffers.
    pub fn clear(&mut self) {
        self.records.clear();
        self.counts = [0; 3];
        self.arena.clear();
    }

    /// Swaps the buffers for records with `other`, whose records are removed. Does nothing if this reply has records.
    pub fn move_buffers_to(&mut self, other: &mut Reply) {
        if self.records.is_empty() && self.arena.is_empty() {
            other.clear();
            std::mem::swap(&mut self.records, &mut other.records);
            std::mem::swap(&mut self.arena, &mut other.arena);
        }
    }

    /// Resets this to an empty reply with an rcode.
    pub fn begin_error(&mut self, query: &Query, rcode: Rcode) {
        self.begin(query);
        self.rcode = rcode;
    }

    /// Adds a record; `data` writes its RDATA.
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

    /// Adds a record of class IN with this RDATA.
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

    /// Copies a name into the arena, for use as an owner.
    pub fn store(&mut self, name: Name<'_>) -> Owner {
        let at = self.arena.len() as u32;
        self.arena.extend_from_slice(name.wire());
        Owner::Stored { at, len: name.len() as u8 }
    }

    /// The last field of the last record's RDATA, a name after `skipped` octets, for use as an owner.
    pub fn owner_from_last_rdata(&self, skipped: u16) -> Option<Owner> {
        let record = self.records.last()?;
        let len = u8::try_from(record.data_len.checked_sub(skipped)?).ok()?;
        Some(Owner::Stored { at: record.data_at + u32::from(skipped), len })
    }

    pub fn section(&self, section: Section) -> &[Record] {
        &self.records[self.range(section)]
    }

    /// The records of a section, to reorder or to change fixed fields.
    pub fn section_mut(&mut self, section: Section) -> &mut [Record] {
        let range = self.range(section);
        &mut self.records[range]
    }

    fn range(&self, section: Section) -> std::ops::Range<usize> {
        let start: usize = self.counts[..section as usize].iter().map(|&n| usize::from(n)).sum();
        start..start + usize::from(self.counts[section as usize])
    }

    /// Keeps the records of a section for which `keep` returns true.
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

    /// The owner name of a record; `question` is the name that [`Owner::Question`] refers to.
    pub fn owner<'a>(&'a self, record: &Record, question: Name<'a>) -> Name<'a> {
        // Owners are made from names only, so this never fails.
        Name::from_wire(self.owner_octets(record.owner, question)).unwrap_or(Name::ROOT)
    }

    /// The owner name in wire format.
    pub fn owner_octets<'a>(&'a self, owner: Owner, question: Name<'a>) -> &'a [u8] {
        match owner {
            Owner::Question(at) => &question.wire()[usize::from(at)..],
            Owner::Stored { at, len } => &self.arena[at as usize..at as usize + usize::from(len)],
        }
    }

    /// Copies `question` into the arena and makes all [`Owner::Question`] refer to the copy; call it before the question
    /// changes.
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

    /// Adds a section of `other`, a reply to a question for the name `question`.
    pub fn append(&mut self, section: Section, other: &Reply, question: Name<'_>) {
        for record in other.section(section) {
            let owner = self.store(other.owner(record, question));
            self.push_with(section, owner, record.rtype, record.class, record.ttl, |data| {
                data.bytes(other.data(record));
            });
        }
    }

    /// Copies another reply to the same question.
    pub fn copy_from(&mut self, other: &Reply) {
        self.rcode = other.rcode;
        self.opcode = other.opcode;
        self.flags = other.flags;
        self.opt.clone_from(&other.opt);
        self.records.clone_from(&other.records);
        self.counts = other.counts;
        self.arena.clone_from(&other.arena);
    }

    /// Size with all names uncompressed and without a reflected OPT, as the query log and the metrics report it.
    pub fn plain_len(&self, question: &crate::Question) -> usize {
        let qname = question.name().len();
        let records: usize = self.records.iter().map(|record| plain_record_len(record, qname)).sum();
        HEADER_LEN + qname + 4 + records + self.opt.as_ref().map_or(0, |opt| 11 + opt.options.len())
    }

    /// Encodes the reply to `query` in at most `limit` octets.
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
        // All of it is overwritten, so old contents need no clearing.
        out.resize(len, 0);
        let mut writer = PacketWriter(out);
        writer.put(&header(self, query, self.flags, opt.is_some(), self.counts));
        if query.has_question() {
            writer.copy(qname.wire());
            writer.put(&question_tail(query));
        }
        for record in &self.records {
            self.write_record(record, qname, &mut writer);
        }
        if let Some((edns, options)) = opt {
            writer.put(&opt_head(edns, options, self.rcode));
            writer.copy(options);
        }
        let unused = writer.0.len();
        out.truncate(len - unused);
        Encoded { truncated: false }
    }

    /// Writes one record; its owner is a pointer into the question or a whole name.
    fn write_record(&self, record: &Record, qname: Name<'_>, writer: &mut PacketWriter<'_>) {
        // Owner pointer, type, class, TTL and RDLENGTH are one write in the usual case.
        let mut head = [0; HEADER_LEN];
        head[2..4].copy_from_slice(&record.rtype.0.to_be_bytes());
        head[4..6].copy_from_slice(&record.class.0.to_be_bytes());
        head[6..10].copy_from_slice(&record.ttl.to_be_bytes());
        head[10..].copy_from_slice(&record.data_len.to_be_bytes());
        match record.owner {
            Owner::Question(at) if qname.wire()[usize::from(at)] != 0 => {
                head[..2].copy_from_slice(&(0xC00C + u16::from(at)).to_be_bytes());
                writer.put(&head);
            }
            // The root is shorter than a pointer to it.
            Owner::Question(_) => writer.copy(&head[1..]),
            Owner::Stored { .. } => {
                writer.copy(self.owner_octets(record.owner, qname));
                writer.copy(&head[2..]);
            }
        }
        let data = self.data(record);
        match data.first_chunk::<4>() {
            Some(address) if data.len() == 4 => writer.put(address),
            _ => writer.copy(data),
        }
    }

    /// The OPT to send. A query without OPT gets none unless a plugin set one; for others, size and DO are the client's
    /// and the options those a plugin set.
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

    /// Decodes a reply from another server. Returns its id and question, or `None` if it is malformed.
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
                // Counts may be larger than the number of records.
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

/// Maximum octets [`Reply::encode`] writes for a record; it writes one less if the owner is the root.
fn written_record_len(record: &Record) -> usize {
    let owner = match record.owner {
        Owner::Question(_) => 2,
        Owner::Stored { len, .. } => usize::from(len),
    };
    owner + 10 + usize::from(record.data_len)
}

/// Writes into a buffer of fixed length; holds the part not yet written. Writes are bounds-checked, the buffer never
/// grows.
struct PacketWriter<'a>(&'a mut [u8]);

impl PacketWriter<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, octets: &[u8; N]) {
        let rest = std::mem::take(&mut self.0);
        if let Some((target, rest)) = rest.split_first_chunk_mut() {
            *target = *octets;
            self.0 = rest;
        }
    }

    #[inline]
    fn copy(&mut self, octets: &[u8]) {
        let rest = std::mem::take(&mut self.0);
        if let Some((target, rest)) = rest.split_at_mut_checked(octets.len()) {
            target.copy_from_slice(octets);
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

/// Writes type, class and TTL.
pub(crate) fn write_fixed(record: &Record, out: &mut Vec<u8>) {
    let mut fixed = [0; 8];
    fixed[..2].copy_from_slice(&record.rtype.0.to_be_bytes());
    fixed[2..4].copy_from_slice(&record.class.0.to_be_bytes());
    fixed[4..].copy_from_slice(&record.ttl.to_be_bytes());
    out.extend_from_slice(&fixed);
}

/// An OPT record without its options.
pub(crate) fn opt_head(edns: Edns, options: &[u8], rcode: Rcode) -> [u8; 11] {
    let [s0, s1] = edns.udp_size.to_be_bytes();
    let [f0, f1] = edns.flags.to_be_bytes();
    let [l0, l1] = (options.len() as u16).to_be_bytes();
    [0, 0, 41, s0, s1, (rcode.0 >> 4) as u8, edns.version, f0, f1, l0, l1]
}

#[cfg(test)]
mod tests;
