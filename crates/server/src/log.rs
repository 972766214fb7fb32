//! The process log: CoreDNS's lines on standard output, written by a thread of its own.
//!
//! ```text
//! info, error, …  ──→ queue (a lock, in order) ─┐
//! query_line      ──→ ring of this thread ──────┼─→ writer thread ──→ standard output
//! query_line      ──→ ring of this thread ──────┘
//! ```
//!
//! Messages are rare and may take a lock. Query lines are not: they are formatted into a buffer the thread keeps
//! and copied into its ring, without lock, allocation or system call; if nobody reads standard output, the ring
//! fills up and lines are dropped and counted, because a name server that waits for its log is down.
//!
//! Lines of one thread keep their order, and so do messages; between the two, and between threads, there is none.

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

/// How long the end of the process waits for the log.
const FLUSH: Duration = Duration::from_secs(1);

static DEBUG: AtomicBool = AtomicBool::new(false);
static JSON: AtomicBool = AtomicBool::new(false);
static WRITER: LazyLock<Writer> = LazyLock::new(|| Writer::new(Box::new(io::stdout())));

/// How lines look. One for the process: CoreDNS's `-log-format`, which no reload changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `[INFO] plugin/hosts: message`. No time: CoreDNS prints none, the container runtime adds it.
    Text,
    /// An object a line, with the members of Go's slog: `time`, `level`, `msg`, then `plugin` and others.
    Json,
}

pub fn set_format(format: Format) {
    JSON.store(format == Format::Json, Ordering::Relaxed);
}

pub fn format() -> Format {
    if JSON.load(Ordering::Relaxed) { Format::Json } else { Format::Text }
}

/// Turns `[DEBUG]` lines on or off; the `debug` plugin does, in any block, for the whole process.
pub fn set_debug(on: bool) {
    DEBUG.store(on, Ordering::Relaxed);
}

pub fn debug_enabled() -> bool {
    DEBUG.load(Ordering::Relaxed)
}

/// Replaces standard output; what was logged before still goes to the old target.
pub fn set_output(output: Box<dyn Write + Send>) {
    WRITER.set_output(output);
}

/// Returns when everything logged before is written, or when standard output does not take it for [`FLUSH`]. Called at exit,
/// and by tests.
pub fn flush() {
    WRITER.flush_within(FLUSH);
}

/// Writes text as it is, behind what was logged before.
pub(crate) fn raw(text: &str) {
    WRITER.push(text.as_bytes());
    WRITER.wake();
}

/// Lines lost since the start, because standard output was not read fast enough or failed.
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

/// The last words: written when this returns. To exit is up to the caller.
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

/// Logs a query with members of its own: as text the message alone, as JSON the message as `msg` and then what
/// `fields` adds, which is not called for text.
pub fn query_record(message: impl FnOnce(&mut Vec<u8>), fields: impl FnOnce(&mut Fields<'_>)) {
    let pushed = LOCAL.try_with(|local| {
        // Borrowed already means that a message logs while it is formatted; its inner line is lost.
        let mut local = local.try_borrow_mut().ok()?;
        local.get_or_insert_with(|| Local::new(&WRITER)).query(format(), message, fields).then_some(())
    });
    match pushed {
        Ok(Some(())) => WRITER.wake_if_idle(),
        // Full, or the thread is ending and its ring is gone.
        _ => WRITER.drop_lines(1),
    }
}

/// Makes the calling thread's ring now, so that its first query does not have to. Workers call it at start.
pub fn attach() {
    let _ = LOCAL.try_with(|local| {
        if let Ok(mut local) = local.try_borrow_mut() {
            local.get_or_insert_with(|| Local::new(&WRITER));
        }
    });
    // A thread is started at most once; doing it here keeps that off the first query too.
    WRITER.wake();
}

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// What a thread keeps to log queries without allocating.
struct Local {
    ring: Producer<u8>,
    line: Vec<u8>,
    message: Vec<u8>,
}

impl Local {
    fn new(writer: &Writer) -> Self {
        Local { ring: writer.ring(), line: Vec::with_capacity(1024), message: Vec::with_capacity(512) }
    }

    /// Whether the line found room.
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
        // All or nothing, so that what the writer takes out always ends with a whole line.
        self.ring.push_entire_slice(&self.line).is_ok()
    }
}

#[cfg(test)]
mod tests;
