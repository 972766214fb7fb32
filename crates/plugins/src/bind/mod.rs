//! Listens on some addresses instead of all. There is nothing to do per query: the addresses are the block's.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
