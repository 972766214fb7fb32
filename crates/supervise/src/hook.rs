//! The panic hook: stores the location of a panic for the guard that will catch it, and logs a panic outside any guard.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::panic::{Panic, count, log, register};

/// Capturing a backtrace is slow; only a configuration with `errors { stacktrace }` enables it.
static TRACES: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Number of guards active on this thread.
    static GUARDS: Cell<u32> = const { Cell::new(0) };
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// Enables or disables backtraces of panics.
pub fn capture_backtraces(on: bool) {
    TRACES.store(on, Ordering::Relaxed);
}

/// Installs the hook, once per process.
pub fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register();
        std::panic::set_hook(Box::new(on_panic));
    });
}

fn on_panic(info: &PanicHookInfo<'_>) {
    let panic = Panic {
        message: Panic::message_of(info.payload()),
        place: info.location().map(ToString::to_string),
        trace: TRACES.load(Ordering::Relaxed).then(|| Backtrace::force_capture().to_string()),
    };
    if GUARDS.get() > 0 {
        LAST.set(Some(panic));
        return;
    }
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    log(&format!("thread {name}: {panic}"));
    count(name);
}

/// While it exists, the panics of this thread are caught by a guard.
pub(crate) struct Guard(());

impl Guard {
    #[inline]
    pub fn enter() -> Guard {
        GUARDS.set(GUARDS.get() + 1);
        Guard(())
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        GUARDS.set(GUARDS.get() - 1);
    }
}

/// The last panic on this thread; `None` if the hook is not installed.
pub(crate) fn take_last() -> Option<Panic> {
    LAST.take()
}
