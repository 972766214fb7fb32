//! A bound on waiting: no more than so many queries may wait at once, whatever they wait for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

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

/// A store of small allocations that outlive the queries which made them. Allocated while many queries wait, each keeps
/// the allocator from returning a page of those queries.
pub trait Compact: Send + Sync {
    /// Moves the contents to new, adjacent memory.
    fn compact(&self);
}

static STORES: Mutex<Vec<Weak<dyn Compact>>> = Mutex::new(Vec::new());

/// Registers a store to be compacted each time many queries have waited, until it is dropped.
pub fn compact_after_waiting(store: Arc<dyn Compact>) {
    let store = Arc::downgrade(&store);
    let mut known = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&store));
    known.push(store);
}

/// Returns free memory to the system. Takes milliseconds: not for a thread that answers.
fn give_back_memory() {
    let stores = STORES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    stores.iter().filter_map(Weak::upgrade).for_each(|store| store.compact());
    net::trim_heap();
}

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
            // The allocator keeps what thousands of queries had.
            runtime::handle().spawn_blocking(|| supervise::step("trim-heap", give_back_memory));
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
