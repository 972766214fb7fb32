//! What comes for the first time. Most answers are small: their sets stay on the stack.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// So many are compared one by one.
const FEW: usize = 24;

pub(crate) struct Distinct<T> {
    few: [T; FEW],
    len: usize,
    many: Option<HashSet<T, RandomState>>,
}

impl<T: Copy + Eq + Hash> Distinct<T> {
    /// `filler` is any value; it does not count as seen.
    pub fn new(filler: T) -> Self {
        Self { few: [filler; FEW], len: 0, many: None }
    }

    /// True the first time a value comes.
    pub fn is_new(&mut self, value: T) -> bool {
        if let Some(many) = &mut self.many {
            return many.insert(value);
        }
        if self.few[..self.len].contains(&value) {
            return false;
        }
        match self.few.get_mut(self.len) {
            Some(free) => {
                *free = value;
                self.len += 1;
            }
            None => {
                let many = self.many.insert(self.few.iter().copied().collect());
                many.insert(value);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_once() {
        let mut seen = Distinct::new(0);
        for round in 0..3 {
            for value in 0..1000 {
                assert_eq!(seen.is_new(value), round == 0, "{value}");
            }
        }
    }
}
