//! One exchange: a query packet in, a reply out. Shared by all transports.

use std::sync::Arc;
use std::time::Instant;

use metrics::Counter;
use supervise::Panic;
use wire::{ParseOutcome, Query, Rcode};

use crate::walk::block::MAX_CHAIN;
use crate::walk::explain::Note;
use crate::walk::service::{ServeResult, reject};
use crate::walk::stream::{Stream, single_message};
use crate::walk::{Progress, TaskResult, Walk, finish};
use crate::{Block, Client, Outcome, Purpose, Service, log};

/// The task name under which panics of plugins are counted.
pub(super) const TASK: &str = "query";

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
    /// A plugin waits or streams. The caller has to complete the walk, or to refuse that.
    Unfinished(Progress, Arc<Block>),
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

/// Fails a query that would have to wait, or would stream, although the limit is reached. The failure walks up through the plugins as any
/// other, so that it is counted, logged, or answered by a cache.
pub(crate) fn refuse_wait(
    service: &Arc<Service>,
    walk: &mut Walk,
    mut progress: Progress,
    block: &Arc<Block>,
    out: &mut Vec<u8>,
) -> PacketResult {
    catch_panic(service, walk, out, |walk, out| {
        // A plugin on the way up may walk down again; no chain has reason to do so more often than this.
        for _ in 0..MAX_CHAIN {
            progress = match progress {
                Progress::Done => return conclude(progress, Some(block), walk, out),
                Progress::Waiting(pending) => {
                    let aborted = TaskResult::Aborted(pending.direction(), TOO_MANY_WAIT);
                    drop(pending);
                    walk.resume(aborted, block, service)
                }
                Progress::Streaming(_) => {
                    let source = walk.state.position;
                    walk.fail_stream(source, Rcode::SERVFAIL, TOO_MANY_WAIT.into(), block, service);
                    Progress::Done
                }
            };
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
        (progress @ (Progress::Waiting(_) | Progress::Streaming(_)), Some(block)) => {
            PacketResult::Unfinished(progress, block.clone())
        }
        (_, block) => {
            if walk.encode(block, out) {
                PacketResult::Reply
            } else {
                PacketResult::Nothing
            }
        }
    }
}

/// Drives an unfinished walk to its end, waiting as often as needed. What is still unfinished then is a stream, which the
/// transport has to send; one for single messages gets a single reply.
pub(crate) async fn complete(
    service: &Arc<Service>,
    walk: &mut Walk,
    progress: Progress,
    block: &Arc<Block>,
    out: &mut Vec<u8>,
) -> PacketResult {
    let work = async {
        match finish(walk, progress, block, service).await {
            Progress::Streaming(messages) if !walk.client.transport.carries_streams() => {
                // Boxed: waiting queries, of which there may be thousands, do not need its memory.
                Box::pin(single_message(messages, walk, block, service)).await;
                Progress::Done
            }
            progress => progress,
        }
    };
    match supervise::catch_async(TASK, work).await {
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
pub(super) fn report(service: &Service, panic: &Panic) {
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
            PacketResult::Unfinished(..) => ExchangeResult::Deferred,
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
    /// Answers one packet without a socket and collects the reasons: for `explain` and, with [`Purpose::Serve`], for
    /// tests. Of a stream it returns the first message.
    pub async fn answer(
        self: &Arc<Service>,
        packet: &[u8],
        client: Client,
        purpose: Purpose,
    ) -> ExplainedReply {
        let mut walk = Walk::new();
        walk.state.purpose = purpose;
        walk.state.notes = Some(Vec::new());
        let mut out = Vec::new();
        let mut result = answer(self, &mut walk, client, packet, None, &mut out);
        if let PacketResult::Unfinished(progress, block) = result {
            result = complete(self, &mut walk, progress, &block, &mut out).await;
        }
        if let PacketResult::Unfinished(Progress::Streaming(messages), block) = result {
            let mut stream = Stream::new(messages, &walk);
            stream.next(&mut walk, &block, self, &mut out).await;
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
