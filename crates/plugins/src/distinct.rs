//! What comes for the first time. Most answers are small: their sets stay on the stack.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use smallvec::SmallVec;

/// So many are compared one by one.
const FEW: usize = 24;

pub(crate) enum Distinct<T> {
    Few(SmallVec<[T; FEW]>),
    Many(HashSet<T, RandomState>),
}

impl<T: Copy + Eq + Hash> Distinct<T> {
    pub fn new() -> Self {
        Self::Few(SmallVec::new())
    }

    /// True the first time a value comes.
    pub fn is_new(&mut self, value: T) -> bool {
        match self {
            Self::Few(seen) if seen.contains(&value) => false,
            Self::Few(seen) if seen.len() < FEW => {
                seen.push(value);
                true
            }
            Self::Few(seen) => {
                let mut many: HashSet<T, RandomState> = seen.iter().copied().collect();
                many.insert(value);
                *self = Self::Many(many);
                true
            }
            Self::Many(seen) => seen.insert(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_once() {
        let mut seen = Distinct::new();
        for round in 0..3 {
            for value in 0..1000 {
                assert_eq!(seen.is_new(value), round == 0, "{value}");
            }
        }
    }
}
