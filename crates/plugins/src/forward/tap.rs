//! Reports upstream exchanges to plugins that record them, such as *dnstap*.

use std::sync::Arc;
use std::time::SystemTime;

use server::{ForwardedExchange, Transport, Visit};
use upstream::Network;
use wire::Query;

use super::Taps;
use super::exchange::Attempt;
use crate::messages::packet;

/// The query as it was at the start of the exchange, for the report at its end.
pub(super) struct TapContext {
    taps: Taps,
    query: Vec<u8>,
    began: SystemTime,
}

impl TapContext {
    pub fn new(taps: &Taps, query: &Query) -> TapContext {
        TapContext { taps: Arc::clone(taps), query: packet::of(query), began: SystemTime::now() }
    }

    /// Reports all attempts at the end of the exchange, when the walk with its metadata is available again.
    pub fn report(&self, attempts: &[Attempt], visit: &Visit<'_>) {
        for attempt in attempts {
            let exchange = ForwardedExchange {
                upstream: attempt.upstream,
                local: attempt.local,
                transport: match attempt.network {
                    Network::Udp => Transport::Udp,
                    Network::Tcp => Transport::Tcp,
                },
                began: self.began,
                query: &self.query,
                reply: attempt.reply.as_deref().map(|reply| (reply, attempt.ended)),
            };
            for tap in &*self.taps {
                tap.forwarded(&exchange, visit);
            }
        }
    }
}
