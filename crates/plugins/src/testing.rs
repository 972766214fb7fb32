//! Tests that plugins share.

pub(crate) mod broken_file;
pub(crate) mod harness;
