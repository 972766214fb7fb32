//! Sets the addresses that a server block listens on. It is not in the query chain.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
