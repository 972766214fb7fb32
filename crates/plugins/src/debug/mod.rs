//! Turns on debug mode: a panic ends the process instead of one query, and `[DEBUG]` lines are logged. The server does
//! both; this plugin only sets the option and does not see queries.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
