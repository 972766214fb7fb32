//! Mutates packets, reproducibly from one seed.

use testkit::random::Random;

/// UDP payloads stay within an Ethernet frame.
const MAX_LEN: usize = 1500;

/// Replacements for lengths, counts and compression pointers.
const WORDS: [u16; 8] = [0, 1, 63, 255, 512, 0x7fff, 0xc00c, 0xffff];

pub struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Self {
        Self { random: Random::new(seed), seeds }
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    pub fn seed(&mut self) -> Vec<u8> {
        self.random.pick(&self.seeds).clone()
    }

    /// Mostly one change: a packet with many errors is rejected at the first and does not reach later code.
    pub fn mutated(&mut self) -> Vec<u8> {
        let mut bytes = self.seed();
        for _ in 0..*self.random.pick(&[1, 1, 1, 2, 4, 8]) {
            self.change(&mut bytes);
        }
        bytes.truncate(MAX_LEN);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.random.below(bytes.len());
        let end = at + self.random.below((bytes.len() - at).min(64) + 1);
        match self.random.below(9) {
            0..=3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.random.below(8)),
            4 => {
                let word = self.random.pick(&WORDS).to_be_bytes();
                bytes.iter_mut().skip(at).zip(word).for_each(|(byte, new)| *byte = new);
            }
            5 => bytes.truncate(at),
            6 => drop(bytes.drain(at..end)),
            7 => {
                let count = self.random.between(1, 8);
                bytes.splice(at..at, self.random.bytes(count));
            }
            _ => {
                // The head of this packet, the tail of another.
                let other = self.seed();
                bytes.truncate(at);
                bytes.extend_from_slice(&other[self.random.below(other.len())..]);
            }
        }
    }
}
