//! Catches panics and returns them as values.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::{Context, Poll};

use metrics::{Counter, Family};

use crate::hook::{Guard, take_last};
use crate::inject;

static PANICS: LazyLock<Arc<Family<Counter>>> = LazyLock::new(|| {
    let help = "Panics, by the task or thread they occurred in.";
    let registered = metrics::registry().counters("rhumb_task_panics_total", help, &["task"]);
    // Only this crate uses the name; if it is taken all the same, counting continues without exposition.
    registered.unwrap_or_else(|_| Arc::new(Family::<Counter>::new(&["task"])))
});

static LOG: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the log for panics, once per process; the default is standard error.
pub fn set_log(log: fn(&str)) {
    let _ = LOG.set(log);
}

pub(crate) fn log(line: &str) {
    match LOG.get() {
        Some(log) => log(line),
        None => eprintln!("{line}"),
    }
}

pub(crate) fn count(task: &str) {
    PANICS.with(&[task]).inc();
}

/// Number of panics of the task so far.
pub fn panics(task: &str) -> u64 {
    PANICS.with(&[task]).get()
}

/// Registers the metric before the first panic.
pub(crate) fn register() {
    LazyLock::force(&PANICS);
}

/// A panic that was caught.
#[derive(Debug)]
pub struct Panic {
    pub message: String,
    /// File, line and column; `None` if the hook is not installed.
    pub place: Option<String>,
    pub trace: Option<String>,
}

impl Panic {
    pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("no message").to_owned()
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panic at {}: {}", self.place.as_deref().unwrap_or("an unknown location"), self.message)?;
        self.trace.as_deref().map_or(Ok(()), |trace| write!(f, "\n{trace}"))
    }
}

/// Runs a step of a task; counts and returns a panic. State that the step was changing may be inconsistent then; the caller
/// must handle that.
#[inline]
pub fn catch<T>(task: &str, work: impl FnOnce() -> T) -> Result<T, Panic> {
    let guard = Guard::enter();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        inject::panic_if_armed(task);
        work()
    }));
    drop(guard);
    outcome.map_err(|payload| {
        count(task);
        take_last().unwrap_or_else(|| Panic {
            message: Panic::message_of(payload.as_ref()),
            place: None,
            trace: None,
        })
    })
}

/// Like [`catch`], for a future: guards each poll.
pub fn catch_async<F: Future>(task: &str, work: F) -> impl Future<Output = Result<F::Output, Panic>> {
    CatchAsync { task, work: Box::pin(work) }
}

struct CatchAsync<'t, F> {
    task: &'t str,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for CatchAsync<'_, F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let CatchAsync { task, work } = &mut *self;
        match catch(task, || work.as_mut().poll(context)) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// Runs a step of a task; logs and counts a panic and returns `None`.
#[inline]
pub fn step<T>(task: &str, work: impl FnOnce() -> T) -> Option<T> {
    catch(task, work).inspect_err(|panic| log(&format!("task {task}: {panic}"))).ok()
}

/// Like [`step`], for a future.
pub async fn step_async<F: Future>(task: &str, work: F) -> Option<F::Output> {
    catch_async(task, work).await.inspect_err(|panic| log(&format!("task {task}: {panic}"))).ok()
}
