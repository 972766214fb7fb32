//! One exchange: a packet in, at most one packet out. Shared by all that listens.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use metrics::Counter;
use wire::{Arrival, Query, Rcode};

use crate::explain::Note;
use crate::repeat::Repeats;
use crate::service::{Served, reject};
use crate::walk::{Driven, Pending, Walk, finish};
use crate::{Block, Client, Messages, Outcome, Service, crash, log};

/// Panics that cost a query; each is one SERVFAIL.
pub static PANICS: Counter = Counter::new();

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

/// Answers a packet as one before it, or takes it as far as it goes without waiting. `hash` is the packet's, if it was
/// foreseen.
// A function of its own in every build: scripts/budgets counts what happens in here.
#[inline(never)]
pub(crate) fn answer(
    service: &Arc<Service>,
    walk: &mut Walk,
    repeats: &mut Repeats,
    client: Client,
    packet: &[u8],
    hash: Option<u64>,
    out: &mut Vec<u8>,
) -> Handled {
    let asked = service.repeats.then(|| repeats.asked(packet, hash));
    if let Some(asked) = asked
        && unharmed(service, || repeats.give(asked, service, &client, out))
    {
        // Only packets with a header are known.
        out[..2].copy_from_slice(&packet[..2]);
        return Handled::Reply;
    }
    walk.reset(client);
    walk.trail.time = repeats.clock;
    let handled = walk_through(service, walk, packet, out);
    repeats.clock = walk.trail.ended;
    if let (Some(asked), Handled::Reply) = (asked, &handled) {
        unharmed(service, || {
            repeats.keep(asked, service, walk, out);
            true
        });
    }
    handled
}

/// Takes a packet as far as it goes without waiting.
pub(crate) fn handle(
    service: &Arc<Service>,
    walk: &mut Walk,
    client: Client,
    packet: &[u8],
    out: &mut Vec<u8>,
) -> Handled {
    walk.reset(client);
    walk_through(service, walk, packet, out)
}

/// A panic in a plugin is a SERVFAIL.
fn walk_through(service: &Arc<Service>, walk: &mut Walk, packet: &[u8], out: &mut Vec<u8>) -> Handled {
    match walk.query.parse(packet) {
        Arrival::Query => {}
        Arrival::Ignore => return Handled::Nothing,
        Arrival::Reject(rcode) => {
            reject(walk, rcode);
            walk.encode(None, out);
            return Handled::Reply;
        }
        Arrival::NoQuestion => {
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
    let finished = CatchUnwind(Box::pin(finish(walk, Driven::Waiting(pending), block, service))).await;
    match finished {
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
    match catch_unwind(AssertUnwindSafe(|| work(walk, out))) {
        Ok(handled) => handled,
        Err(panic) => after_panic(service, walk, out, panic),
    }
}

/// Does what may as well not be done. A panic is told, and nobody's query suffers.
fn unharmed(service: &Service, work: impl FnOnce() -> bool) -> bool {
    // What is half done is a reply that is written anew, or one that is not kept.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        tell(service, panic);
        false
    })
}

fn after_panic(service: &Service, walk: &mut Walk, out: &mut Vec<u8>, panic: Box<dyn Any + Send>) -> Handled {
    tell(service, panic);
    walk.recover();
    service.count_refusal(walk);
    walk.encode(None, out);
    Handled::Reply
}

/// Logs and counts a panic.
fn tell(service: &Service, panic: Box<dyn Any + Send>) {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let trace = if service.stacktrace { crash::take_trace() } else { None };
    let (gap, trace) = trace.as_deref().map_or(("", ""), |trace| ("\n", trace));
    log::error(
        None,
        format_args!("Recovered from panic in server: {:?} {message}{gap}{trace}", service.label),
    );
    if service.debug {
        // With `debug` a panic is to be looked at, not survived.
        log::flush();
        std::process::abort();
    }
    PANICS.inc();
}

/// A future whose panics are values.
struct CatchUnwind<F>(std::pin::Pin<Box<F>>);

impl<F: Future> Future for CatchUnwind<F> {
    type Output = Result<F::Output, Box<dyn Any + Send>>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(std::task::Poll::Ready(output)) => std::task::Poll::Ready(Ok(output)),
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Err(panic) => std::task::Poll::Ready(Err(panic)),
        }
    }
}

/// Answers packets one after the other with the same memory and no socket, as a worker does: for benches,
/// fuzzing and the test that nothing is allocated.
pub struct Exchange {
    walk: Walk,
    /// None: every packet walks.
    repeats: Option<Repeats>,
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
        Exchange { walk: Walk::new(), repeats: Some(Repeats::new(1)) }
    }

    /// Has every packet walk, be it known or not.
    pub fn walking() -> Exchange {
        Exchange { walk: Walk::new(), repeats: None }
    }

    pub fn answer(
        &mut self,
        service: &Arc<Service>,
        client: Client,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Replied {
        let handled = match &mut self.repeats {
            Some(repeats) => {
                // Whoever uses this may have taken a pause.
                repeats.clock = None;
                answer(service, &mut self.walk, repeats, client, packet, None, out)
            }
            None => handle(service, &mut self.walk, client, packet, out),
        };
        match handled {
            Handled::Reply => Replied::Yes,
            Handled::Nothing => Replied::No,
            Handled::Waiting(..) | Handled::Streaming(..) => Replied::Later,
        }
    }
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange::new()
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
        let mut handled = handle(self, &mut walk, client, packet, &mut out);
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
