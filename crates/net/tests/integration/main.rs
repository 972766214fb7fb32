//! Tests of this crate from outside, a module per subject: one binary, since each costs a link of everything.
#![allow(clippy::unwrap_used, reason = "a panic here is a failed test, with its place")]

mod system;
mod udp;
