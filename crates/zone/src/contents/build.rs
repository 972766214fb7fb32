//! Builds the contents of a zone from records in any order.

use std::ops::Range;

use wire::{Class, Name, NameBuf, Rtype};

use super::{Contents, admit, check_owner, count, is_cut};
use crate::key;
use crate::record::Refusal;
use crate::set::{Sets, compare_data, covered, order, pack_set};
use crate::tree::Tree;
use wire::message::Record;

/// Collects records; sorted once at the end, so that a million takes about a second.
pub struct Builder {
    origin: NameBuf,
    class: Class,
    records: Vec<Pending>,
    /// Keys and RDATA of all records.
    arena: Vec<u8>,
}

struct Pending {
    key: Range<usize>,
    data: Range<usize>,
    rtype: Rtype,
    covered: Rtype,
    ttl: u32,
}

impl Builder {
    pub fn new(origin: Name<'_>, class: Class) -> Builder {
        Builder { origin: origin.to_lower(), class, records: Vec::new(), arena: Vec::new() }
    }

    pub fn origin(&self) -> Name<'_> {
        self.origin.as_name()
    }

    pub fn add(&mut self, record: &Record<'_>) -> Result<(), Refusal> {
        let key = admit(record, self.origin.as_name(), self.class)?;
        let start = self.arena.len();
        self.arena.extend_from_slice(key.bytes());
        let middle = self.arena.len();
        self.arena.extend_from_slice(record.data);
        self.records.push(Pending {
            key: start..middle,
            data: middle..self.arena.len(),
            rtype: record.rtype,
            covered: covered(record.rtype, record.data),
            ttl: record.ttl,
        });
        Ok(())
    }

    /// The contents, if the records make up a zone. Records that are there twice count once; the TTL of a set is that of
    /// its first record (RFC 2181 §5.2).
    pub fn finish(mut self) -> Result<Contents, Refusal> {
        let arena = &self.arena;
        // Stable, so that the first record of a set stays the first of equal ones.
        self.records.sort_by(|a, b| {
            let place = |it: &Pending| order(it.rtype, it.covered);
            arena[a.key.clone()].cmp(&arena[b.key.clone()]).then_with(|| place(a).cmp(&place(b)))
        });
        let mut refused = None;
        let (mut cuts, mut records) = (0, 0);
        let owners = self.records.chunk_by(|a, b| arena[a.key.clone()] == arena[b.key.clone()]);
        let entries = owners.map(|owner| {
            let key = &arena[owner[0].key.clone()];
            let packed = pack_owner(owner, arena);
            let sets = Sets(&packed);
            cuts += usize::from(is_cut(key, sets));
            records += count(sets);
            if let Err(refusal) = check_owner(|| key::name_of(key, self.origin.as_name()).to_string(), sets) {
                refused.get_or_insert(refusal);
            }
            (key, packed)
        });
        let tree = Tree::from_sorted(entries);
        if let Some(refusal) = refused {
            return Err(refusal);
        }
        let contents = Contents { origin: self.origin, class: self.class, tree, cuts, records };
        match contents.soa_set() {
            Some(_) => Ok(contents),
            None => Err(Refusal::NoSoa { origin: contents.origin.to_string() }),
        }
    }
}

fn pack_owner(owner: &[Pending], arena: &[u8]) -> Vec<u8> {
    let octets: usize = owner.iter().map(|it| 16 + it.data.len()).sum();
    let mut packed = Vec::with_capacity(octets);
    for set in owner.chunk_by(|a, b| (a.rtype, a.covered) == (b.rtype, b.covered)) {
        let (rtype, covered, ttl) = (set[0].rtype, set[0].covered, set[0].ttl);
        let mut records: Vec<&[u8]> = set.iter().map(|it| &arena[it.data.clone()]).collect();
        records.sort_by(|a, b| compare_data(rtype, a, b));
        records.dedup_by(|a, b| compare_data(rtype, a, b).is_eq());
        pack_set(rtype, covered, ttl, records.into_iter(), &mut packed);
    }
    packed
}
