//! The process: start, reload, signals and stop.

pub(crate) mod instance;
pub(crate) mod run;
pub mod runtime;
