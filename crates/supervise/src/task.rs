//! Tasks that restart after a panic.

use std::future::Future;
use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::backoff::Backoff;
use crate::panic::{Panic, catch, catch_async, log};

/// Runs a task until it returns. After a panic it restarts from the beginning: state that must survive a panic belongs
/// outside the future that `start` creates.
pub async fn run<F: Future<Output = ()>>(task: &str, mut start: impl FnMut() -> F) {
    let mut backoff = Backoff::default();
    loop {
        let began = Instant::now();
        let Err(panic) = catch_async(task, async { start().await }).await else { return };
        tokio::time::sleep(restart_delay(task, &panic, &mut backoff, began)).await;
    }
}

/// [`run`] on a tokio runtime, until aborted.
pub fn spawn<F: Future<Output = ()> + Send + 'static>(
    runtime: &Handle,
    task: impl Into<String>,
    start: impl FnMut() -> F + Send + 'static,
) -> AbortHandle {
    let task = task.into();
    runtime.spawn(async move { run(&task, start).await }).abort_handle()
}

/// Runs `work` on a new thread until it returns, and again after a panic.
pub fn thread(
    task: &'static str,
    name: String,
    mut work: impl FnMut() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(move || {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            let Err(panic) = catch(task, &mut work) else { return };
            std::thread::sleep(restart_delay(task, &panic, &mut backoff, began));
        }
    })
}

/// Logs a panic that ended a run; returns the delay before the next.
fn restart_delay(task: &str, panic: &Panic, backoff: &mut Backoff, began: Instant) -> Duration {
    let delay = backoff.after(began.elapsed());
    log(&format!("task {task}: {panic}; restarting in {delay:?}"));
    delay
}
