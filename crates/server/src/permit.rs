//! A bound on waiting: no more than so many queries may wait at once, whatever they wait for.

use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::Counter;

use crate::runtime;

/// Queries that may wait at the same time in the whole process.
const LIMIT: usize = 10_000;

/// So many queries at once leave memory behind that is worth giving back.
const MANY: usize = 1_000;

static WAITING: AtomicUsize = AtomicUsize::new(0);
/// The most that waited at once since nobody did.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Queries that failed because too many others were waiting.
pub static REFUSED_TO_WAIT: Counter = Counter::new();

/// The right of one query to wait; given back when dropped.
pub(crate) struct Permit(());

impl Permit {
    pub fn take() -> Option<Permit> {
        let before = WAITING.fetch_add(1, Ordering::AcqRel);
        if before >= LIMIT {
            WAITING.fetch_sub(1, Ordering::AcqRel);
            REFUSED_TO_WAIT.inc();
            return None;
        }
        if before >= PEAK.load(Ordering::Relaxed) {
            PEAK.fetch_max(before + 1, Ordering::Relaxed);
        }
        Some(Permit(()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let last = WAITING.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && PEAK.swap(0, Ordering::Relaxed) >= MANY {
            // The allocator keeps what thousands of queries had. Trimming takes milliseconds, so not on this thread.
            runtime::handle().spawn_blocking(|| supervise::step("trim-heap", net::give_back_memory));
        }
    }
}

/// How many queries wait now.
pub fn waiting() -> usize {
    WAITING.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_piles_up() {
        let held: Vec<Permit> = std::iter::from_fn(Permit::take).take(LIMIT + 1).collect();
        assert_eq!(held.len(), LIMIT);
        assert!(Permit::take().is_none());
        drop(held);
        assert!(Permit::take().is_some());
    }
}
