//! What is told to the plugins that record exchanges.

use std::sync::Arc;
use std::time::SystemTime;

use server::{Forwarded, Transport, Visit};
use upstream::Network;
use wire::Query;

use super::Taps;
use super::asking::Attempt;
use crate::packet;

/// The part of an exchange that is known at its start.
pub(super) struct Tapping {
    taps: Taps,
    query: Vec<u8>,
    began: SystemTime,
}

impl Tapping {
    pub fn new(taps: &Taps, query: &Query) -> Tapping {
        Tapping { taps: Arc::clone(taps), query: packet::of(query), began: SystemTime::now() }
    }

    /// Told when all is over: only then the walk, with its metadata, is in hand.
    pub fn tell(&self, attempts: &[Attempt], visit: &Visit<'_>) {
        for attempt in attempts {
            let exchange = Forwarded {
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
            for tap in self.taps.iter().filter_map(|plugin| plugin.as_tap()) {
                tap.forwarded(&exchange, visit);
            }
        }
    }
}
