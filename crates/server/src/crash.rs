//! What a panic leaves behind. Threads that serve catch their panics and log them in one place; the default
//! hook would print them a second time, without the log's format.

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Capturing a trace is slow; only a configuration with `errors { stacktrace }` pays for it.
static WANTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static TRACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Whether panics shall keep their trace.
pub(crate) fn keep_traces(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// The trace of this thread's last panic.
pub(crate) fn take_trace() -> Option<String> {
    TRACE.with_borrow_mut(Option::take)
}

/// Quiets the threads of the server, whose panics are logged by whoever catches them.
pub(crate) fn install_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let ours = std::thread::current().name().is_some_and(|name| name.starts_with("rhumb-"));
        if !ours {
            default(info);
        } else if WANTED.load(Ordering::Relaxed) {
            let trace = Backtrace::force_capture().to_string();
            TRACE.with_borrow_mut(|kept| *kept = Some(trace));
        }
    }));
}
