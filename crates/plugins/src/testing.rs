//! Tests that plugins share.

pub(crate) mod broken_file;
mod explained;
pub(crate) mod harness;
