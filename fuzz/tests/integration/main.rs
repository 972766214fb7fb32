//! Tests of this crate from outside, a module per subject: one binary, since each costs a link of everything.

mod corpus;
mod live;
