//! Named tasks whose panics are logged, counted and survived.
//!
//! ```text
//! task (restarted with back-off) ─┬─ step (a packet, a wake-up, a change) ── panic ─→ log line, rhumb_task_panics_total
//!                                 └─ step …                                           └→ the next step, or a restart
//! ```
//!
//! Guard the smallest piece of work that can be lost: [`step`] for synchronous work, [`step_async`] for futures. The task
//! itself ([`run`], [`thread`]) restarts after a panic outside its steps. The hook logs and counts a panic outside any
//! guard, under the name of its thread: none is silent.

mod backoff;
mod hook;
#[cfg(feature = "inject")]
pub mod inject;
mod panic;
mod task;

pub use hook::{capture_backtraces, install_hook};
pub use panic::{Panic, catch, catch_async, panics, set_log, step, step_async};
pub use task::{run, spawn, thread};

#[cfg(not(feature = "inject"))]
mod inject {
    #[inline(always)]
    pub(crate) fn panic_if_armed(_task: &str) {}
}

/// A point outside guarded steps where a test can make a task panic; does nothing without the feature `inject`.
#[inline(always)]
pub fn fail_point(task: &str) {
    inject::panic_if_armed(task);
}
