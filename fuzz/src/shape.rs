//! The outline of an outcome, as one number: the cheap stand-in for coverage.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Collects what an outcome is made of. Equal outlines give equal numbers, in every run.
pub struct Shape(DefaultHasher);

impl Shape {
    pub fn new() -> Self {
        // `new`, not `RandomState`: the same in every process.
        Self(DefaultHasher::new())
    }

    pub fn with(mut self, part: impl Hash) -> Self {
        self.add(part);
        self
    }

    pub fn add(&mut self, part: impl Hash) {
        part.hash(&mut self.0);
    }

    /// A size, coarsely: 0, 1, 2, 3-4, 5-8 and so on. Every length being a shape of its own would keep
    /// thousands of inputs that differ in nothing else.
    pub fn add_size(&mut self, n: usize) {
        self.add(n.checked_next_power_of_two());
    }

    /// The kind of a message: its first two words, if they are plain. What it quotes, counts or repeats of the input is left out;
    /// otherwise every misspelling would be a shape of its own.
    pub fn add_message(&mut self, text: &str) {
        let plain = |word: &&str| word.len() <= 12 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        for word in text.split(' ').take(2).filter(plain) {
            self.add(word);
        }
    }

    pub fn number(&self) -> u64 {
        self.0.finish()
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_kind_are_one_shape() {
        let shape = |text: &str| {
            let mut shape = Shape::new();
            shape.add_message(text);
            shape.number()
        };
        assert_eq!(shape("Corefile:3 - Unknown directive 'a'"), shape("Corefile:14 - Unknown directive 'b'"));
        assert_ne!(shape("Unknown directive 'a'"), shape("Unexpected EOF"));
    }
}
