//! One exchange: a query packet in, at most one reply packet out. Shared by all transports.

use std::sync::Arc;
use std::time::Instant;

use metrics::Counter;
use supervise::Panic;
use wire::{ParseOutcome, Query, Rcode};

use crate::walk::block::MAX_CHAIN;
use crate::walk::explain::Note;
use crate::walk::service::{ServeResult, reject};
use crate::walk::{Pending, Progress, TaskResult, Walk, finish};
use crate::{Block, Client, Messages, Outcome, Service, log};

/// The task name under which panics of plugins are counted.
const TASK: &str = "query";

/// Panics while a query was answered; each is one SERVFAIL.
pub static PANICS: Counter = Counter::new();

/// Why a query beyond the limit of waiting queries fails.
const TOO_MANY_WAIT: &str = "too many queries are waiting";

/// The result of handling a packet.
pub(crate) enum PacketResult {
    /// The reply is in the buffer.
    Reply,
    /// No reply is sent.
    Nothing,
    /// A plugin waits for a task; the caller has to complete the walk.
    Waiting(Pending, Arc<Block>),
    /// The caller has to send a series of messages.
    Streaming(Box<dyn Messages>, Arc<Block>),
}

/// Answers a packet as far as possible without waiting. A panic in a plugin is a SERVFAIL. `arrived` saves the first
/// plugin that measures a reading of the clock.
// A function of its own in every build: scripts/budgets counts its instructions.
#[inline(never)]
pub(crate) fn answer(
    service: &Arc<Service>,
    walk: &mut Walk,
    client: Client,
    packet: &[u8],
    arrived: Option<Instant>,
    out: &mut Vec<u8>,
) -> PacketResult {
    walk.reset(client, arrived);
    match walk.query.parse(packet) {
        ParseOutcome::Query => {}
        ParseOutcome::Ignore => return PacketResult::Nothing,
        ParseOutcome::Reject(rcode) => {
            reject(walk, rcode);
            walk.encode(None, out);
            return PacketResult::Reply;
        }
        ParseOutcome::NoQuestion => {
            walk.refuse(Rcode::SERVFAIL, "the query has no question section");
            service.report_refusal(walk);
            walk.encode(None, out);
            return PacketResult::Reply;
        }
    }
    catch_panic(service, walk, out, |walk, out| {
        let ServeResult { progress, block } = service.serve(walk);
        conclude(progress, block, walk, out)
    })
}

/// Fails a query that would have to wait although the limit is reached. The failure walks up through the plugins as any
/// other, so that it is counted, logged, or answered by a cache.
pub(crate) fn refuse_wait(
    service: &Arc<Service>,
    walk: &mut Walk,
    pending: Pending,
    block: &Arc<Block>,
    out: &mut Vec<u8>,
) -> PacketResult {
    catch_panic(service, walk, out, |walk, out| {
        let mut progress = Progress::Waiting(pending);
        // A plugin on the way up may walk down again; no chain has reason to do so more often than this.
        for _ in 0..MAX_CHAIN {
            let Progress::Waiting(pending) = progress else {
                return conclude(progress, Some(block), walk, out);
            };
            let aborted = TaskResult::Aborted(pending.direction(), TOO_MANY_WAIT);
            drop(pending);
            progress = walk.resume(aborted, block, service);
        }
        walk.recover();
        service.report_refusal(walk);
        conclude(Progress::Done, None, walk, out)
    })
}

/// Encodes the reply of a finished walk, or passes on what the caller has to complete.
fn conclude(
    progress: Progress,
    block: Option<&Arc<Block>>,
    walk: &mut Walk,
    out: &mut Vec<u8>,
) -> PacketResult {
    match (progress, block) {
        (Progress::Waiting(pending), Some(block)) => PacketResult::Waiting(pending, block.clone()),
        (Progress::Streaming(messages), Some(block)) => PacketResult::Streaming(messages, block.clone()),
        (_, block) => {
            if walk.encode(block, out) {
                PacketResult::Reply
            } else {
                PacketResult::Nothing
            }
        }
    }
}

/// Waits for the pending task and drives the walk to its end. Never returns `Waiting`.
pub(crate) async fn complete(
    service: &Arc<Service>,
    walk: &mut Walk,
    pending: Pending,
    block: &Arc<Block>,
    out: &mut Vec<u8>,
) -> PacketResult {
    match supervise::catch_async(TASK, finish(walk, Progress::Waiting(pending), block, service)).await {
        Ok(progress) => {
            catch_panic(service, walk, out, |walk, out| conclude(progress, Some(block), walk, out))
        }
        Err(panic) => after_panic(service, walk, out, panic),
    }
}

fn catch_panic(
    service: &Service,
    walk: &mut Walk,
    out: &mut Vec<u8>,
    work: impl FnOnce(&mut Walk, &mut Vec<u8>) -> PacketResult,
) -> PacketResult {
    // A panic leaves the walk inconsistent; `after_panic` resets it to a failure.
    match supervise::catch(TASK, || work(walk, out)) {
        Ok(result) => result,
        Err(panic) => after_panic(service, walk, out, panic),
    }
}

fn after_panic(service: &Service, walk: &mut Walk, out: &mut Vec<u8>, panic: Panic) -> PacketResult {
    report(service, &panic);
    walk.recover();
    service.report_refusal(walk);
    walk.encode(None, out);
    PacketResult::Reply
}

/// Logs and counts a panic, in CoreDNS's words.
fn report(service: &Service, panic: &Panic) {
    let Panic { message, place, trace } = panic;
    let place = place.as_deref().unwrap_or("an unknown place");
    let trace = trace.as_deref().filter(|_| service.stacktrace);
    let (gap, trace) = trace.map_or(("", ""), |trace| ("\n", trace));
    let label = &service.label;
    log::error(
        None,
        format_args!("Recovered from panic in server: {label:?} {message} (at {place}){gap}{trace}"),
    );
    if service.debug {
        // With `debug` a panic ends the process, as in CoreDNS.
        log::flush();
        std::process::abort();
    }
    PANICS.inc();
}

/// Answers packets one after the other with reused memory and without a socket, as a worker does: for benchmarks,
/// fuzzing and the test that nothing is allocated.
#[derive(Default)]
pub struct Exchange {
    walk: Walk,
}

/// The result of [`Exchange::answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeResult {
    /// The reply is in the buffer.
    Reply,
    /// No reply is sent.
    NoReply,
    /// A plugin waits or streams, which takes a server.
    Deferred,
}

impl Exchange {
    pub fn new() -> Exchange {
        Exchange::default()
    }

    pub fn answer(
        &mut self,
        service: &Arc<Service>,
        client: Client,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> ExchangeResult {
        match answer(service, &mut self.walk, client, packet, None, out) {
            PacketResult::Reply => ExchangeResult::Reply,
            PacketResult::Nothing => ExchangeResult::NoReply,
            PacketResult::Waiting(..) | PacketResult::Streaming(..) => ExchangeResult::Deferred,
        }
    }
}

/// The answer to one query, with each plugin's reasons.
pub struct ExplainedReply {
    pub query: Query,
    /// None when the query was dropped.
    pub packet: Option<Vec<u8>>,
    pub outcome: Outcome,
    pub answered_by: Option<&'static str>,
    pub error: Option<String>,
    pub notes: Vec<Note>,
}

impl Service {
    /// Answers one packet without a socket and collects the reasons: for `explain` and for tests. Of a stream it
    /// returns the first message.
    pub async fn answer(self: &Arc<Service>, packet: &[u8], client: Client) -> ExplainedReply {
        let mut walk = Walk::new();
        walk.state.notes = Some(Vec::new());
        let mut out = Vec::new();
        let mut result = answer(self, &mut walk, client, packet, None, &mut out);
        if let PacketResult::Waiting(pending, block) = result {
            result = complete(self, &mut walk, pending, &block, &mut out).await;
        }
        if let PacketResult::Streaming(mut messages, block) = result {
            walk.stream_next(messages.as_mut(), &block, self);
            walk.encode(Some(&block), &mut out);
            result = PacketResult::Reply;
        }
        ExplainedReply {
            packet: matches!(result, PacketResult::Reply).then_some(out),
            outcome: walk.state.outcome,
            answered_by: walk.state.answered_by,
            error: walk.state.error.as_deref().map(str::to_owned),
            notes: walk.state.notes.take().unwrap_or_default(),
            query: walk.query,
        }
    }
}
