//! `trace`: sends the steps of queries to a collector of traces.
//!
//! ```text
//! query()  is it this one's turn? then the walk notes every step from here on
//! reply()  all steps below have ended: with the query itself as their root they go to the exporter
//! ```
//!
//! `observe::trace` has the connection.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use observe::trace::{Exporter, Protocol, Span, new_id};
use server::{Hooks, Metadata, MetadataView, Outcome, Plugin, Slot, Spans, Step, Turn, Visit};

pub(crate) use setup::setup;

const NAME: &str = "trace";
/// What the query as a whole is called.
const ROOT: &str = "servedns";

pub(crate) struct Trace {
    exporter: Arc<Exporter>,
    protocol: Protocol,
    /// Every how many queries one is traced; 0 is never.
    every: u64,
    queries: AtomicU64,
}

/// What a slot's words mean; all zero for a query that is not traced.
#[derive(Clone, Copy)]
struct Memory {
    /// The trace's id; Zipkin has only the lower half, which is the id of the root as well.
    high: u64,
    low: u64,
}

impl Memory {
    fn of(slot: &Slot) -> Option<Memory> {
        let [high, low, ..] = slot.words;
        (low != 0).then_some(Memory { high, low })
    }

    fn keep(self, slot: &mut Slot) {
        slot.words = [self.high, self.low, 0, 0];
    }
}

impl Plugin for Trace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY
    }

    fn traces(&self) -> bool {
        true
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // Look-ups of other plugins are steps of theirs.
        let wanted = visit.depth() == 0 && self.is_next();
        visit.note_spans(wanted);
        if wanted {
            let memory = Memory { high: new_id(), low: new_id() };
            memory.keep(visit.slot());
            visit.note(|_| format!("traced as {}", self.id(memory)));
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if let (Some(memory), Some(spans)) = (Memory::of(visit.slot()), visit.take_spans()) {
            self.exporter.push(collect(memory, &spans, visit));
        }
        Turn::Up
    }

    fn as_metadata(&self) -> Option<&dyn Metadata> {
        Some(self)
    }

    fn start(&self) {
        self.exporter.start();
    }

    fn stop(&self) {
        self.exporter.stop();
    }
}

impl Metadata for Trace {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        if label != "trace/traceid" {
            return None;
        }
        Memory::of(view.slot()?).map(|memory| self.id(memory))
    }
}

impl Trace {
    /// Counts a query; whether it is one to be traced.
    fn is_next(&self) -> bool {
        self.every > 0 && (self.queries.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every)
    }

    /// The trace's id as its collector writes it.
    fn id(&self, memory: Memory) -> String {
        match self.protocol {
            Protocol::Zipkin => format!("{:016x}", memory.low),
            Protocol::Otlp => format!("{:016x}{:016x}", memory.high, memory.low),
        }
    }
}

/// The steps as spans, the root last, as CoreDNS reports them: what ends first comes first.
fn collect(memory: Memory, spans: &Spans, visit: &Visit<'_>) -> Vec<Span> {
    let trace = u128::from(memory.high) << 64 | u128::from(memory.low);
    let ids: Vec<u64> = spans.list().iter().map(|_| new_id()).collect();
    let steps = spans.list().iter().zip(&ids).rev().map(|(step, &id)| Span {
        trace,
        id,
        parent: Some(step.parent.map_or(memory.low, |parent| ids[parent])),
        name: step.name,
        began: step.began,
        ended: step.ended,
        is_server: false,
        tags: step.peer.map(|peer| ("peer.address", peer.to_string())).into_iter().collect(),
        error: None,
    });
    let root = Span {
        trace,
        id: memory.low,
        parent: None,
        name: ROOT,
        began: spans.began(),
        ended: spans.now(),
        is_server: true,
        tags: tags(visit),
        error: visit.error().map(str::to_owned),
    };
    steps.chain([root]).collect()
}

fn tags(visit: &Visit<'_>) -> Vec<(&'static str, String)> {
    let question = &visit.query.question;
    let rcode = match (visit.outcome(), visit.reply.rcode) {
        // Nothing was written, which counts as success.
        (Outcome::Drop, _) => "NOERROR".to_owned(),
        (_, rcode) => rcode.mnemonic().map_or_else(|| format!("RCODE{}", rcode.0), str::to_owned),
    };
    vec![
        ("coredns.io/name", question.lower().to_string()),
        ("coredns.io/type", question.qtype.to_string()),
        ("coredns.io/proto", visit.client.transport.proto().to_owned()),
        ("coredns.io/remote", visit.client.remote.ip().to_string()),
        ("coredns.io/rcode", rcode),
    ]
}
