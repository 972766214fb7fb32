//! Where this crate's log lines go. It knows no log of its own: whoever uses it says.

use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

static LOGGER: OnceLock<fn(Level, &str)> = OnceLock::new();

/// Says where log lines go, once per process; a second call changes nothing. Lines before it are lost.
pub fn set_logger(logger: fn(Level, &str)) {
    let _ = LOGGER.set(logger);
}

pub(crate) fn log(level: Level, line: &str) {
    if let Some(logger) = LOGGER.get() {
        logger(level, line);
    }
}
