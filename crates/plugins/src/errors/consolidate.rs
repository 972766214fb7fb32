//! Consolidates errors: the first that matches opens a time window, at whose end one line reports their number.

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
    /// The error that opens a window is also logged itself.
    pub show_first: bool,
    counter: Arc<Counter>,
}

/// State shared with the window's timer, which may outlive the configuration.
struct Counter {
    errors: AtomicU32,
    stopped: AtomicBool,
    summary: Summary,
}

struct Summary {
    pattern: String,
    period: GoDuration,
    level: Level,
    /// The first error is already logged, so that a window of one needs no summary.
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

    /// Counts an error; false if the caller must log it itself.
    pub fn count(&self) -> bool {
        if self.counter.stopped.load(Ordering::SeqCst) {
            return false;
        }
        if self.counter.errors.fetch_add(1, Ordering::SeqCst) > 0 {
            return true;
        }
        let counter = self.counter.clone();
        let period = self.period.above_zero().unwrap_or(Duration::ZERO);
        // After a panic the window restarts; otherwise later errors would be counted and never reported.
        supervise::spawn(server::runtime::handle(), "errors-consolidate", move || {
            let counter = counter.clone();
            async move {
                tokio::time::sleep(period).await;
                counter.log_summary();
            }
        });
        // `stop` may have run in between and missed this error.
        if self.counter.stopped.load(Ordering::SeqCst) {
            self.counter.log_summary();
        }
        !self.show_first
    }

    /// Logs the pending summary and stops counting.
    pub fn stop(&self) {
        self.counter.stopped.store(true, Ordering::SeqCst);
        self.counter.log_summary();
    }
}

impl Counter {
    fn log_summary(&self) {
        let errors = self.errors.swap(0, Ordering::SeqCst);
        let Summary { pattern, period, level, show_first } = &self.summary;
        if errors > 1 || (errors == 1 && !show_first) {
            level.log(format_args!("{errors} errors like '{pattern}' occurred in last {period}"));
        }
    }
}
