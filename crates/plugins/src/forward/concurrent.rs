//! How many queries may be under way at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Concurrent {
    /// 0 is no limit.
    most: u64,
    /// What to say when there are more.
    too_many: String,
    now: AtomicU64,
}

/// The right to ask; given back when dropped, also if the query is given up.
pub(super) struct Permit(Option<Arc<Concurrent>>);

impl Concurrent {
    /// `text` is the limit as the Corefile has it.
    pub fn new(most: u64, text: &str) -> Concurrent {
        let too_many = format!("concurrent queries exceeded maximum {text}");
        Concurrent { most, too_many, now: AtomicU64::new(0) }
    }

    pub fn enter(self: &Arc<Concurrent>) -> Result<Permit, String> {
        if self.most == 0 {
            return Ok(Permit(None));
        }
        let permit = Permit(Some(Arc::clone(self)));
        if self.now.fetch_add(1, Ordering::Relaxed) >= self.most {
            return Err(self.too_many.clone());
        }
        Ok(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(concurrent) = &self.0 {
            concurrent.now.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
