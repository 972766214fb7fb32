//! Tests of this crate from outside, a module per subject: one binary, since each costs a link of everything.

mod environment;
mod language;
mod never_panics;
