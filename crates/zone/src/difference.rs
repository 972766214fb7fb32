//! The difference between two versions of a zone, and the bounded history of differences that IXFR is answered from.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::{Name, Rtype};

use crate::contents::Contents;
use crate::key;
use crate::record::RecordList;
use crate::set::{Sets, compare_data};
use wire::message::Record;

/// Records removed and added between two serials, in canonical order and without the SOAs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub from: u32,
    pub to: u32,
    /// The old SOA, then the removed records.
    pub removed: RecordList,
    /// The new SOA, then the added records.
    pub added: RecordList,
}

impl Difference {
    /// Compares two versions of a zone owner by owner.
    pub fn between(before: &Contents, after: &Contents) -> Difference {
        let mut keys = Vec::new();
        let (mut old, mut new) = (before.tree.iter().peekable(), after.tree.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.key.cmp(new.key),
            };
            let old = if order.is_le() { old.next() } else { None };
            let new = if order.is_ge() { new.next() } else { None };
            match (old, new) {
                (Some(old), Some(new)) if old.sets.0 == new.sets.0 => {}
                (Some(entry), _) | (None, Some(entry)) => keys.push(entry.key),
                (None, None) => break,
            }
        }
        Difference::of_owners(before, after, keys.into_iter())
    }

    pub(crate) fn of_owners<'k>(
        before: &Contents,
        after: &Contents,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Difference {
        let (mut removed, mut added) = (RecordList::default(), RecordList::default());
        for (contents, list) in [(before, &mut removed), (after, &mut added)] {
            if let Some(soa) = contents.soa_set() {
                let (owner, class) = (contents.origin(), contents.class());
                list.push(&Record { owner, rtype: Rtype::SOA, class, ttl: soa.ttl, data: soa.first() });
            }
        }
        for key in keys {
            let owner = key::name_of(key, after.origin());
            let sets =
                |contents: &Contents| contents.tree.get(key).map(|sets| sets.0.to_vec()).unwrap_or_default();
            let (old, new) = (sets(before), sets(after));
            push_missing(owner.as_name(), after, Sets(&old), Sets(&new), &mut removed);
            push_missing(owner.as_name(), after, Sets(&new), Sets(&old), &mut added);
        }
        Difference { from: before.serial(), to: after.serial(), removed, added }
    }

    /// Whether the records are the same, whatever the SOA says.
    pub fn is_empty(&self) -> bool {
        self.removed.len() <= 1 && self.added.len() <= 1
    }

    pub fn octets(&self) -> usize {
        self.removed.octets() + self.added.octets()
    }
}

/// Adds to a list what one version of an owner has and the other lacks. A set with another TTL is another set.
fn push_missing(owner: Name<'_>, contents: &Contents, has: Sets<'_>, lacks: Sets<'_>, list: &mut RecordList) {
    for set in has.iter().filter(|set| set.rtype != Rtype::SOA) {
        let other = lacks
            .iter()
            .find(|other| (other.rtype, other.covered, other.ttl) == (set.rtype, set.covered, set.ttl));
        let others: Vec<&[u8]> = other.iter().flat_map(|other| other.records()).collect();
        for data in set.records() {
            if others.binary_search_by(|known| compare_data(set.rtype, known, data)).is_err() {
                list.push(&Record { owner, rtype: set.rtype, class: contents.class(), ttl: set.ttl, data });
            }
        }
    }
}

/// The differences between the last versions of a zone, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    differences: VecDeque<Arc<Difference>>,
    octets: usize,
}

/// Octets of differences that even a small zone keeps.
const MIN_HISTORY: usize = 1 << 20;
/// Octets of differences that no zone exceeds.
const MAX_HISTORY: usize = 64 << 20;

impl History {
    /// The history with one more difference, which must begin where the last one ended; otherwise it is the only one. A
    /// transfer of differences larger than the zone is of no use, so older ones are dropped.
    pub fn with(&self, difference: Difference, zone_octets: usize) -> History {
        let mut next = match self.differences.back() {
            Some(last) if last.to == difference.from => self.clone(),
            _ => History::default(),
        };
        next.octets += difference.octets();
        next.differences.push_back(Arc::new(difference));
        while next.octets > zone_octets.clamp(MIN_HISTORY, MAX_HISTORY) {
            let Some(oldest) = next.differences.pop_front() else { break };
            next.octets -= oldest.octets();
        }
        next
    }

    /// The differences from a serial to the present; None if it is too old or unknown.
    pub fn since(&self, serial: u32) -> Option<Vec<Arc<Difference>>> {
        let first = self.differences.iter().rposition(|difference| difference.from == serial)?;
        Some(self.differences.iter().skip(first).cloned().collect())
    }
}
