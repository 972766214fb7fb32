//! What comes for the first time. Most answers are small: their sets stay on the stack.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// So many are compared one by one.
const FEW: usize = 24;

/// Grows with what comes: most answers have one address, and a larger room would have to be cleared for nothing.
pub(crate) enum Distinct<T> {
    None,
    One(T),
    Few { seen: [T; FEW], len: usize },
    Many(HashSet<T, RandomState>),
}

impl<T: Copy + Eq + Hash> Distinct<T> {
    pub fn new() -> Self {
        Self::None
    }

    /// True the first time a value comes.
    pub fn is_new(&mut self, value: T) -> bool {
        match self {
            Self::None => *self = Self::One(value),
            Self::One(seen) if *seen == value => return false,
            Self::One(seen) => {
                let mut few = [*seen; FEW];
                few[1] = value;
                *self = Self::Few { seen: few, len: 2 };
            }
            Self::Few { seen, len } => {
                if seen[..*len].contains(&value) {
                    return false;
                }
                match seen.get_mut(*len) {
                    Some(free) => {
                        *free = value;
                        *len += 1;
                    }
                    None => {
                        let mut many: HashSet<T, RandomState> = seen.iter().copied().collect();
                        many.insert(value);
                        *self = Self::Many(many);
                    }
                }
            }
            Self::Many(seen) => return seen.insert(value),
        }
        true
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
