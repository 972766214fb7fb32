//! The order of records in a transfer.
//!
//! ```text
//! AXFR: SOA(n) records… SOA(n)
//! IXFR: SOA(n)                                                                  nothing newer
//!       SOA(n) [SOA(a) deleted… SOA(b) added…] [SOA(b) deleted… SOA(n) added…] SOA(n)
//!       SOA(n) records… SOA(n)                                                  the whole zone instead
//! ```

use wire::layout::{Field, layout};
use wire::message::Record;
use wire::{Class, Name, NameBuf, Opcode, Rtype, Section};

use super::{Change, Outcome, TransferLimits};
use crate::request::{Expected, MALFORMED, RequestError, reader};

/// Reads the messages of a transfer, without I/O.
pub struct Reader {
    id: u16,
    zone: NameBuf,
    /// The serial that was asked for with IXFR.
    asked: Option<u32>,
    left: TransferLimits,
    /// TTL and RDATA of the first SOA, until the kind of answer is known.
    first_soa: (u32, Vec<u8>),
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Start,
    /// After the first SOA of an IXFR: the next record shows what kind of answer it is.
    Soa {
        to: u32,
    },
    Zone {
        serial: u32,
    },
    Deleted {
        from: u32,
        to: u32,
    },
    Added {
        from: u32,
        to: u32,
    },
    End(Outcome),
}

type Sink<'a> = &'a mut dyn FnMut(Change<'_>) -> Result<(), String>;

impl Reader {
    /// `serial` is that of an IXFR request.
    pub fn new(id: u16, zone: Name<'_>, serial: Option<u32>, limits: &TransferLimits) -> Reader {
        Reader {
            id,
            zone: zone.to_buf(),
            asked: serial,
            left: *limits,
            first_soa: (0, Vec::new()),
            state: State::Start,
        }
    }

    /// Reads the next message. The outcome follows with the closing SOA; an error is final.
    pub fn message(&mut self, message: &[u8], sink: Sink<'_>) -> Result<Option<Outcome>, RequestError> {
        let zone = self.zone.clone();
        let qtype = if self.asked.is_some() { Rtype::IXFR } else { Rtype::AXFR };
        let expected = Expected { id: self.id, opcode: Opcode::QUERY, zone: zone.as_name(), qtype };
        self.left.octets =
            self.left.octets.checked_sub(message.len() as u64).ok_or(RequestError::Limit("octets"))?;
        let mut reply = reader(message)?;
        expected.check(&mut reply, matches!(self.state, State::Start))?;
        let mut is_empty = true;
        loop {
            let next = reply.record().map_err(|_| MALFORMED)?;
            let Some((section, record)) = next else { break };
            if section != Section::Answer {
                continue;
            }
            is_empty = false;
            self.left.records = self.left.records.checked_sub(1).ok_or(RequestError::Limit("records"))?;
            check_record(&record, zone.as_name())?;
            self.record(record, sink)?;
        }
        if is_empty {
            return Err(RequestError::Invalid("a message has no records"));
        }
        if let (State::Soa { to }, Some(asked)) = (self.state, self.asked)
            && !is_newer(to, asked)
        {
            self.state = State::End(Outcome::UpToDate { serial: to });
        }
        Ok(if let State::End(outcome) = self.state { Some(outcome) } else { None })
    }

    fn record(&mut self, record: Record<'_>, sink: Sink<'_>) -> Result<(), RequestError> {
        let serial = match record.serial() {
            None if record.rtype == Rtype::SOA => return Err(RequestError::Invalid("malformed SOA")),
            serial => serial,
        };
        let mut push = |change: Change<'_>| sink(change).map_err(RequestError::Sink);
        self.state = match (self.state, serial) {
            (State::Start, None) => return Err(RequestError::Invalid("it does not begin with a SOA")),
            (State::Start, Some(to)) if self.asked.is_some() => {
                self.first_soa = (record.ttl, record.data.to_vec());
                State::Soa { to }
            }
            (State::Start, Some(serial)) => {
                push(Change::Replace)?;
                push(Change::Add(record))?;
                State::Zone { serial }
            }
            (State::Soa { to }, Some(from)) if from != to => {
                if Some(from) != self.asked {
                    return Err(RequestError::Invalid("the differences begin at another serial"));
                }
                push(Change::Delete(record))?;
                State::Deleted { from, to }
            }
            (State::Soa { to }, _) => {
                push(Change::Replace)?;
                let (ttl, data) = &self.first_soa;
                let owner = self.zone.as_name();
                push(Change::Add(Record { owner, rtype: Rtype::SOA, class: Class::IN, ttl: *ttl, data }))?;
                self.state = State::Zone { serial: to };
                return self.record(record, sink);
            }
            (State::Zone { serial }, Some(last)) if last == serial => {
                State::End(Outcome::Replaced { serial })
            }
            (State::Zone { .. }, Some(_)) => {
                return Err(RequestError::Invalid("the closing SOA has another serial"));
            }
            (state @ (State::Zone { .. } | State::Added { .. }), None) => {
                push(Change::Add(record))?;
                state
            }
            (state @ State::Deleted { .. }, None) => {
                push(Change::Delete(record))?;
                state
            }
            (State::Deleted { from, to }, Some(next)) => {
                if !is_newer(next, from) || is_newer(next, to) {
                    return Err(RequestError::Invalid("the serials of the differences do not rise"));
                }
                push(Change::Add(record))?;
                State::Added { from: next, to }
            }
            (State::Added { from, to }, Some(next)) if next == from && from == to => {
                State::End(Outcome::Updated { from: self.asked.unwrap_or(from), to })
            }
            (State::Added { from, to }, Some(next)) if next == from => {
                push(Change::Delete(record))?;
                State::Deleted { from, to }
            }
            (State::Added { .. }, Some(_)) => {
                return Err(RequestError::Invalid("the differences do not connect"));
            }
            (State::End(_), _) => return Err(RequestError::Invalid("records follow the closing SOA")),
        };
        Ok(())
    }
}

fn check_record(record: &Record<'_>, zone: Name<'_>) -> Result<(), RequestError> {
    if !record.owner.is_under(zone) {
        return Err(RequestError::Invalid("a record is outside the zone"));
    }
    if record.rtype == Rtype::SOA && !record.owner.eq_ignore_case(zone) {
        return Err(RequestError::Invalid("a SOA is below the zone"));
    }
    // Only updates have records without data.
    if record.data.is_empty() && layout(record.rtype) != [Field::Rest] {
        return Err(RequestError::Invalid("a record has no data"));
    }
    // Types of queries and of messages, not of data (RFC 6895 §3.1).
    let is_meta = record.rtype == Rtype::OPT || (128..=255).contains(&record.rtype.0);
    if is_meta || record.class != Class::IN {
        return Err(RequestError::Invalid("a record has a type or class that zones do not have"));
    }
    Ok(())
}

/// Serial number arithmetic (RFC 1982).
fn is_newer(serial: u32, than: u32) -> bool {
    serial != than && serial.wrapping_sub(than) < 1 << 31
}
