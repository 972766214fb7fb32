//! The contents of a zone: an immutable set of records, cheap to clone and to derive the next version from.

mod build;
mod edit;
#[cfg(test)]
mod tests;

use wire::{Class, Name, NameBuf, Rtype};

use crate::key::{self, Key};
use crate::record::{Refusal, Soa};
use crate::set::{RecordSet, Sets};
use crate::tree::Tree;
use wire::message::Record;

pub use build::Builder;
pub use edit::Editor;

#[derive(Clone, Debug)]
pub struct Contents {
    /// In lower case.
    pub(crate) origin: NameBuf,
    class: Class,
    pub(crate) tree: Tree,
    /// Owners that hide the names below them: delegations and DNAMEs. Look-ups search for one only if there are any.
    pub(crate) cuts: usize,
    records: usize,
}

impl Contents {
    /// The zone's name, in lower case.
    pub fn origin(&self) -> Name<'_> {
        self.origin.as_name()
    }

    pub fn class(&self) -> Class {
        self.class
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records
    }

    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Number of owners.
    pub fn owners(&self) -> usize {
        self.tree.len()
    }

    /// Octets of all records in memory.
    pub fn octets(&self) -> usize {
        self.tree.octets()
    }

    pub fn apex(&self) -> Sets<'_> {
        self.tree.get(&[]).unwrap_or_default()
    }

    pub(crate) fn soa_set(&self) -> Option<RecordSet<'_>> {
        self.apex().get(Rtype::SOA)
    }

    /// The SOA's fields. Every zone has one: it is built with it, and no change removes it.
    pub fn soa(&self) -> Soa {
        const NONE: Soa = Soa { serial: 0, refresh: 0, retry: 0, expire: 0, minimum: 0 };
        self.soa_set().and_then(|set| Soa::parse(set.first())).unwrap_or(NONE)
    }

    pub fn serial(&self) -> u32 {
        self.soa().serial
    }

    /// The record sets of a name, in any case; None if it has none or is not in the zone.
    pub fn sets(&self, owner: Name<'_>) -> Option<Sets<'_>> {
        self.tree.get(Key::of(owner, self.origin())?.bytes())
    }

    /// Calls `each` with all records in canonical order of their owners; the SOA is the first.
    pub fn for_each(&self, mut each: impl FnMut(Record<'_>)) {
        for entry in self.tree.iter() {
            let owner = key::name_of(entry.key, self.origin());
            let (soa, others): (Vec<_>, Vec<_>) = entry.sets.iter().partition(|set| set.rtype == Rtype::SOA);
            for set in soa.into_iter().chain(others) {
                self.for_each_of(owner.as_name(), &set, &mut each);
            }
        }
    }

    fn for_each_of(&self, owner: Name<'_>, set: &RecordSet<'_>, each: &mut impl FnMut(Record<'_>)) {
        for data in set.records() {
            each(Record { owner, rtype: set.rtype, class: self.class, ttl: set.ttl, data });
        }
    }

    /// Checks a record without regard to others and returns the key of its owner.
    fn admit(&self, record: &Record<'_>) -> Result<Key, Refusal> {
        admit(record, self.origin(), self.class)
    }
}

/// Checks a record without regard to others and returns the key of its owner.
fn admit(record: &Record<'_>, origin: Name<'_>, class: Class) -> Result<Key, Refusal> {
    let owner = || record.owner.to_string();
    if record.class != class {
        return Err(Refusal::WrongClass { owner: owner(), class: record.class });
    }
    // RFC 6895 §3.1: 128 to 255 are queries and meta types.
    if matches!(record.rtype.0, 0 | 41 | 128..=255) {
        return Err(Refusal::MetaType { owner: owner(), rtype: record.rtype });
    }
    let Some(key) = Key::of(record.owner, origin) else {
        return Err(Refusal::OutOfZone { owner: owner(), origin: origin.to_string() });
    };
    if record.rtype == Rtype::SOA && !key.bytes().is_empty() {
        return Err(Refusal::SoaBelowApex { owner: owner() });
    }
    if !is_well_formed(record.rtype, record.data) {
        return Err(Refusal::BadData { owner: owner(), rtype: record.rtype });
    }
    Ok(key)
}

/// Whether RDATA has all the fields of its type.
fn is_well_formed(rtype: Rtype, data: &[u8]) -> bool {
    use wire::layout::{Field, layout, walk_data};
    let mut fields = 0;
    let whole = walk_data(rtype, data, 0, data.len(), |_| fields += 1);
    let needed = layout(rtype).iter().filter(|field| !matches!(field, Field::Rest | Field::Texts)).count();
    whole && fields >= needed && (rtype != Rtype::SOA || Soa::parse(data).is_some())
}

/// Checks what an owner may not have together.
fn check_owner(owner: impl Fn() -> String, sets: Sets<'_>) -> Result<(), Refusal> {
    let has_cname = sets.has(Rtype::CNAME);
    for set in sets.iter() {
        let single = matches!(set.rtype, Rtype::CNAME | Rtype::DNAME | Rtype::SOA);
        if single && set.len() > 1 {
            return Err(Refusal::Several { owner: owner(), rtype: set.rtype });
        }
        // RFC 4034 §2.5: only these may stand beside a CNAME.
        let beside = matches!(set.rtype, Rtype::CNAME | Rtype::RRSIG | Rtype::NSEC | Rtype::KEY);
        if has_cname && !beside {
            return Err(Refusal::CnameAndOther { owner: owner(), other: set.rtype });
        }
    }
    Ok(())
}

/// Whether an owner hides the names below it.
fn is_cut(key: &[u8], sets: Sets<'_>) -> bool {
    sets.has(Rtype::DNAME) || (!key.is_empty() && sets.has(Rtype::NS))
}

fn count(sets: Sets<'_>) -> usize {
    sets.iter().map(|set| set.len()).sum()
}
