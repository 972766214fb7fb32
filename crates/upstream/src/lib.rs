//! The DNS client: an [`Upstream`] answers questions over UDP, TCP, TLS or HTTPS; transfers, updates and NOTIFY run over
//! sessions.
//!
//! ```text
//! question                                        transfer (axfr, ixfr)   request (update, notify)
//!    │ fresh id, 0x20                                       │ rules of their own │
//! Upstream::exchange ── policy: what a forwarder believes   └─────────┬──────────┘
//!    │                                              tsig::SignedSession, if there is a key
//!    ├─ udp: of the worker's thread, or udp::thread                   │
//!    ├─ pool of sessions ─────────────────────────→ session: messages in order, deadlines, size
//!    └─ https (messages, not bytes)                                   │
//!                                                   dial: TCP, TLS over another dialer
//! ```
//!
//! A reply is accepted if it comes from the upstream with the id of the query and repeats its question, and of such a
//! reply only the records that belong to the question (`policy.rs`).
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

pub use error::Error;
pub use options::{DohMethod, Health, Network, Options, Scheme};
pub use rustls;
pub use tls::{load_tls, tls_config};
pub use upstream::{Answer, Upstream};

#[cfg(test)]
#[global_allocator]
static COUNTING: testkit::alloc::Counting = testkit::alloc::Counting;
