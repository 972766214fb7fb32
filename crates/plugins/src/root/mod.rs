//! `root`: the folder that relative paths of a server block start from. It says something about the block and
//! takes no part in queries.

mod setup;
#[cfg(test)]
mod tests;

pub(crate) use setup::setup;
