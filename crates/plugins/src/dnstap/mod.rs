//! `dnstap`: sends every query and reply as a protobuf message to a reader.
//!
//! ```text
//! query()      CLIENT_QUERY
//! forwarded()  FORWARDER_QUERY, FORWARDER_RESPONSE for each upstream queried
//! sent()       CLIENT_RESPONSE with the final packet
//! reply()      CLIENT_RESPONSE where no packet follows: failures, look-ups of other plugins
//! ```
//!
//! The query's thread encodes and queues the messages; `observe::dnstap` has the sockets.

mod extra;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use observe::dnstap::{Kind, Output, Protocol, Record};
use server::{
    Client, ForwardedExchange, Hooks, Lifecycle, Outcome, Plugin, Sent, Slot, Step, Tap, Transport, Turn,
    Visit,
};

use crate::messages::packet;
use extra::Extra;
pub(crate) use setup::setup;

const NAME: &str = "dnstap";

/// One `dnstap` line.
pub(crate) struct Dnstap {
    output: Arc<Output>,
    /// The socket as in the Corefile, for `explain`.
    socket: String,
    /// Messages include the packets of queries and replies.
    full: bool,
    /// Identity and version, encoded.
    head: Vec<u8>,
    extra: Option<Extra>,
}

impl Plugin for Dnstap {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::FAILURE | Hooks::SENT | Hooks::PARTS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        visit.note(|_| format!("dnstap messages go to {}", self.socket));
        if !visit.is_served() || !self.output.has_readers() {
            return Step::Next;
        }
        let now = SystemTime::now();
        store_time(visit.slot(), now);
        let packet = self.full.then(|| packet::of(visit.query));
        let record = Record {
            query_message: packet.as_deref(),
            ..client_record(Kind::ClientQuery, visit.client, now)
        };
        self.push(&record, |extra| extra.before_reply(visit));
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        // The packet of a reply to a client exists only in `sent`.
        if visit.outcome() == Outcome::Records && visit.depth() == 0 {
            return Turn::Up;
        }
        let Some(began) = load_time(visit.slot()) else { return Turn::Up };
        let mut packet = Vec::new();
        if self.full {
            match visit.outcome() {
                Outcome::Records => _ = visit.reply.encode(visit.query, usize::from(u16::MAX), &mut packet),
                _ => encode_failure(visit, &mut packet),
            }
        }
        visit.slot().words = [0; 4];
        let record = Record {
            response_time: Some(SystemTime::now()),
            response_message: self.full.then_some(&packet),
            ..client_record(Kind::ClientResponse, visit.client, began)
        };
        self.push(&record, |extra| extra.before_reply(visit));
        Turn::Up
    }

    fn sent(&self, sent: &mut Sent<'_>, packet: &[u8]) {
        // The slot keeps its time for the next message of a zone transfer.
        let Some(began) = load_time(sent.slot()) else { return };
        let record = Record {
            response_time: Some(SystemTime::now()),
            response_message: self.full.then_some(packet),
            ..client_record(Kind::ClientResponse, sent.client, began)
        };
        self.push(&record, |extra| extra.after_reply(sent));
    }
}

impl Lifecycle for Dnstap {
    fn start(&self) {
        self.output.start();
    }

    fn stop(&self) {
        self.output.stop();
    }
}

impl Tap for Dnstap {
    fn forwarded(&self, exchange: &ForwardedExchange<'_>, visit: &Visit<'_>) {
        if !self.output.has_readers() {
            return;
        }
        let query = Record {
            kind: Kind::ForwarderQuery,
            protocol: protocol(exchange.transport),
            query_address: exchange.local,
            response_address: Some(exchange.upstream),
            query_time: exchange.began,
            response_time: None,
            query_message: self.full.then_some(exchange.query),
            response_message: None,
        };
        self.push(&query, |extra| extra.before_reply(visit));
        if let Some((reply, at)) = exchange.reply {
            let response = Record {
                kind: Kind::ForwarderResponse,
                response_time: Some(at),
                query_message: None,
                response_message: self.full.then_some(reply),
                ..query
            };
            self.push(&response, |extra| extra.before_reply(visit));
        }
    }
}

impl Dnstap {
    fn push(&self, record: &Record<'_>, extra: impl FnOnce(&Extra) -> Vec<u8>) {
        let extra = self.extra.as_ref().map(extra);
        self.output.push(record.encode(&self.head, extra.as_deref()));
    }
}

/// The fields common to all messages of a client's query.
fn client_record(kind: Kind, client: &Client, began: SystemTime) -> Record<'static> {
    Record {
        kind,
        protocol: protocol(client.transport),
        query_address: Some(client.remote),
        response_address: None,
        query_time: began,
        response_time: None,
        query_message: None,
        response_message: None,
    }
}

fn protocol(transport: Transport) -> Protocol {
    match transport {
        Transport::Udp => Protocol::Udp,
        Transport::Tcp => Protocol::Tcp,
    }
}

/// Encodes a failure as CoreDNS does: header and question, without the OPT the client gets.
fn encode_failure(visit: &mut Visit<'_>, packet: &mut Vec<u8>) {
    let (edns, opt) = (visit.query.edns.take(), visit.reply.opt.take());
    visit.reply.encode(visit.query, usize::from(u16::MAX), packet);
    (visit.query.edns, visit.reply.opt) = (edns, opt);
}

/// Stores the time of a query; seconds plus 1, so that 0 means none.
fn store_time(slot: &mut Slot, time: SystemTime) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    slot.words = [since.as_secs() + 1, u64::from(since.subsec_nanos()), 0, 0];
}

fn load_time(slot: &Slot) -> Option<SystemTime> {
    let [seconds, nanos, ..] = slot.words;
    Some(UNIX_EPOCH + Duration::new(seconds.checked_sub(1)?, nanos as u32))
}
