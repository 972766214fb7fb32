//! Zone transfers into any sink: AXFR (RFC 5936) and IXFR (RFC 1995), over a session.
//!
//! ```text
//! session ──message──→ Reader: id, question, order of SOA records, owners, limits ──change──→ sink
//!                        └─ closing SOA ──→ Outcome
//! ```
//!
//! The sink gets changes as they arrive. They count only when the function returns an [`Outcome`]; after an error the
//! caller discards what the sink has.

mod reader;

use std::time::Duration;

use tokio::time::timeout;
use wire::message::Record;
use wire::{Class, Name, Opcode, Rtype, Section};

use crate::request::{Request, RequestError};
use crate::session::Messages;
pub use reader::Reader;

/// A change of a zone, in the order of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The whole zone follows, its SOA first; whatever the receiver had is replaced.
    Replace,
    Add(Record<'a>),
    Delete(Record<'a>),
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server has no newer version, but this one.
    UpToDate { serial: u32 },
    /// The changes are the whole zone.
    Replaced { serial: u32 },
    /// The changes lead from one version to another.
    Updated { from: u32, to: u32 },
}

/// The limits of a whole transfer; each message has those of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    pub octets: u64,
    pub records: u64,
    pub time: Duration,
}

impl Default for TransferLimits {
    fn default() -> TransferLimits {
        TransferLimits { octets: 4 << 30, records: 50_000_000, time: Duration::from_secs(3600) }
    }
}

/// Transfers a whole zone. The sink returns an error to abort.
pub async fn axfr<S: Messages>(
    session: &mut S,
    zone: Name<'_>,
    limits: &TransferLimits,
    sink: impl FnMut(Change<'_>) -> Result<(), String>,
) -> Result<Outcome, RequestError> {
    let request = Request::new(Opcode::QUERY, zone, Rtype::AXFR);
    receive(session, request, None, limits, sink).await
}

/// Transfers the differences from the version with this serial; the server may answer with the whole zone.
pub async fn ixfr<S: Messages>(
    session: &mut S,
    zone: Name<'_>,
    serial: u32,
    limits: &TransferLimits,
    sink: impl FnMut(Change<'_>) -> Result<(), String>,
) -> Result<Outcome, RequestError> {
    let mut request = Request::new(Opcode::QUERY, zone, Rtype::IXFR);
    // Of this SOA record the server reads only the serial (RFC 1995 §3).
    let data = [&[0; 2][..], &serial.to_be_bytes(), &[0; 16]].concat();
    let soa = Record { owner: zone, rtype: Rtype::SOA, class: Class::IN, ttl: 0, data: &data };
    request.writer.record(Section::Authority, &soa);
    receive(session, request, Some(serial), limits, sink).await
}

async fn receive<S: Messages>(
    session: &mut S,
    request: Request<'_>,
    serial: Option<u32>,
    limits: &TransferLimits,
    mut sink: impl FnMut(Change<'_>) -> Result<(), String>,
) -> Result<Outcome, RequestError> {
    let transfer = async {
        let expected = request.send(session).await?;
        let mut reader = Reader::new(expected.id, expected.zone, serial, limits);
        let mut message = Vec::new();
        loop {
            session.receive(&mut message).await?;
            if let Some(outcome) = reader.message(&message, &mut sink)? {
                return Ok(outcome);
            }
        }
    };
    timeout(limits.time, transfer).await.unwrap_or(Err(RequestError::Limit("time")))
}

#[cfg(test)]
mod tests;
