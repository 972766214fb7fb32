//! `debug`: a panic ends the process instead of one query, and `[DEBUG]` lines are logged. Both are done by the
//! server; this only says so. It takes no part in queries.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
