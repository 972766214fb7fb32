//! Finds the place of a name in a zone: RFC 1034 §4.3.2, RFC 4592 (wildcards), RFC 6672 (DNAME).
//!
//! In canonical order all names below one name follow it. So a name without records exists if the next entry is below
//! it, and the closest encloser of a missing name is its longest common ancestor with one of its two neighbours.

use wire::Rtype;

use crate::contents::Contents;
use crate::key::{self, Key};
use crate::leaf::Entry;
use crate::set::Sets;
use crate::tree::Cursor;

/// Where a name leads.
pub(crate) enum Place<'c> {
    /// The name has records.
    Owner(Entry<'c>),
    /// No records, but names below it exist: an empty non-terminal.
    Empty,
    /// The wildcard that covers the name.
    Wildcard(Entry<'c>),
    /// The name does not exist; the length of the key of its closest encloser.
    Missing { encloser: usize },
    /// The name is at or below a delegation.
    Delegation(Entry<'c>),
    /// The name is below the owner of a DNAME.
    Dname(Entry<'c>),
}

impl Contents {
    /// The place of a name by its key. DS records of a delegation belong to this zone, all others to the child.
    pub(crate) fn locate(&self, key: &[u8], qtype: Rtype) -> Place<'_> {
        if self.cuts > 0
            && let Some(cut) = self.cut_above(key)
        {
            return cut;
        }
        let mut cursor = self.tree.seek(key);
        if let Some(entry) = cursor.entry() {
            let delegated =
                self.cuts > 0 && !key.is_empty() && qtype != Rtype::DS && entry.sets.has(Rtype::NS);
            return if delegated { Place::Delegation(entry) } else { Place::Owner(entry) };
        }
        let encloser = match self.neighbours(&mut cursor, key) {
            None => return Place::Empty,
            Some(encloser) => encloser,
        };
        let wildcard = Key::wildcard_below(&key[..encloser]);
        match self.entry(wildcard.bytes()) {
            Some(entry) if self.cuts > 0 && entry.sets.has(Rtype::NS) => Place::Delegation(entry),
            Some(entry) => Place::Wildcard(entry),
            None => Place::Missing { encloser },
        }
    }

    /// The closest encloser of a missing name, by its neighbours; None if the name is an empty non-terminal.
    fn neighbours(&self, cursor: &mut Cursor<'_>, key: &[u8]) -> Option<usize> {
        let mut before = cursor.clone();
        let mut encloser = 0;
        if cursor.forward()
            && let Some(next) = cursor.entry()
        {
            if next.key.starts_with(key) {
                return None;
            }
            encloser = key::common_ancestor(key, next.key);
        }
        if before.back()
            && let Some(previous) = before.entry()
        {
            encloser = encloser.max(key::common_ancestor(key, previous.key));
        }
        Some(encloser)
    }

    /// The topmost delegation or DNAME above a name.
    fn cut_above(&self, key: &[u8]) -> Option<Place<'_>> {
        if !key.is_empty()
            && let Some(entry) = self.entry(&[])
            && entry.sets.has(Rtype::DNAME)
        {
            return Some(Place::Dname(entry));
        }
        key::ancestors(key).find_map(|ancestor| {
            let entry = self.entry(ancestor)?;
            if entry.sets.has(Rtype::NS) {
                Some(Place::Delegation(entry))
            } else {
                entry.sets.has(Rtype::DNAME).then_some(Place::Dname(entry))
            }
        })
    }

    pub(crate) fn entry(&self, key: &[u8]) -> Option<Entry<'_>> {
        self.tree.seek(key).entry()
    }

    /// The sets of a name in this zone's own data, for additional records: also below delegations, where they are glue.
    pub(crate) fn address_sets(&self, target: wire::Name<'_>) -> Option<Sets<'_>> {
        self.sets(target)
    }

    /// The entry whose NSEC covers a name, or is at it: the last one up to it that has an NSEC.
    pub(crate) fn nsec_for(&self, key: &[u8]) -> Option<Entry<'_>> {
        let mut cursor = self.tree.seek(key);
        loop {
            if let Some(entry) = cursor.entry()
                && entry.sets.has(Rtype::NSEC)
            {
                return Some(entry);
            }
            if !cursor.back() {
                return None;
            }
        }
    }
}
