//! A leaf of the tree: some dozens of owners in canonical order, packed into one block of octets.
//!
//! ```text
//! count:4, end of each entry:4, then for each entry key length:2, key, record sets
//! ```
//!
//! A change writes a new block. Readers binary-search it in place.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::set::Sets;

/// Owners of a leaf; more split it.
pub(crate) const MAX_OWNERS: usize = 32;
/// Fewer owners are joined with a neighbour's.
pub(crate) const MIN_OWNERS: usize = 8;
/// Octets of a leaf beyond which it is split, if it has several owners: the cost of a change.
const MAX_OCTETS: usize = 8192;

#[derive(Clone, Debug)]
pub(crate) struct Leaf(Arc<[u8]>);

/// One owner with its record sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'t> {
    pub key: &'t [u8],
    pub sets: Sets<'t>,
}

impl Leaf {
    pub fn pack<'e>(entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone) -> Leaf {
        let count = entries.clone().count();
        let octets: usize = entries.clone().map(|(key, sets)| 2 + key.len() + sets.len()).sum();
        let mut bytes = Vec::with_capacity(4 + 4 * count + octets);
        bytes.extend_from_slice(&(count as u32).to_ne_bytes());
        let mut end = 4 + 4 * count;
        for (key, sets) in entries.clone() {
            end += 2 + key.len() + sets.len();
            bytes.extend_from_slice(&(end as u32).to_ne_bytes());
        }
        for (key, sets) in entries {
            bytes.extend_from_slice(&(key.len() as u16).to_ne_bytes());
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(sets);
        }
        Leaf(bytes.into())
    }

    pub fn len(&self) -> usize {
        self.number(0)
    }

    pub fn octets(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub fn same_as(&self, other: &Leaf) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn number(&self, index: usize) -> usize {
        let at = 4 * index;
        self.0
            .get(at..at + 4)
            .map_or(0, |octets| u32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]) as usize)
    }

    /// The entry at a position below `len`.
    pub fn entry(&self, position: usize) -> Entry<'_> {
        let start = if position == 0 { 4 + 4 * self.len() } else { self.number(position) };
        let entry = &self.0[start..self.number(position + 1)];
        let (key_len, rest) = entry.split_at(2);
        let (key, sets) = rest.split_at(usize::from(u16::from_ne_bytes([key_len[0], key_len[1]])));
        Entry { key, sets: Sets(sets) }
    }

    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> + Clone {
        (0..self.len()).map(|position| self.entry(position))
    }

    /// The position of a key, or where it would be.
    pub fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle).key.cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The leaf with the record sets of one owner replaced, or removed if there are none: no leaf if that was the last
    /// owner, two if it became too large.
    pub fn with(&self, key: &[u8], sets: &[u8]) -> Vec<Leaf> {
        let (at, skipped) = match self.search(key) {
            Ok(at) => (at, 1),
            Err(at) => (at, 0),
        };
        let before = self.entries().take(at).map(raw);
        let after = self.entries().skip(at + skipped).map(raw);
        let new = (!sets.is_empty()).then_some((key, sets));
        split(before.chain(new).chain(after))
    }

    /// This leaf's entries, then those of the next.
    pub fn join(&self, next: &Leaf) -> Vec<Leaf> {
        split(self.entries().map(raw).chain(next.entries().map(raw)))
    }
}

fn raw(entry: Entry<'_>) -> (&[u8], &[u8]) {
    (entry.key, entry.sets.0)
}

/// Packs entries into as many leaves as they need, of about equal numbers of owners.
pub(crate) fn split<'e>(entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone) -> Vec<Leaf> {
    let (count, octets) =
        entries.clone().fold((0usize, 0), |(n, sum), (key, sets)| (n + 1, sum + key.len() + sets.len()));
    let leaves = count.div_ceil(MAX_OWNERS).max(octets.div_ceil(MAX_OCTETS).min(count));
    let mut packed = Vec::with_capacity(leaves);
    for number in 0..leaves {
        let (from, to) = (count * number / leaves, count * (number + 1) / leaves);
        packed.push(Leaf::pack(entries.clone().skip(from).take(to - from)));
    }
    packed
}
