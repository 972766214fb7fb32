//! `shed`: where replies over UDP pile up, no more queries are taken on, and the oldest replies go first.
//!
//! The replies are kept by the server, which also counts those it loses; this plugin turns queries away while
//! nothing more can be kept.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family};
use server::{Link, Plugin, Step, Transport, Visit};

pub(crate) use setup::setup;

struct Shed {
    dropped: Arc<Family<Counter>>,
    /// The listeners of the block and their counters, known when all blocks are.
    servers: OnceLock<Vec<(String, Arc<Counter>)>>,
}

impl Plugin for Shed {
    fn name(&self) -> &'static str {
        "shed"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if visit.client.transport != Transport::Udp || !visit.replies_pile_up() {
            return Step::Next;
        }
        let servers = self.servers.get().map_or(&[][..], Vec::as_slice);
        if let Some((_, dropped)) = servers.iter().find(|(label, _)| label == visit.server()) {
            dropped.inc();
        }
        visit.note(|_| "replies pile up; the query is dropped".into());
        Step::Drop
    }

    fn link(&self, link: &Link<'_>) {
        let mut servers: Vec<(String, Arc<Counter>)> = Vec::new();
        for (label, _) in link.served() {
            if !servers.iter().any(|(known, _)| known == label) {
                servers.push((label.clone(), self.dropped.with(&[label, "query"])));
            }
        }
        let _ = self.servers.set(servers);
    }
}
