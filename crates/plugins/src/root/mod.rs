//! `root`: sets the folder that relative paths of a server block start from. It is not in the query chain.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
