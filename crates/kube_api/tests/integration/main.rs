//! One module per subject.

#![allow(clippy::unwrap_used, reason = "a panic here is a failed test, with its place")]

mod live;
mod many_clusters;
mod tokens;
