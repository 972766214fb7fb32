//! Record sets of one owner, packed one after the other: what a leaf of the tree stores for a key.
//!
//! ```text
//! type:2 covered:2 ttl:4 count:2 octets:4, then for each record length:2 and RDATA
//! ```
//!
//! Signatures are sets of their own, by the type they cover, and follow that type's set. RDATA is uncompressed and in canonical order.

use std::cmp::Ordering;

use wire::Rtype;
use wire::layout::{Field, Piece, layout, walk_data};

const HEAD: usize = 14;

/// The records of one owner and type; of type RRSIG, those that cover one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSet<'a> {
    pub rtype: Rtype,
    /// For signatures the type they cover, otherwise none.
    pub covered: Rtype,
    pub ttl: u32,
    count: u16,
    records: &'a [u8],
}

impl<'a> RecordSet<'a> {
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The RDATA of each record.
    pub fn records(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.records;
        std::iter::from_fn(move || {
            let (len, after) = rest.split_first_chunk::<2>()?;
            let (data, after) = after.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
            rest = after;
            Some(data)
        })
    }

    /// The RDATA of the first record; a set has at least one.
    pub fn first(&self) -> &'a [u8] {
        self.records().next().unwrap_or_default()
    }
}

/// All record sets of one owner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sets<'a>(pub(crate) &'a [u8]);

impl<'a> Sets<'a> {
    pub fn iter(&self) -> impl Iterator<Item = RecordSet<'a>> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (set, after) = split_set(rest)?;
            rest = after;
            Some(set)
        })
    }

    pub fn get(&self, rtype: Rtype) -> Option<RecordSet<'a>> {
        self.iter().find(|set| set.rtype == rtype && set.rtype != Rtype::RRSIG)
    }

    pub fn has(&self, rtype: Rtype) -> bool {
        self.get(rtype).is_some()
    }

    /// The signatures over a type's set.
    pub fn signatures(&self, covered: Rtype) -> Option<RecordSet<'a>> {
        self.iter().find(|set| set.rtype == Rtype::RRSIG && set.covered == covered)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn split_set(bytes: &[u8]) -> Option<(RecordSet<'_>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let long = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (records, rest) = rest.split_at_checked(long(10) as usize)?;
    let set =
        RecordSet { rtype: Rtype(word(0)), covered: Rtype(word(2)), ttl: long(4), count: word(8), records };
    Some((set, rest))
}

/// The record sets of one owner, to be changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnedSets(Vec<OwnedSet>);

#[derive(Clone, Debug)]
pub(crate) struct OwnedSet {
    pub rtype: Rtype,
    pub covered: Rtype,
    pub ttl: u32,
    pub records: Vec<Vec<u8>>,
}

impl OwnedSet {
    fn order(&self) -> (Rtype, bool) {
        order(self.rtype, self.covered)
    }
}

/// Where a set stands among those of its owner: signatures after the type they cover.
pub(crate) fn order(rtype: Rtype, covered: Rtype) -> (Rtype, bool) {
    if rtype == Rtype::RRSIG { (covered, true) } else { (rtype, false) }
}

/// The type that RDATA of this type covers: only signatures cover one.
pub(crate) fn covered(rtype: Rtype, data: &[u8]) -> Rtype {
    match data.first_chunk::<2>() {
        Some(covered) if rtype == Rtype::RRSIG => Rtype(u16::from_be_bytes(*covered)),
        _ => Rtype::NONE,
    }
}

impl OwnedSets {
    pub fn new(sets: Sets<'_>) -> OwnedSets {
        let owned = |set: RecordSet<'_>| OwnedSet {
            rtype: set.rtype,
            covered: set.covered,
            ttl: set.ttl,
            records: set.records().map(<[u8]>::to_vec).collect(),
        };
        OwnedSets(sets.iter().map(owned).collect())
    }

    fn place(&self, rtype: Rtype, data: &[u8]) -> Result<usize, usize> {
        let key = order(rtype, covered(rtype, data));
        self.0.binary_search_by_key(&key, OwnedSet::order)
    }

    /// Adds a record. Its TTL becomes that of the whole set (RFC 2181 §5.2) if the set has none yet. False if the record
    /// is already there.
    pub fn add(&mut self, rtype: Rtype, ttl: u32, data: &[u8]) -> bool {
        let at = match self.place(rtype, data) {
            Ok(at) => at,
            Err(at) => {
                let covered = covered(rtype, data);
                self.0.insert(at, OwnedSet { rtype, covered, ttl, records: Vec::new() });
                at
            }
        };
        let records = &mut self.0[at].records;
        match records.binary_search_by(|known| compare_data(rtype, known, data)) {
            Ok(_) => false,
            Err(at) => {
                records.insert(at, data.to_vec());
                true
            }
        }
    }

    /// Removes a record; false if there is none with this RDATA.
    pub fn remove(&mut self, rtype: Rtype, data: &[u8]) -> bool {
        let Ok(at) = self.place(rtype, data) else { return false };
        let records = &mut self.0[at].records;
        let Ok(found) = records.binary_search_by(|known| compare_data(rtype, known, data)) else {
            return false;
        };
        records.remove(found);
        if records.is_empty() {
            self.0.remove(at);
        }
        true
    }

    /// Removes the set of a type, for RRSIG all of them; false if there is none.
    pub fn remove_type(&mut self, rtype: Rtype) -> bool {
        let before = self.0.len();
        self.0.retain(|set| set.rtype != rtype);
        self.0.len() < before
    }

    pub fn set_mut(&mut self, rtype: Rtype, data: &[u8]) -> Option<&mut OwnedSet> {
        let at = self.place(rtype, data).ok()?;
        self.0.get_mut(at)
    }

    pub fn pack(&self, out: &mut Vec<u8>) {
        for set in &self.0 {
            let records = set.records.iter().map(Vec::as_slice);
            pack_set(set.rtype, set.covered, set.ttl, records, out);
        }
    }
}

/// Writes one set. Sets must be written in order, signatures after the type they cover.
pub(crate) fn pack_set<'a>(
    rtype: Rtype,
    covered: Rtype,
    ttl: u32,
    records: impl Iterator<Item = &'a [u8]> + Clone,
    out: &mut Vec<u8>,
) {
    let (count, octets) = records.clone().fold((0u16, 0), |(n, sum), data| (n + 1, sum + 2 + data.len()));
    out.extend_from_slice(&rtype.0.to_be_bytes());
    out.extend_from_slice(&covered.0.to_be_bytes());
    out.extend_from_slice(&ttl.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&(octets as u32).to_be_bytes());
    for data in records {
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(data);
    }
}

/// The canonical order of RDATA (RFC 4034 §6.3), in which names compare without case. Sets are kept in it, so that equal
/// contents are equal octets.
pub(crate) fn compare_data(rtype: Rtype, a: &[u8], b: &[u8]) -> Ordering {
    let has_names = layout(rtype).iter().any(|field| matches!(field, Field::Name | Field::PlainName));
    if has_names { canonical(rtype, a).cmp(&canonical(rtype, b)) } else { a.cmp(b) }
}

/// RDATA with its names in lower case (RFC 4034 §6.2).
fn canonical(rtype: Rtype, data: &[u8]) -> Vec<u8> {
    let mut lower = Vec::with_capacity(data.len());
    let whole = walk_data(rtype, data, 0, data.len(), |piece| match piece {
        Piece::Bytes(bytes) => lower.extend_from_slice(bytes),
        Piece::Name(name) => lower.extend(name.wire().iter().map(u8::to_ascii_lowercase)),
    });
    if whole { lower } else { data.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(sets: &OwnedSets) -> Vec<u8> {
        let mut out = Vec::new();
        sets.pack(&mut out);
        out
    }

    #[test]
    fn sets_are_ordered_and_signatures_follow() {
        let mut sets = OwnedSets::default();
        let signature = |covered: Rtype| [&covered.0.to_be_bytes()[..], &[8, 2]].concat();
        assert!(sets.add(Rtype::TXT, 60, b"\x01x"));
        assert!(sets.add(Rtype::RRSIG, 60, &signature(Rtype::A)));
        assert!(sets.add(Rtype::A, 60, &[10, 0, 0, 1]));
        assert!(sets.add(Rtype::A, 99, &[10, 0, 0, 2]));
        assert!(!sets.add(Rtype::A, 60, &[10, 0, 0, 1]));
        assert!(sets.add(Rtype::RRSIG, 60, &signature(Rtype::TXT)));
        let bytes = packed(&sets);
        let shown: Vec<_> =
            Sets(&bytes).iter().map(|set| (set.rtype, set.covered, set.ttl, set.len())).collect();
        assert_eq!(
            shown,
            [
                (Rtype::A, Rtype::NONE, 60, 2),
                (Rtype::RRSIG, Rtype::A, 60, 1),
                (Rtype::TXT, Rtype::NONE, 60, 1),
                (Rtype::RRSIG, Rtype::TXT, 60, 1),
            ]
        );
        assert_eq!(packed(&OwnedSets::new(Sets(&bytes))), bytes);
        assert!(sets.remove(Rtype::A, &[10, 0, 0, 1]));
        assert!(!sets.remove(Rtype::A, &[10, 0, 0, 1]));
        assert!(sets.remove(Rtype::A, &[10, 0, 0, 2]));
        assert_eq!(Sets(&packed(&sets)).get(Rtype::A), None);
    }

    #[test]
    fn names_in_data_compare_without_case() {
        for (rtype, a, b, same) in [
            (Rtype::NS, &b"\x02Ns\x00"[..], &b"\x02nS\x00"[..], true),
            (Rtype::MX, b"\x00\x41\x01a\x00", b"\x00\x61\x01a\x00", false),
            (Rtype::TXT, b"\x01a", b"\x01A", false),
            (Rtype::SRV, b"\x00\x00\x00\x00\x00\x50\x01a\x00", b"\x00\x00\x00\x00\x00\x50\x01A\x00", true),
        ] {
            assert_eq!(compare_data(rtype, a, b).is_eq(), same, "{rtype} {a:?} {b:?}");
        }
    }
}
