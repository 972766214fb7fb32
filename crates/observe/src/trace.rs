//! Traces: the steps of a query, sent in batches over HTTP to Zipkin or to an OTLP collector.

mod batch;
mod exporter;
mod http;
mod otlp;
#[cfg(test)]
mod tests;
mod zipkin;

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

pub use exporter::Exporter;
pub use http::Url;

/// What is sent where, and when.
#[derive(Clone, Debug)]
pub struct Settings {
    pub protocol: Protocol,
    pub url: Url,
    /// Who we are.
    pub service: String,
    /// Where we listen, if that is one address.
    pub listens_on: Option<SocketAddr>,
    /// Spans kept while the collector does not take them; older ones go first.
    pub backlog: usize,
    /// So many spans are sent at once.
    pub batch: usize,
    /// And fewer after this time.
    pub interval: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Zipkin,
    Otlp,
}

/// One step of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Zipkin sees the lower half.
    pub trace: u128,
    pub id: u64,
    pub parent: Option<u64>,
    pub name: &'static str,
    pub began: SystemTime,
    pub ended: SystemTime,
    /// The query as a whole, which a client has asked.
    pub is_server: bool,
    pub tags: Vec<(&'static str, String)>,
    pub error: Option<String>,
}

/// An id that nobody else has.
pub fn new_id() -> u64 {
    id(rand::random())
}

/// Of a random number: ids are not zero, and fit where numbers have a sign.
fn id(random: u64) -> u64 {
    (random >> 1).max(1)
}
