//! What leaves the process for those who watch it: queries and replies as dnstap, the steps of queries as traces.
//!
//! ```text
//! query path ──push──→ bounded queue ──→ task on the server's runtime ──→ socket
//! ```
//!
//! A push never waits: what finds no room is counted and lost. All sockets live in tasks.

#![forbid(unsafe_code)]

pub mod dnstap;
pub mod trace;
