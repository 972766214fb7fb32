//! A set that stays on the stack while it is small, as for most answers.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use smallvec::SmallVec;

/// Capacity up to which values are compared one by one.
const INLINE_CAPACITY: usize = 24;

pub(crate) enum Distinct<T> {
    Few(SmallVec<[T; INLINE_CAPACITY]>),
    Many(HashSet<T, RandomState>),
}

impl<T: Copy + Eq + Hash> Distinct<T> {
    pub fn new() -> Self {
        Self::Few(SmallVec::new())
    }

    /// Adds a value; true if it is new.
    pub fn insert(&mut self, value: T) -> bool {
        match self {
            Self::Few(seen) if seen.contains(&value) => false,
            Self::Few(seen) if seen.len() < INLINE_CAPACITY => {
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
    fn a_value_is_new_once() {
        let mut seen = Distinct::new();
        for round in 0..3 {
            for value in 0..1000 {
                assert_eq!(seen.insert(value), round == 0, "{value}");
            }
        }
    }
}
