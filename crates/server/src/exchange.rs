//! One exchange: a packet in, at most one packet out. Shared by all that listens.

use std::sync::Arc;
use std::time::Instant;

use metrics::Counter;
use supervise::Panic;
use wire::{ParseOutcome, Query, Rcode};

use crate::block::MAX_CHAIN;
use crate::explain::Note;
use crate::service::{Served, reject};
use crate::walk::{Driven, Pending, Resumed, Walk, finish};
use crate::{Block, Client, Messages, Outcome, Service, log};

/// The task that panics of plugins are counted under.
const TASK: &str = "query";

/// Panics that cost a query; each is one SERVFAIL.
pub static PANICS: Counter = Counter::new();

/// Why a query fails that would be one too many.
const TOO_MANY_WAIT: &str = "too many queries wait for an answer";

/// What to do after a packet was looked at.
pub(crate) enum Handled {
    /// The reply's bytes are in the buffer.
    Reply,
    /// The client gets nothing.
    Nothing,
    /// A plugin needs time; the walk is to be finished elsewhere.
    Waiting(Pending, Arc<Block>),
    /// A series of messages is to be sent.
    Streaming(Box<dyn Messages>, Arc<Block>),
}

/// Takes a packet as far as it goes without waiting. A panic in a plugin is a SERVFAIL. `arrived` spares the first plugin
/// that measures a reading of the clock.
// A function of its own in every build: scripts/budgets counts what happens in here.
#[inline(never)]
pub(crate) fn answer(
    service: &Arc<Service>,
    walk: &mut Walk,
    client: Client,
    packet: &[u8],
    arrived: Option<Instant>,
    out: &mut Vec<u8>,
) -> Handled {
    walk.reset(client, arrived);
    match walk.query.parse(packet) {
        ParseOutcome::Query => {}
        ParseOutcome::Ignore => return Handled::Nothing,
        ParseOutcome::Reject(rcode) => {
            reject(walk, rcode);
            walk.encode(None, out);
            return Handled::Reply;
        }
        ParseOutcome::NoQuestion => {
            walk.refuse(Rcode::SERVFAIL, "the packet has no question");
            service.count_refusal(walk);
            walk.encode(None, out);
            return Handled::Reply;
        }
    }
    guarded(service, walk, out, |walk, out| {
        let Served { driven, block } = service.serve(walk);
        settle(driven, block, walk, out)
    })
}

/// Ends a query that would have to wait although too many do. Its failure goes up past the plugins as any other, so that it is
/// counted, logged, or answered by a cache.
pub(crate) fn refuse_wait(
    service: &Arc<Service>,
    walk: &mut Walk,
    pending: Pending,
    block: &Arc<Block>,
    out: &mut Vec<u8>,
) -> Handled {
    guarded(service, walk, out, |walk, out| {
        let mut driven = Driven::Waiting(pending);
        // A plugin on the way up may ask those below again, which is as often as any has reason to.
        for _ in 0..MAX_CHAIN {
            let Driven::Waiting(pending) = driven else { return settle(driven, Some(block), walk, out) };
            let given_up = Resumed::GivenUp(pending.direction(), TOO_MANY_WAIT);
            drop(pending);
            driven = walk.resume(given_up, block, service);
        }
        walk.recover();
        service.count_refusal(walk);
        settle(Driven::Done, None, walk, out)
    })
}

/// Turns the end of a drive into bytes, or into what is still to be done.
fn settle(driven: Driven, block: Option<&Arc<Block>>, walk: &mut Walk, out: &mut Vec<u8>) -> Handled {
    match (driven, block) {
        (Driven::Waiting(pending), Some(block)) => Handled::Waiting(pending, block.clone()),
        (Driven::Streaming(messages), Some(block)) => Handled::Streaming(messages, block.clone()),
        (_, block) => {
            if walk.encode(block, out) {
                Handled::Reply
            } else {
                Handled::Nothing
            }
        }
    }
}

/// Waits for what a walk waits for and takes it to its end. Never returns `Waiting`.
pub(crate) async fn complete(
    service: &Arc<Service>,
    walk: &mut Walk,
    pending: Pending,
    block: &Arc<Block>,
    out: &mut Vec<u8>,
) -> Handled {
    match supervise::catch_async(TASK, finish(walk, Driven::Waiting(pending), block, service)).await {
        Ok(driven) => guarded(service, walk, out, |walk, out| settle(driven, Some(block), walk, out)),
        Err(panic) => after_panic(service, walk, out, panic),
    }
}

fn guarded(
    service: &Service,
    walk: &mut Walk,
    out: &mut Vec<u8>,
    work: impl FnOnce(&mut Walk, &mut Vec<u8>) -> Handled,
) -> Handled {
    // A panic leaves the walk half done; `after_panic` makes a fresh failure of it, so nothing broken is seen.
    match supervise::catch(TASK, || work(walk, out)) {
        Ok(handled) => handled,
        Err(panic) => after_panic(service, walk, out, panic),
    }
}

fn after_panic(service: &Service, walk: &mut Walk, out: &mut Vec<u8>, panic: Panic) -> Handled {
    report(service, &panic);
    walk.recover();
    service.count_refusal(walk);
    walk.encode(None, out);
    Handled::Reply
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
        // With `debug` a panic is to be looked at, not survived.
        log::flush();
        std::process::abort();
    }
    PANICS.inc();
}

/// Answers packets one after the other with the same memory and no socket, as a worker does: for benches,
/// fuzzing and the test that nothing is allocated.
#[derive(Default)]
pub struct Exchange {
    walk: Walk,
}

/// What came of a packet given to an [`Exchange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replied {
    /// The reply is in the buffer.
    Yes,
    /// The client gets nothing.
    No,
    /// A plugin wants to wait or to stream, which takes a server.
    Later,
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
    ) -> Replied {
        match answer(service, &mut self.walk, client, packet, None, out) {
            Handled::Reply => Replied::Yes,
            Handled::Nothing => Replied::No,
            Handled::Waiting(..) | Handled::Streaming(..) => Replied::Later,
        }
    }
}

/// What one question came to, with the reasons.
pub struct Answered {
    pub query: Query,
    /// None when the query was dropped.
    pub packet: Option<Vec<u8>>,
    pub outcome: Outcome,
    pub answered_by: Option<&'static str>,
    pub error: Option<String>,
    pub notes: Vec<Note>,
}

impl Service {
    /// Answers one packet without any socket, collecting the reasons: for `explain` and for tests. Streams
    /// give their first message.
    pub async fn answer(self: &Arc<Service>, packet: &[u8], client: Client) -> Answered {
        let mut walk = Walk::new();
        walk.trail.notes = Some(Vec::new());
        let mut out = Vec::new();
        let mut handled = answer(self, &mut walk, client, packet, None, &mut out);
        if let Handled::Waiting(pending, block) = handled {
            handled = complete(self, &mut walk, pending, &block, &mut out).await;
        }
        if let Handled::Streaming(mut messages, block) = handled {
            walk.stream_next(messages.as_mut(), &block, self);
            walk.encode(Some(&block), &mut out);
            handled = Handled::Reply;
        }
        Answered {
            packet: matches!(handled, Handled::Reply).then_some(out),
            outcome: walk.trail.outcome,
            answered_by: walk.trail.answered_by,
            error: walk.trail.error.as_deref().map(str::to_owned),
            notes: walk.trail.notes.take().unwrap_or_default(),
            query: walk.query,
        }
    }
}
