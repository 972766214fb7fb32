//! Which cell the calling thread counts into.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Cells per counter. Workers are at most 8 by default; the rest is for the threads of tokio.
pub const SHARDS: usize = 16;

const UNSET: usize = usize::MAX;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(UNSET) };
}

/// Gives the calling thread cell `i` (modulo [`SHARDS`]). Workers call it once, with their number, so that no two
/// of them share a cell; a thread that never calls it gets the next one in turn.
pub fn set_shard(i: usize) {
    SHARD.set(i % SHARDS);
}

#[inline]
pub(crate) fn shard() -> usize {
    let i = SHARD.get();
    if i == UNSET { assign() } else { i }
}

#[cold]
fn assign() -> usize {
    let i = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    SHARD.set(i);
    i
}

/// A value with a cache line of its own: neighbours written by other workers would otherwise slow it down.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Padded<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_wrap_and_stick() {
        set_shard(SHARDS + 3);
        assert_eq!(shard(), 3);
        let other = std::thread::spawn(|| (shard(), shard())).join().unwrap();
        assert_eq!(other.0, other.1);
        assert!(other.0 < SHARDS);
    }
}
