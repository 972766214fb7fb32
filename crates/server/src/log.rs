//! The process log: CoreDNS's line format on standard output, written by a thread of its own.
//!
//! ```text
//! info, error, …  ──→ queue (a lock, in order) ─┐
//! query_line      ──→ ring of this thread ──────┼─→ writer thread ──→ standard output
//! query_line      ──→ ring of this thread ──────┘
//! ```
//!
//! Messages are rare and may take a lock. Query lines are frequent: each thread formats them into a reused buffer and
//! copies them into its ring, without lock, allocation or system call. If nobody reads standard output, the ring
//! fills up and lines are dropped and counted, because a name server that waits for its log is down.
//!
//! Query lines of one thread keep their order, and so do messages; otherwise no order is guaranteed.

mod line;
mod writer;

use std::cell::RefCell;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rtrb::Producer;

pub use line::{Fields, Level};
use writer::Writer;

/// How long the process waits for the log when it exits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

static DEBUG: AtomicBool = AtomicBool::new(false);
static JSON: AtomicBool = AtomicBool::new(false);
static WRITER: LazyLock<Writer> = LazyLock::new(|| Writer::new(Box::new(io::stdout())));

/// The line format of the process: CoreDNS's `-log-format`, which no reload changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `[INFO] plugin/hosts: message`. No time: CoreDNS prints none, the container runtime adds it.
    Text,
    /// One object per line, with the members of Go's slog: `time`, `level`, `msg`, then `plugin` and others.
    Json,
}

pub fn set_format(format: Format) {
    JSON.store(format == Format::Json, Ordering::Relaxed);
}

pub fn format() -> Format {
    if JSON.load(Ordering::Relaxed) { Format::Json } else { Format::Text }
}

/// Turns `[DEBUG]` lines on or off; a `debug` directive in any block turns them on for the whole process.
pub fn set_debug(on: bool) {
    DEBUG.store(on, Ordering::Relaxed);
}

pub fn debug_enabled() -> bool {
    DEBUG.load(Ordering::Relaxed)
}

/// Replaces standard output; earlier lines are still written to the old output.
pub fn set_output(output: Box<dyn Write + Send>) {
    WRITER.set_output(output);
}

/// Returns when all earlier lines are written, or after [`FLUSH_TIMEOUT`] if standard output blocks. Called at exit and
/// by tests.
pub fn flush() {
    WRITER.flush_within(FLUSH_TIMEOUT);
}

/// Writes text without a prefix, after all earlier lines.
pub(crate) fn raw(text: &str) {
    WRITER.push(text.as_bytes());
    WRITER.wake();
}

/// Lines dropped since the start, because standard output was not read fast enough or failed.
pub fn dropped() -> u64 {
    WRITER.dropped()
}

pub fn debug(plugin: Option<&str>, message: fmt::Arguments<'_>) {
    log(Level::Debug, plugin, &message);
}

pub fn info(plugin: Option<&str>, message: fmt::Arguments<'_>) {
    log(Level::Info, plugin, &message);
}

pub fn warning(plugin: Option<&str>, message: fmt::Arguments<'_>) {
    log(Level::Warning, plugin, &message);
}

pub fn error(plugin: Option<&str>, message: fmt::Arguments<'_>) {
    log(Level::Error, plugin, &message);
}

/// Logs and flushes: the line is written when this returns. The caller exits.
pub fn fatal(plugin: Option<&str>, message: fmt::Arguments<'_>) {
    log(Level::Fatal, plugin, &message);
    flush();
}

fn log(level: Level, plugin: Option<&str>, message: &dyn Display) {
    if level == Level::Debug && !debug_enabled() {
        return;
    }
    let mut line = Vec::with_capacity(128);
    line::message(&mut line, format(), level, plugin, message);
    WRITER.push(&line);
    WRITER.wake();
}

/// The log of one plugin: `[INFO] plugin/NAME: …`.
#[derive(Clone, Copy, Debug)]
pub struct Logger {
    plugin: &'static str,
}

/// The log of the plugin `name`.
pub const fn plugin(name: &'static str) -> Logger {
    Logger { plugin: name }
}

impl Logger {
    pub fn debug(self, message: impl Display) {
        log(Level::Debug, Some(self.plugin), &message);
    }

    pub fn info(self, message: impl Display) {
        log(Level::Info, Some(self.plugin), &message);
    }

    pub fn warning(self, message: impl Display) {
        log(Level::Warning, Some(self.plugin), &message);
    }

    pub fn error(self, message: impl Display) {
        log(Level::Error, Some(self.plugin), &message);
    }
}

/// Logs a query at level INFO: `write` appends the message, without prefix or newline.
pub fn query_line(write: impl FnOnce(&mut Vec<u8>)) {
    query_record(write, |_| ());
}

/// Logs a query with extra members: as text only the message, as JSON the message as `msg` and the members that
/// `fields` adds. `fields` is not called for text.
pub fn query_record(message: impl FnOnce(&mut Vec<u8>), fields: impl FnOnce(&mut Fields<'_>)) {
    let pushed = LOCAL.try_with(|local| {
        // Already borrowed means that formatting a message logs a query; the inner line is dropped.
        let mut local = local.try_borrow_mut().ok()?;
        local.get_or_insert_with(|| ThreadLog::new(&WRITER)).query(format(), message, fields).then_some(())
    });
    match pushed {
        Ok(Some(())) => WRITER.wake_if_idle(),
        // The ring is full, or the thread is ending and its ring is gone.
        _ => WRITER.drop_lines(1),
    }
}

/// Creates the calling thread's ring, so that its first query does not have to. Workers call it at start.
pub fn attach() {
    let _ = LOCAL.try_with(|local| {
        if let Ok(mut local) = local.try_borrow_mut() {
            local.get_or_insert_with(|| ThreadLog::new(&WRITER));
        }
    });
    // Starts the writer thread now rather than at the first query.
    WRITER.wake();
}

thread_local! {
    static LOCAL: RefCell<Option<ThreadLog>> = const { RefCell::new(None) };
}

/// A thread's ring and buffers, to log queries without allocating.
struct ThreadLog {
    ring: Producer<u8>,
    line: Vec<u8>,
    message: Vec<u8>,
}

impl ThreadLog {
    fn new(writer: &Writer) -> Self {
        ThreadLog { ring: writer.ring(), line: Vec::with_capacity(1024), message: Vec::with_capacity(512) }
    }

    /// Pushes a line; false if the ring is full.
    fn query(
        &mut self,
        format: Format,
        message: impl FnOnce(&mut Vec<u8>),
        fields: impl FnOnce(&mut Fields<'_>),
    ) -> bool {
        self.line.clear();
        match format {
            Format::Text => line::text_query(&mut self.line, message),
            Format::Json => {
                self.message.clear();
                message(&mut self.message);
                line::json_query(&mut self.line, &self.message, fields);
            }
        }
        // All or nothing, so that the writer always reads whole lines.
        self.ring.push_entire_slice(&self.line).is_ok()
    }
}

#[cfg(test)]
mod tests;
