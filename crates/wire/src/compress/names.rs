//! Where in a message which names stand already.
//!
//! A table of places, found by a hash of the name; the name itself is read in the message. Nothing is allocated, since
//! every answer that is too long for its client comes by here.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::{Name, octets};

/// Pointers have 14 bits.
const MAX_POINTER: usize = 1 << 14;

/// A name has no more labels.
const MOST_LABELS: usize = 128;

/// Twice as many as there are places a pointer can lead to, of which every second one could begin a label.
pub(super) const PLACES: usize = MAX_POINTER;
/// The same for messages of at most this many octets.
pub(super) const FEW_PLACES: usize = 1024;
pub(super) const SHORT: usize = 1024;

/// The names written so far; `N` is a power of two.
pub(super) struct Names<const N: usize> {
    /// Zero is none: there is the header.
    places: [u16; N],
    used: usize,
}

/// The labels of a name from the left: where each begins, and the hash of the name from there on.
struct Suffixes {
    starts: [u8; MOST_LABELS],
    hashes: [u32; MOST_LABELS],
    count: usize,
}

impl<const N: usize> Names<N> {
    pub fn new() -> Names<N> {
        Names { places: [0; N], used: 0 }
    }

    /// Remembers a name already written at `at`.
    pub fn learn(&mut self, name: Name<'_>, at: usize) {
        let suffixes = Suffixes::of(name);
        for i in 0..suffixes.count {
            self.insert(suffixes.hashes[i], at + usize::from(suffixes.starts[i]));
        }
    }

    /// Writes a name, ending with a pointer to what stands there already if it may.
    pub fn write(&mut self, name: Name<'_>, compress: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let suffixes = Suffixes::of(name);
        let wire = name.wire();
        let known = (0..suffixes.count).find_map(|i| {
            let suffix = &wire[usize::from(suffixes.starts[i])..];
            Some((i, self.find(suffixes.hashes[i], suffix, out)?))
        });
        match known {
            Some((i, place)) if compress => {
                out.extend_from_slice(&wire[..usize::from(suffixes.starts[i])]);
                out.extend_from_slice(&(0xC000 | place).to_be_bytes());
            }
            _ => out.extend_from_slice(wire),
        }
        // Labels behind a known suffix are known too.
        let fresh = known.map_or(suffixes.count, |(i, _)| i);
        for i in 0..fresh {
            self.insert(suffixes.hashes[i], start + usize::from(suffixes.starts[i]));
        }
    }

    fn find(&self, hash: u32, suffix: &[u8], out: &[u8]) -> Option<u16> {
        let mut slot = hash as usize % N;
        // Not all slots are used.
        while self.places[slot] != 0 {
            if is_at(suffix, out, usize::from(self.places[slot])) {
                return Some(self.places[slot]);
            }
            slot = (slot + 1) % N;
        }
        None
    }

    fn insert(&mut self, hash: u32, place: usize) {
        // Only a record that will not fit anyway brings so many names.
        if place >= MAX_POINTER || self.used + 1 == N {
            return;
        }
        self.used += 1;
        let mut slot = hash as usize % N;
        while self.places[slot] != 0 {
            slot = (slot + 1) % N;
        }
        self.places[slot] = place as u16;
    }
}

impl Suffixes {
    fn of(name: Name<'_>) -> Suffixes {
        let mut suffixes = Suffixes { starts: [0; MOST_LABELS], hashes: [0; MOST_LABELS], count: 0 };
        let mut at = 0;
        for label in name.labels() {
            suffixes.starts[suffixes.count] = at as u8;
            suffixes.count += 1;
            at += label.len() + 1;
        }
        // From the right, so that each hash goes on from the one behind it.
        let mut hash = seed();
        let mut end = at;
        for i in (0..suffixes.count).rev() {
            let start = usize::from(suffixes.starts[i]);
            hash = mix(hash, &name.wire()[start..end]);
            suffixes.hashes[i] = (hash >> 32) as u32;
            end = start;
        }
        suffixes
    }
}

/// Names come from strangers, who must not know which of them collide.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0))
}

fn mix(mut hash: u64, label: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    for chunk in label.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let product = u128::from(hash ^ u64::from_le_bytes(word)).wrapping_mul(u128::from(ODD | hash));
        hash = (product >> 64) as u64 ^ product as u64;
    }
    hash
}

/// Whether the name that stands at `place` of a message is this one, case and all.
fn is_at(mut name: &[u8], message: &[u8], mut place: usize) -> bool {
    loop {
        match (message.get(place), name.first()) {
            (Some(0), Some(0)) => return true,
            (Some(&high @ 0xC0..), Some(_)) => {
                let Some(&low) = message.get(place + 1) else { return false };
                place = usize::from(high & 0x3F) << 8 | usize::from(low);
            }
            (Some(&len), Some(&other)) if len == other => {
                let size = usize::from(len) + 1;
                let (Some(there), Some(here)) = (message.get(place..place + size), name.get(..size)) else {
                    return false;
                };
                if !octets::equal(there, here) {
                    return false;
                }
                (name, place) = (&name[size..], place + size);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::NameBuf;

    /// The same with a map of whole names, which is slow and easy to believe.
    #[derive(Default)]
    struct Model {
        places: HashMap<Vec<u8>, u16>,
    }

    impl Model {
        fn write(&mut self, name: Name<'_>, compress: bool, out: &mut Vec<u8>) {
            let start = out.len();
            let offset = |suffix: Name<'_>| name.len() - suffix.len();
            let known = name
                .suffixes()
                .find_map(|suffix| self.places.get(suffix.wire()).map(|&place| (offset(suffix), place)));
            match known {
                Some((at, place)) if compress => {
                    out.extend_from_slice(&name.wire()[..at]);
                    out.extend_from_slice(&(0xC000 | place).to_be_bytes());
                }
                _ => out.extend_from_slice(name.wire()),
            }
            let fresh = known.map_or(name.len(), |(at, _)| at);
            for suffix in name.suffixes().filter(|suffix| !suffix.is_root() && offset(*suffix) < fresh) {
                let place = start + offset(suffix);
                if place < MAX_POINTER {
                    self.places.insert(suffix.wire().to_vec(), place as u16);
                }
            }
        }
    }

    fn check<const N: usize>(names: &[(String, bool)], before: usize) {
        let (mut ours, mut theirs) = (vec![0; before], vec![0; before]);
        let (mut table, mut model) = (Names::<N>::new(), Model::default());
        for (text, compress) in names {
            let name = NameBuf::parse(text).expect("a name");
            table.write(name.as_name(), *compress, &mut ours);
            model.write(name.as_name(), *compress, &mut theirs);
        }
        assert_eq!(ours, theirs);
    }

    proptest! {
        #[test]
        fn names_are_compressed_as_by_a_map(
            names in prop::collection::vec(("([aAb]{1,2}\\.){0,5}", any::<bool>()), 0..60),
            before in prop::sample::select(vec![12, MAX_POINTER - 40]),
        ) {
            check::<FEW_PLACES>(&names, before);
            check::<PLACES>(&names, before);
        }
    }

    #[test]
    fn a_full_table_learns_no_more() {
        let mut names = Names::<16>::new();
        let mut out = vec![0; 12];
        for n in 0..100 {
            let name = NameBuf::parse(&format!("n{n}.example")).expect("a name");
            names.write(name.as_name(), true, &mut out);
        }
        assert_eq!(names.used, 15);
    }
}
