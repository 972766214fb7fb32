//! The logger of this crate and its users, which the process sets.

use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

static LOGGER: OnceLock<fn(Level, &str)> = OnceLock::new();

/// Sets the logger, once per process; a second call changes nothing. Lines logged before it are lost.
pub fn set_logger(logger: fn(Level, &str)) {
    let _ = LOGGER.set(logger);
}

pub fn log(level: Level, line: &str) {
    if let Some(logger) = LOGGER.get() {
        logger(level, line);
    }
}
