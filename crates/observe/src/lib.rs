//! Exporters for observability: queries and replies as dnstap, the steps of queries as traces.
//!
//! ```text
//! query path ──push──→ bounded queue ──→ task on the server's runtime ──→ socket
//! ```
//!
//! A push never waits: a message that finds the queue full is dropped and counted. Only tasks own sockets.

#![forbid(unsafe_code)]

pub mod dnstap;
pub mod trace;
