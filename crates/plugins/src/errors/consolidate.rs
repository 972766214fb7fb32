//! Errors alike, told together: the first one opens a window of time, at whose end one line says how many there
//! were.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::LOG;

use golang::{GoDuration, Regexp};

/// One `consolidate` line.
pub(crate) struct Consolidate {
    pub period: GoDuration,
    pub pattern: Regexp,
    pub level: Level,
    /// The error that opens a window is also logged as it is.
    pub show_first: bool,
    counter: Arc<Counter>,
}

/// What the window's timer needs when the configuration may be gone.
struct Counter {
    errors: AtomicU32,
    stopped: AtomicBool,
    summary: Summary,
}

struct Summary {
    pattern: String,
    period: GoDuration,
    level: Level,
    /// A single error was shown already.
    show_first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

impl Level {
    pub fn from_word(word: &str) -> Option<Level> {
        Some(match word {
            "debug" => Level::Debug,
            "info" => Level::Info,
            "warning" => Level::Warning,
            "error" => Level::Error,
            _ => return None,
        })
    }

    pub fn log(self, line: fmt::Arguments<'_>) {
        match self {
            Level::Debug => LOG.debug(line),
            Level::Info => LOG.info(line),
            Level::Warning => LOG.warning(line),
            Level::Error => LOG.error(line),
        }
    }
}

impl Consolidate {
    pub fn new(period: GoDuration, pattern: Regexp, level: Level, show_first: bool) -> Consolidate {
        let summary = Summary { pattern: pattern.source().to_owned(), period, level, show_first };
        let counter = Counter { errors: AtomicU32::new(0), stopped: AtomicBool::new(false), summary };
        Consolidate { period, pattern, level, show_first, counter: Arc::new(counter) }
    }

    pub fn matches(&self, error: &str) -> bool {
        self.pattern.matches(error)
    }

    /// Counts an error. False if it is to be logged all the same.
    pub fn count(&self) -> bool {
        if self.counter.stopped.load(Ordering::SeqCst) {
            return false;
        }
        if self.counter.errors.fetch_add(1, Ordering::SeqCst) > 0 {
            return true;
        }
        let counter = self.counter.clone();
        let period = self.period.above_zero().unwrap_or(Duration::ZERO);
        // Until it tells, every error is counted and none is shown: after a panic the window begins again.
        supervise::spawn(server::runtime::handle(), "errors-consolidate", move || {
            let counter = counter.clone();
            async move {
                tokio::time::sleep(period).await;
                counter.tell();
            }
        });
        // Stopped in between: nobody else would tell.
        if self.counter.stopped.load(Ordering::SeqCst) {
            self.counter.tell();
        }
        !self.show_first
    }

    /// Tells what is pending, and counts no more.
    pub fn stop(&self) {
        self.counter.stopped.store(true, Ordering::SeqCst);
        self.counter.tell();
    }
}

impl Counter {
    fn tell(&self) {
        let errors = self.errors.swap(0, Ordering::SeqCst);
        let Summary { pattern, period, level, show_first } = &self.summary;
        if errors > 1 || (errors == 1 && !show_first) {
            level.log(format_args!("{errors} errors like '{pattern}' occurred in last {period}"));
        }
    }
}
