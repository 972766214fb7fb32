//! Named tasks whose panics are logged, counted and survived.
//!
//! ```text
//! task (restarted with back-off) ─┬─ step (a packet, a wake-up, a change) ── panic ─→ log line, rhumb_task_panics_total
//!                                 └─ step …                                           └→ the next step, or a restart
//! ```
//!
//! A guard belongs around the smallest piece of work that can be lost: [`step`] for what runs to its end, [`step_async`] for
//! what waits. Around those stands the task itself ([`run`], [`thread`]), which starts again when a panic got past them. A
//! panic outside any guard is logged and counted by the hook, under the name of its thread: none is silent.

mod backoff;
mod hook;
#[cfg(feature = "inject")]
pub mod inject;
mod panic;
mod task;

pub use hook::{install_hook, keep_traces};
pub use panic::{Panic, catch, catch_async, panics, set_log, step, step_async};
pub use task::{run, spawn, thread};

#[cfg(not(feature = "inject"))]
mod inject {
    #[inline(always)]
    pub(crate) fn strike(_task: &str) {}
}

/// Where a test can make a task panic outside its guarded steps; nothing in a product build.
#[inline(always)]
pub fn fail_point(task: &str) {
    inject::strike(task);
}
