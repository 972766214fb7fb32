//! How many sockets listen on an address. There is nothing to do per query: the number is the block's.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
