//! The DNS client: an [`Upstream`] is one address that is queried over UDP, TCP, TLS or HTTPS.
//!
//! ```text
//! exchange ──question (fresh id, 0x20)──→ pool ──→ udp | stream (TCP, TLS) | https
//!    │                                      ▲         │ one query in flight per socket, everything
//!    │                                      └─put─────┘ has a deadline
//!    └─ UDP, on a worker's thread ───→ worker_udp: a few queries share a socket, in batches, without another thread
//! ```
//!
//! A reply is accepted if it comes from the upstream with the id of the query and repeats its question, and of such a
//! reply only the records that belong to the question (`bailiwick.rs`).
//!
//! A socket returns to its pool only after a matching answer; any other end (a timeout, a cancelled future, an answer
//! to another question) closes it, so that a late packet is never taken for an answer to the next query.
//! Policies, retries and deadlines over several upstreams are up to the caller.

#![forbid(unsafe_code)]

pub mod dial;
mod dial_time;
mod error;
mod health;
mod https;
mod measure;
mod options;
mod policy;
mod pool;
pub mod request;
pub mod session;
mod tls;
pub mod transfer;
pub mod tsig;
mod udp;
mod upstream;
mod verifier;

pub use error::Error;
pub use options::{DohMethod, Health, Network, Options, Scheme};
pub use rustls;
pub use tls::{load_tls, tls_config};
pub use upstream::{Answer, Upstream};

#[cfg(test)]
#[global_allocator]
static COUNTING: testkit::alloc::Counting = testkit::alloc::Counting;
