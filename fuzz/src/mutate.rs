//! Changes to bytes, a few at a time, all of them following from one seed.

use testkit::random::Random;

/// Bytes at which code tends to change its mind: signs, label types, quotes, ends of ranges.
const INTERESTING: &[u8] = &[
    0x00, 0x01, 0x0a, 0x0c, 0x0d, 0x20, 0x22, 0x23, 0x28, 0x29, 0x3f, 0x40, 0x5c, 0x7b, 0x7d, 0x7f, 0x80,
    0xbf, 0xc0, 0xef, 0xfe, 0xff,
];

/// Pairs of bytes, where lengths and counts are read.
const INTERESTING_WORDS: &[u16] =
    &[0, 1, 2, 41, 63, 64, 255, 256, 511, 512, 513, 0x0fff, 0x7fff, 0x8000, 0xc00c, 0xffff];

/// The longest run of bytes moved, doubled or taken out at once.
const LONGEST_PIECE: usize = 64;

/// A source of mutations.
pub struct Mutator {
    random: Random,
    dictionary: &'static [&'static [u8]],
    max_len: usize,
}

impl Mutator {
    pub fn new(seed: u64, dictionary: &'static [&'static [u8]], max_len: usize) -> Self {
        Self { random: Random::new(seed), dictionary, max_len }
    }

    /// A place in a list of `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    /// Makes some changes to `bytes`, usually few; `other` is where a splice takes its half from.
    pub fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        // Mostly one: what is broken in many places is refused at the first and reaches nothing behind it.
        let changes = *self.random.pick(&[1, 1, 1, 2, 4, 8]);
        for _ in 0..changes {
            self.change(bytes, other);
        }
        bytes.truncate(self.max_len);
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        // On nothing, only what adds bytes makes sense.
        let kind = if bytes.is_empty() { 8 + self.random.below(4) } else { self.random.below(12) };
        match kind {
            0 | 1 => {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
            }
            2 => {
                let at = self.random.below(bytes.len());
                bytes[at] = *self.random.pick(INTERESTING);
            }
            3 => {
                let at = self.random.below(bytes.len());
                let word = self.random.pick(INTERESTING_WORDS).to_be_bytes();
                overwrite(bytes, at, &word);
            }
            4 => {
                let at = self.random.below(bytes.len());
                let step = self.random.between(1, 16) as u8;
                bytes[at] = if self.random.chance(0.5) {
                    bytes[at].wrapping_add(step)
                } else {
                    bytes[at].wrapping_sub(step)
                };
            }
            5 => bytes.truncate(self.random.below(bytes.len())),
            6 => {
                let piece = self.piece(bytes.len());
                bytes.drain(piece);
            }
            7 => {
                let piece = self.piece(bytes.len());
                let copy = bytes[piece.clone()].to_vec();
                insert(bytes, piece.end, &copy);
            }
            8 => {
                let at = self.random.below(bytes.len() + 1);
                let len = self.random.between(1, 8);
                let fresh = self.random.bytes(len);
                insert(bytes, at, &fresh);
            }
            9 => self.spell(bytes),
            10 => {
                // A head of this, a tail of the other.
                bytes.truncate(self.random.below(bytes.len() + 1));
                let from = self.random.below(other.len() + 1);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let piece = self.piece(other.len());
                let at = self.random.below(bytes.len() + 1);
                insert(bytes, at, &other[piece]);
            }
        }
    }

    /// A word of the dictionary, put in or written over what is there.
    fn spell(&mut self, bytes: &mut Vec<u8>) {
        if self.dictionary.is_empty() {
            return;
        }
        let word = *self.random.pick(self.dictionary);
        let at = self.random.below(bytes.len() + 1);
        if self.random.chance(0.7) {
            insert(bytes, at, word);
        } else {
            overwrite(bytes, at, word);
        }
    }

    fn piece(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.random.below(len);
        let longest = LONGEST_PIECE.min(len - start);
        start..start + self.random.below(longest + 1)
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

fn overwrite(bytes: &mut [u8], at: usize, piece: &[u8]) {
    for (place, byte) in bytes[at..].iter_mut().zip(piece) {
        *place = *byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[&[u8]] = &[b"hosts", b"\xc0\x0c"];

    fn run(seed: u64) -> Vec<Vec<u8>> {
        let mut mutator = Mutator::new(seed, WORDS, 128);
        let mut bytes = b"the quick brown fox".to_vec();
        (0..2_000)
            .map(|_| {
                mutator.mutate(&mut bytes, b"jumps over the lazy dog");
                bytes.clone()
            })
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn bounded_and_alive() {
        let all = run(9);
        assert!(all.iter().all(|bytes| bytes.len() <= 128));
        // It neither dies out nor stands still.
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert!(different.len() > 1_900, "{}", different.len());
    }

    #[test]
    fn nothing_is_a_fine_input() {
        let mut mutator = Mutator::new(1, &[], 64);
        for _ in 0..2_000 {
            let mut bytes = Vec::new();
            mutator.mutate(&mut bytes, &[]);
            assert!(bytes.len() <= 64);
        }
    }
}
