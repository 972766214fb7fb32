//! Sets the number of sockets per address. It is not in the query chain.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
