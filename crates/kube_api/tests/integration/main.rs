//! Tests of the public API, a module per subject: one binary, since each binary costs a link of everything.
#![allow(clippy::unwrap_used, reason = "a panic here is a failed test, with its place")]

mod live;
mod many_clusters;
mod tokens;
