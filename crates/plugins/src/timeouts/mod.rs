//! `timeouts`: sets the timeouts of TCP connections, which the server applies. It is not in the query chain.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
