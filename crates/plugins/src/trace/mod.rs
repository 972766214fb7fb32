//! `trace`: sends spans of queries to a trace collector.
//!
//! ```text
//! query()  samples the query; if it is traced, the walk records a span for every step from here on
//! reply()  all spans below have ended: passes them to the exporter, with the query as their root
//! ```
//!
//! `observe::trace` has the connection.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use observe::trace::{Exporter, Protocol, Span, new_id};
use server::{Hooks, Lifecycle, Metadata, MetadataView, Outcome, Plugin, Slot, Spans, Step, Turn, Visit};

pub(crate) use setup::setup;

const NAME: &str = "trace";
/// Name of the root span, CoreDNS's.
const ROOT_SPAN: &str = "servedns";

pub(crate) struct Trace {
    exporter: Arc<Exporter>,
    protocol: Protocol,
    /// One in this many queries is traced; 0 traces none.
    every: u64,
    queries: AtomicU64,
}

/// A trace's id, stored in the plugin's slot; its words are zero for a query that is not traced.
#[derive(Clone, Copy)]
struct TraceId {
    /// Zipkin uses only the lower half, which is also the id of the root span.
    high: u64,
    low: u64,
}

impl TraceId {
    fn load(slot: &Slot) -> Option<TraceId> {
        let [high, low, ..] = slot.words;
        (low != 0).then_some(TraceId { high, low })
    }

    fn store(self, slot: &mut Slot) {
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

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // Look-ups of other plugins are part of their spans.
        let sampled = visit.depth() == 0 && visit.is_served() && self.sample();
        visit.note_spans(sampled);
        if sampled {
            let id = TraceId { high: new_id(), low: new_id() };
            id.store(visit.slot());
            visit.note(|_| format!("trace id {}", self.format_id(id)));
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if let (Some(id), Some(spans)) = (TraceId::load(visit.slot()), visit.take_spans()) {
            self.exporter.push(collect(id, &spans, visit));
        }
        Turn::Up
    }
}

impl Lifecycle for Trace {
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
        TraceId::load(view.slot()?).map(|id| self.format_id(id))
    }
}

impl Trace {
    /// Counts a query; true if it is to be traced.
    fn sample(&self) -> bool {
        self.every > 0 && (self.queries.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every)
    }

    /// The id in the format of the collector's protocol.
    fn format_id(&self, id: TraceId) -> String {
        match self.protocol {
            Protocol::Zipkin => format!("{:016x}", id.low),
            Protocol::Otlp => format!("{:016x}{:016x}", id.high, id.low),
        }
    }
}

/// The spans in the order of their ends, as CoreDNS reports them; the root is last.
fn collect(trace_id: TraceId, spans: &Spans, visit: &Visit<'_>) -> Vec<Span> {
    let trace = u128::from(trace_id.high) << 64 | u128::from(trace_id.low);
    let ids: Vec<u64> = spans.list().iter().map(|_| new_id()).collect();
    let steps = spans.list().iter().zip(&ids).rev().map(|(step, &id)| Span {
        trace,
        id,
        parent: Some(step.parent.map_or(trace_id.low, |parent| ids[parent])),
        name: step.name,
        began: step.began,
        ended: step.ended,
        is_server: false,
        tags: step.peer.map(|peer| ("peer.address", peer.to_string())).into_iter().collect(),
        error: None,
    });
    let root = Span {
        trace,
        id: trace_id.low,
        parent: None,
        name: ROOT_SPAN,
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
        // CoreDNS counts a dropped query as NOERROR.
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
