//! The panic hook: remembers where a panic happened for the guard that will catch it, and reports one that no guard will.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::panic::{Panic, count, log, register};

/// Capturing a backtrace is slow; only a configuration with `errors { stacktrace }` pays for it.
static TRACES: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Guards around the code that runs on this thread now.
    static GUARDS: Cell<u32> = const { Cell::new(0) };
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// Turns backtraces in the reports of panics on or off.
pub fn keep_traces(on: bool) {
    TRACES.store(on, Ordering::Relaxed);
}

/// Replaces the default hook, once per process.
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

/// Marks the code that runs until it is dropped as guarded.
pub(crate) struct Guarded(());

impl Guarded {
    #[inline]
    pub fn enter() -> Guarded {
        GUARDS.set(GUARDS.get() + 1);
        Guarded(())
    }
}

impl Drop for Guarded {
    #[inline]
    fn drop(&mut self) {
        GUARDS.set(GUARDS.get() - 1);
    }
}

/// The panic that was just caught on this thread, if the hook saw it.
pub(crate) fn take_last() -> Option<Panic> {
    LAST.take()
}
