//! The limit of queries that wait at the same time, whatever they wait for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use metrics::Counter;

use crate::process::runtime;

/// Maximum number of waiting queries in the whole process.
const LIMIT: usize = 10_000;

/// After this many queries waited at once, freed memory is worth returning to the system.
const TRIM_THRESHOLD: usize = 1_000;

static WAITING: AtomicUsize = AtomicUsize::new(0);
/// The largest number of waiting queries since there were none.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Queries that failed because too many others were waiting.
pub static WAITS_REFUSED: Counter = Counter::new();

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
fn trim_memory() {
    let stores = STORES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    stores.iter().filter_map(Weak::upgrade).for_each(|store| store.compact());
    net::trim_heap();
}

/// The permission of one query to wait; released when dropped.
pub(crate) struct Permit(());

impl Permit {
    pub fn take() -> Option<Permit> {
        let before = WAITING.fetch_add(1, Ordering::AcqRel);
        if before >= LIMIT {
            WAITING.fetch_sub(1, Ordering::AcqRel);
            WAITS_REFUSED.inc();
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
        if last && PEAK.swap(0, Ordering::Relaxed) >= TRIM_THRESHOLD {
            // The allocator keeps the memory of thousands of queries otherwise.
            runtime::handle().spawn_blocking(|| supervise::step("trim-heap", trim_memory));
        }
    }
}

/// The number of queries that wait now.
pub fn waiting() -> usize {
    WAITING.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_queries_are_limited() {
        let permits: Vec<Permit> = std::iter::from_fn(Permit::take).take(LIMIT + 1).collect();
        assert_eq!(permits.len(), LIMIT);
        assert!(Permit::take().is_none());
        drop(permits);
        assert!(Permit::take().is_some());
    }
}
