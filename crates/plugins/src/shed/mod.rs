//! `shed`: drops UDP queries while the reply backlog of their address is full.
//!
//! The server keeps the backlog, and drops and counts its oldest replies (`server/src/listen/backlog.rs`); this plugin enables
//! it and drops queries.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use metrics::Counter;
use server::{Plugin, Step, Transport, Visit};

pub(crate) use setup::setup;

const NAME: &str = "shed";

struct Shed {
    /// The listeners of the block and their counters.
    servers: Vec<(String, Arc<Counter>)>,
}

impl Plugin for Shed {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if visit.client.transport != Transport::Udp || !visit.is_backlog_full() {
            return Step::Next;
        }
        let counter = self.servers.iter().find(|(label, _)| label == visit.server());
        if let Some((_, dropped)) = counter.filter(|_| visit.is_served()) {
            dropped.inc();
        }
        visit.note(|_| "query dropped: the reply backlog is full".into());
        Step::Drop
    }
}
