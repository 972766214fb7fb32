//! Notices what a check cannot report itself: a panic, also one that somebody caught, and a check that
//! does not end.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::finding::Finding;

/// A check takes microseconds. Generous, since the machine may be busy with something else.
const ENDLESS: Duration = Duration::from_secs(20);

thread_local! {
    /// None outside of a check; inside, the last panic if there was one.
    static PANIC: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Runs a check. Any panic in it is an error, also one that was caught before it came here: the server turns
/// panics into SERVFAIL, and only the hook sees those. Panics outside of checks print as ever.
pub fn guard<T>(check: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = format!("panic: {info}").replace('\n', " ");
            let noted = PANIC.with_borrow_mut(|last| last.as_mut().map(|last| *last = Some(text)));
            if noted.is_none() {
                usual(info);
            }
        }));
    });
    PANIC.set(Some(None));
    // What a panic leaves half done is the target, which is not used again after a finding.
    let outcome = panic::catch_unwind(AssertUnwindSafe(check));
    match (PANIC.take().flatten(), outcome) {
        (None, Ok(value)) => Ok(value),
        (Some(panic), _) => Err(panic),
        (None, Err(_)) => Err("a panic of an unknown kind".to_owned()),
    }
}

/// Ends the process when one check takes for ever, after keeping its input.
#[derive(Clone)]
pub struct Watchdog(Arc<Mutex<Watched>>);

struct Watched {
    /// None while no check runs.
    since: Option<Instant>,
    input: Vec<u8>,
}

impl Watchdog {
    pub fn start(target: &'static str) -> Self {
        let dog = Self(Arc::new(Mutex::new(Watched { since: None, input: Vec::new() })));
        let watching = dog.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_millis(500));
                let watched = watching.0.lock().unwrap_or_else(PoisonError::into_inner);
                if watched.since.is_some_and(|since| since.elapsed() > ENDLESS) {
                    let what = format!("no end after {ENDLESS:?}");
                    Finding { target, what, input: watched.input.clone() }.report();
                    std::process::exit(1);
                }
            }
        });
        dog
    }

    pub fn begin(&self, input: &[u8]) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.since = Some(Instant::now());
        watched.input.clear();
        watched.input.extend_from_slice(input);
    }

    /// How long the check took.
    pub fn end(&self) -> Duration {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.since.take().map_or(Duration::ZERO, |since| since.elapsed())
    }
}
