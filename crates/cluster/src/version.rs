//! Whether what an answer was made of is still so, told without looking at it again.
//!
//! ```text
//! writer:  snapshot ─→ published ─→ numbers of what changed go up
//! reader:  number ─→ snapshot, still the one that was answered from ─→ later: is the number still the same?
//! ```
//!
//! The order makes it safe: who sees a new number sees the snapshot it belongs to. Entries share numbers, so a change may
//! seem to touch an answer that it does not; never the other way round.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that entries share. Few enough to stay in the processor's cache.
const STRIPES: usize = 1024;

/// For answers in which no serial shows.
const NO_SERIAL: u64 = u64::MAX;

/// What an answer was made of, beside the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// What is known under these labels, by their [`hash`](crate::Snapshot::hash), and of their namespace.
    Entry(u64),
    /// More than that.
    Everything,
}

/// The state of a [`Basis`] at one moment.
pub type Mark = [u64; 2];

/// What changed between two snapshots.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    entries: Vec<u64>,
    all: bool,
}

/// The numbers of one cluster.
#[derive(Debug)]
pub(crate) struct Versions {
    everything: AtomicU64,
    serials: AtomicU64,
    stripes: Box<[AtomicU64]>,
}

impl Touched {
    pub fn entry(&mut self, hash: u64) {
        if self.entries.len() < STRIPES {
            self.entries.push(hash);
        } else {
            self.all = true;
        }
    }

    /// Something that no entry tells of, and that many answers may depend on.
    pub fn all(&mut self) {
        self.all = true;
    }
}

impl Versions {
    pub fn new() -> Self {
        Self {
            everything: AtomicU64::new(0),
            serials: AtomicU64::new(0),
            stripes: (0..STRIPES).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The snapshot that shows these changes was published. There is one writer.
    pub fn move_on(&self, touched: &mut Touched, serials: bool) {
        if touched.all {
            self.stripes.iter().for_each(next);
        } else {
            touched.entries.iter().for_each(|hash| next(&self.stripes[stripe(*hash)]));
        }
        touched.entries.clear();
        touched.all = false;
        if serials {
            next(&self.serials);
        }
        next(&self.everything);
    }

    /// `serial`: it shows in the answer.
    pub fn mark(&self, basis: Basis, serial: bool) -> Mark {
        let serial = if serial { self.serials.load(Ordering::Acquire) } else { NO_SERIAL };
        [self.state(place(basis)), serial]
    }

    pub fn is_unchanged(&self, mark: Mark) -> bool {
        self.state((mark[0] >> 48) as usize) == mark[0]
            && (mark[1] == NO_SERIAL || mark[1] == self.serials.load(Ordering::Acquire))
    }

    /// A place and its number in one: the former in the upper bits, where no number gets to.
    fn state(&self, place: usize) -> u64 {
        let number = place.checked_sub(1).and_then(|stripe| self.stripes.get(stripe));
        (place as u64) << 48 | number.unwrap_or(&self.everything).load(Ordering::Acquire)
    }
}

fn next(number: &AtomicU64) {
    number.store(number.load(Ordering::Relaxed) + 1, Ordering::Release);
}

fn stripe(hash: u64) -> usize {
    hash as usize % STRIPES
}

fn place(basis: Basis) -> usize {
    match basis {
        Basis::Everything => 0,
        Basis::Entry(hash) => 1 + stripe(hash),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_moves_and_the_rest_stays() {
        let entry = Basis::Entry;
        // What is touched, whether serials move, and which of the marks below still hold.
        type Case = (&'static [u64], bool, bool, [bool; 5]);
        let cases: [Case; 6] = [
            (&[], false, false, [true, true, true, true, false]),
            (&[7], false, false, [false, false, true, true, false]),
            (&[7 + STRIPES as u64], false, false, [false, false, true, true, false]),
            (&[7, 8], false, false, [false, false, false, false, false]),
            (&[8], false, true, [true, false, false, false, false]),
            (&[], true, false, [false, false, false, false, false]),
        ];
        for (entries, all, serials, expected) in cases {
            let versions = Versions::new();
            let marks = [
                versions.mark(entry(7), false),
                versions.mark(entry(7), true),
                versions.mark(entry(8), false),
                versions.mark(entry(8), true),
                versions.mark(Basis::Everything, false),
            ];
            assert!(marks.iter().all(|mark| versions.is_unchanged(*mark)));
            let mut touched = Touched::default();
            entries.iter().for_each(|hash| touched.entry(*hash));
            if all {
                touched.all();
            }
            versions.move_on(&mut touched, serials);
            assert_eq!(
                marks.map(|mark| versions.is_unchanged(mark)),
                expected,
                "{entries:?} {all} {serials}"
            );
            let after = versions.mark(entry(7), true);
            versions.move_on(&mut touched, false);
            assert!(versions.is_unchanged(after), "nothing is left to be told");
        }
    }

    #[test]
    fn too_many_to_name_are_all() {
        let versions = Versions::new();
        let mark = versions.mark(Basis::Entry(5), false);
        let mut touched = Touched::default();
        (0..=STRIPES).for_each(|_| touched.entry(6));
        versions.move_on(&mut touched, false);
        assert!(!versions.is_unchanged(mark));
    }
}
