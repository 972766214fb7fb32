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

/// Small pieces of memory that stay when queries that waited are gone. They lie between what the queries had, and a page
/// with one of them in it cannot be given back.
pub trait Scattered: Send + Sync {
    /// Moves the pieces together.
    fn gather(&self);
}

static SCATTERED: Mutex<Vec<Weak<dyn Scattered>>> = Mutex::new(Vec::new());

/// Has memory gathered whenever many queries have waited, as long as it is there.
pub fn gather_after_waiting(memory: Arc<dyn Scattered>) {
    let memory = Arc::downgrade(&memory);
    let mut known = SCATTERED.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&memory));
    known.push(memory);
}

/// Takes milliseconds, and so has no business on a thread that answers.
fn give_back_memory() {
    let known = SCATTERED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    known.iter().filter_map(Weak::upgrade).for_each(|memory| memory.gather());
    net::give_back_memory();
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
