//! Hash table from names to their offsets in the message being written.
//!
//! It stores offsets only; names are compared with the message. It allocates nothing, since every reply that is too
//! long for its client is compressed.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::{Name, octets};

/// Compression pointers have 14 bits.
const MAX_POINTER: usize = 1 << 14;

/// Maximum labels of a name.
const MAX_LABELS: usize = 128;

/// Slots for any message: twice the possible labels, since at most every second offset begins one.
pub(super) const LARGE_TABLE: usize = MAX_POINTER;
/// Slots for messages of at most [`SMALL_MESSAGE`] octets.
pub(super) const SMALL_TABLE: usize = 1024;
pub(super) const SMALL_MESSAGE: usize = 1024;

/// The names written so far; `N` is a power of two.
pub(super) struct NameTable<const N: usize> {
    /// Zero is an empty slot: no name is at offset 0.
    offsets: [u16; N],
    used: usize,
}

/// The suffixes of a name, longest first: the offset of each in the name, and its hash.
struct Suffixes {
    starts: [u8; MAX_LABELS],
    hashes: [u32; MAX_LABELS],
    count: usize,
}

impl<const N: usize> NameTable<N> {
    pub fn new() -> NameTable<N> {
        NameTable { offsets: [0; N], used: 0 }
    }

    /// Inserts a name that is at `at` in the message.
    pub fn insert_name(&mut self, name: Name<'_>, at: usize) {
        let suffixes = Suffixes::of(name);
        for i in 0..suffixes.count {
            self.insert(suffixes.hashes[i], at + usize::from(suffixes.starts[i]));
        }
    }

    /// Appends a name to the message and inserts its new suffixes. With `compress`, its longest known suffix is a pointer.
    pub fn write(&mut self, name: Name<'_>, compress: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let suffixes = Suffixes::of(name);
        let wire = name.wire();
        let known = (0..suffixes.count).find_map(|i| {
            let suffix = &wire[usize::from(suffixes.starts[i])..];
            Some((i, self.find(suffixes.hashes[i], suffix, out)?))
        });
        match known {
            Some((i, offset)) if compress => {
                out.extend_from_slice(&wire[..usize::from(suffixes.starts[i])]);
                out.extend_from_slice(&(0xC000 | offset).to_be_bytes());
            }
            _ => out.extend_from_slice(wire),
        }
        // Suffixes of a known suffix are known too.
        let fresh = known.map_or(suffixes.count, |(i, _)| i);
        for i in 0..fresh {
            self.insert(suffixes.hashes[i], start + usize::from(suffixes.starts[i]));
        }
    }

    fn find(&self, hash: u32, suffix: &[u8], out: &[u8]) -> Option<u16> {
        let mut slot = hash as usize % N;
        // Ends, since `insert` leaves one slot empty.
        while self.offsets[slot] != 0 {
            if name_at(suffix, out, usize::from(self.offsets[slot])) {
                return Some(self.offsets[slot]);
            }
            slot = (slot + 1) % N;
        }
        None
    }

    fn insert(&mut self, hash: u32, offset: usize) {
        // Only a record that will not fit has so many names.
        if offset >= MAX_POINTER || self.used + 1 == N {
            return;
        }
        self.used += 1;
        let mut slot = hash as usize % N;
        while self.offsets[slot] != 0 {
            slot = (slot + 1) % N;
        }
        self.offsets[slot] = offset as u16;
    }
}

impl Suffixes {
    fn of(name: Name<'_>) -> Suffixes {
        let mut suffixes = Suffixes { starts: [0; MAX_LABELS], hashes: [0; MAX_LABELS], count: 0 };
        let mut at = 0;
        for label in name.labels() {
            suffixes.starts[suffixes.count] = at as u8;
            suffixes.count += 1;
            at += label.len() + 1;
        }
        // From the right, so that each hash extends that of the next shorter suffix.
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

/// Random, so that clients cannot choose names that collide.
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

/// Whether the message has `name` at `offset`; case-sensitive.
fn name_at(mut name: &[u8], message: &[u8], mut offset: usize) -> bool {
    loop {
        match (message.get(offset), name.first()) {
            (Some(0), Some(0)) => return true,
            (Some(&high @ 0xC0..), Some(_)) => {
                let Some(&low) = message.get(offset + 1) else { return false };
                offset = usize::from(high & 0x3F) << 8 | usize::from(low);
            }
            (Some(&len), Some(&other)) if len == other => {
                let size = usize::from(len) + 1;
                let (Some(written), Some(label)) = (message.get(offset..offset + size), name.get(..size))
                else {
                    return false;
                };
                if !octets::equal(written, label) {
                    return false;
                }
                (name, offset) = (&name[size..], offset + size);
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

    /// Reference implementation with a map of whole names.
    #[derive(Default)]
    struct Model {
        offsets: HashMap<Vec<u8>, u16>,
    }

    impl Model {
        fn write(&mut self, name: Name<'_>, compress: bool, out: &mut Vec<u8>) {
            let start = out.len();
            let skipped = |suffix: Name<'_>| name.len() - suffix.len();
            let known = name
                .suffixes()
                .find_map(|suffix| self.offsets.get(suffix.wire()).map(|&offset| (skipped(suffix), offset)));
            match known {
                Some((at, offset)) if compress => {
                    out.extend_from_slice(&name.wire()[..at]);
                    out.extend_from_slice(&(0xC000 | offset).to_be_bytes());
                }
                _ => out.extend_from_slice(name.wire()),
            }
            let fresh = known.map_or(name.len(), |(at, _)| at);
            for suffix in name.suffixes().filter(|suffix| !suffix.is_root() && skipped(*suffix) < fresh) {
                let offset = start + skipped(suffix);
                if offset < MAX_POINTER {
                    self.offsets.insert(suffix.wire().to_vec(), offset as u16);
                }
            }
        }
    }

    fn check<const N: usize>(names: &[(String, bool)], before: usize) {
        let (mut written, mut expected) = (vec![0; before], vec![0; before]);
        let (mut table, mut model) = (NameTable::<N>::new(), Model::default());
        for (text, compress) in names {
            let name = NameBuf::parse(text).expect("a name");
            table.write(name.as_name(), *compress, &mut written);
            model.write(name.as_name(), *compress, &mut expected);
        }
        assert_eq!(written, expected);
    }

    proptest! {
        #[test]
        fn names_are_compressed_as_by_a_map(
            names in prop::collection::vec(("([aAb]{1,2}\\.){0,5}", any::<bool>()), 0..60),
            before in prop::sample::select(vec![12, MAX_POINTER - 40]),
        ) {
            check::<SMALL_TABLE>(&names, before);
            check::<LARGE_TABLE>(&names, before);
        }
    }

    #[test]
    fn a_full_table_leaves_one_slot_empty() {
        let mut names = NameTable::<16>::new();
        let mut out = vec![0; 12];
        for n in 0..100 {
            let name = NameBuf::parse(&format!("n{n}.example")).expect("a name");
            names.write(name.as_name(), true, &mut out);
        }
        assert_eq!(names.used, 15);
    }
}
