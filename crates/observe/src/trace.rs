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

/// Where spans are sent, and in which batches.
#[derive(Clone, Debug)]
pub struct Settings {
    pub protocol: Protocol,
    pub url: Url,
    /// The service name in every span.
    pub service: String,
    /// The DNS listener's address, if there is only one.
    pub listens_on: Option<SocketAddr>,
    /// Capacity in spans while the collector does not accept them; the oldest are dropped first.
    pub backlog: usize,
    /// Number of spans that triggers a request.
    pub batch: usize,
    /// A smaller batch is sent after this time.
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
    /// Zipkin gets the lower 64 bits.
    pub trace: u128,
    pub id: u64,
    pub parent: Option<u64>,
    pub name: &'static str,
    pub began: SystemTime,
    pub ended: SystemTime,
    /// The root span: the client's query as a whole.
    pub is_server: bool,
    pub tags: Vec<(&'static str, String)>,
    pub error: Option<String>,
}

/// A random span or trace id.
pub fn new_id() -> u64 {
    id(rand::random())
}

/// Ids are not zero and fit a signed 64-bit integer.
fn id(random: u64) -> u64 {
    (random >> 1).max(1)
}
