//! Injects panics into the steps of a task, for tests.

use std::sync::{Mutex, PoisonError};

static ARMED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Makes the next `times` steps of the task panic.
pub fn arm(task: &str, times: usize) {
    lock().extend(std::iter::repeat_n(task.to_owned(), times));
}

/// Whether injected panics of the task are still pending.
pub fn is_armed(task: &str) -> bool {
    lock().iter().any(|armed| armed == task)
}

pub(crate) fn panic_if_armed(task: &str) {
    let mut armed = lock();
    let Some(at) = armed.iter().position(|armed| armed == task) else { return };
    armed.remove(at);
    drop(armed);
    panic!("injected into {task}");
}

fn lock() -> std::sync::MutexGuard<'static, Vec<String>> {
    ARMED.lock().unwrap_or_else(PoisonError::into_inner)
}
