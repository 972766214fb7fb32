//! The limit on concurrent queries, `max_concurrent`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct ConcurrencyLimit {
    /// 0 is no limit.
    max: u64,
    /// The error beyond the limit.
    error: String,
    current: AtomicU64,
}

/// Counts one query against the limit until dropped, also if the query is cancelled.
pub(super) struct Permit(Option<Arc<ConcurrencyLimit>>);

impl ConcurrencyLimit {
    /// `text` is the limit as written in the Corefile.
    pub fn new(max: u64, text: &str) -> ConcurrencyLimit {
        let error = format!("concurrent queries exceeded maximum {text}");
        ConcurrencyLimit { max, error, current: AtomicU64::new(0) }
    }

    /// A query that is not `served` is held to the limit, but takes no place of others.
    pub fn acquire(self: &Arc<ConcurrencyLimit>, served: bool) -> Result<Permit, String> {
        if self.max == 0 || !served && self.current.load(Ordering::Relaxed) < self.max {
            return Ok(Permit(None));
        }
        let permit = Permit(Some(Arc::clone(self)));
        if self.current.fetch_add(1, Ordering::Relaxed) >= self.max {
            return Err(self.error.clone());
        }
        Ok(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(limit) = &self.0 {
            limit.current.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
