//! `shed`: drops UDP queries while the reply backlog of their address is full.
//!
//! The server keeps the backlog, and drops and counts its oldest replies (`server/src/listen/backlog.rs`); this plugin enables
//! it and drops queries.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family};
use server::{Link, Plugin, Step, Transport, Visit};

pub(crate) use setup::setup;

struct Shed {
    dropped: Arc<Family<Counter>>,
    /// The listeners of the block and their counters, set by `link`.
    servers: OnceLock<Vec<(String, Arc<Counter>)>>,
}

impl Plugin for Shed {
    fn name(&self) -> &'static str {
        "shed"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if visit.client.transport != Transport::Udp || !visit.is_backlog_full() {
            return Step::Next;
        }
        let servers = self.servers.get().map_or(&[][..], Vec::as_slice);
        if let Some((_, dropped)) = servers.iter().find(|(label, _)| label == visit.server()) {
            dropped.inc();
        }
        visit.note(|_| "query dropped: the reply backlog is full".into());
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
