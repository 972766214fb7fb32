//! The one DNS client of the product: an [`Upstream`] is one address that is asked over UDP, TCP, TLS or HTTPS.
//!
//! ```text
//! exchange ──question (fresh id, 0x20)──→ pool ──→ udp | stream (TCP, TLS) | https
//!    │                                      ▲         │ one query in flight per socket, everything
//!    │                                      └─given───┘ has a deadline
//!    └─ UDP, on the thread of a worker ───→ here: a few queries share a socket, in batches, without another thread
//! ```
//!
//! A reply is believed if it comes from the peer under the id of the query and repeats its question, and of such a
//! reply only the records that belong to the question (`owners.rs`).
//!
//! A socket goes back to its pool only after an answer that fits; whatever ended otherwise (a timeout, a
//! cancelled future, an answer to another question) closes it, so a late packet never meets the next query.
//! Policies, retries and deadlines over several upstreams are those of the caller.

#![forbid(unsafe_code)]

mod dial;
mod error;
mod health;
mod here;
mod https;
mod measure;
mod options;
mod owners;
mod pool;
mod question;
mod stream;
mod tls;
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
