//! Random numbers good enough for shuffling: fast, and each thread's own.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

thread_local! {
    static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
}

/// SplitMix64. Nobody gains anything from guessing which address comes first.
pub(super) struct Random {
    state: u64,
    /// Goes back to the thread when done.
    of_thread: bool,
}

impl Random {
    /// The generator of this thread.
    pub fn here() -> Random {
        Random { state: STATE.get(), of_thread: true }
    }

    #[cfg(test)]
    pub fn seeded(state: u64) -> Random {
        Random { state, of_thread: false }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The product's upper half is spread evenly enough over so few values, and needs no division.
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if self.of_thread {
            STATE.set(self.state);
        }
    }
}
