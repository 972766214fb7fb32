//! A bound on waiting: no more than so many queries may wait at once, whatever they wait for.

use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::Counter;

/// Queries that may wait at the same time in the whole process.
const LIMIT: usize = 10_000;

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Queries that failed because too many others were waiting.
pub static REFUSED_TO_WAIT: Counter = Counter::new();

/// The right of one query to wait; given back when dropped.
pub(crate) struct Permit(());

impl Permit {
    pub fn take() -> Option<Permit> {
        if WAITING.fetch_add(1, Ordering::AcqRel) >= LIMIT {
            WAITING.fetch_sub(1, Ordering::AcqRel);
            REFUSED_TO_WAIT.inc();
            return None;
        }
        Some(Permit(()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::AcqRel);
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
