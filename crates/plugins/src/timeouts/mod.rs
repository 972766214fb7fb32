//! `timeouts`: how long TCP clients may take. The server applies them; this only reads them, and takes no part
//! in queries.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
