//! Nested walks: look-ups through the whole server, and walks below a plugin without a client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use wire::{Class, Name, Query, Question, Rcode, Reply, Rtype};

use super::{Progress, Walk};
use crate::walk::explain::Note;
use crate::{Block, Outcome, Service, Visit};

/// Maximum depth of nested look-ups; mutual recursion between plugins is never this deep on purpose.
const MAX_DEPTH: u8 = 10;

/// The result of a look-up or of a walk below a plugin.
pub struct LookupResult {
    walk: Box<Walk>,
}

impl LookupResult {
    pub fn query(&self) -> &Query {
        &self.walk.query
    }

    pub fn reply(&self) -> &Reply {
        &self.walk.reply
    }

    pub fn outcome(&self) -> Outcome {
        self.walk.state.outcome
    }

    pub fn error(&self) -> Option<&str> {
        self.walk.state.error.as_deref()
    }

    /// The notes of the inner walk, if the outer one collects them.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        self.walk.state.notes.take().unwrap_or_default()
    }
}

/// A look-up, complete or pending.
pub enum Lookup {
    Ready(LookupResult),
    /// Return `Step::Wait` with it.
    Pending(NestedWalk),
}

/// The future of a nested walk.
pub struct NestedWalk {
    future: Pin<Box<dyn Future<Output = LookupResult> + Send>>,
}

impl Future for NestedWalk {
    type Output = LookupResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LookupResult> {
        self.future.as_mut().poll(context)
    }
}

pub(crate) fn lookup(visit: &mut Visit<'_>, name: Name<'_>, qtype: Rtype) -> Lookup {
    let mut walk = nested(visit);
    walk.state.lookup_plugins.push(visit.block.chain()[visit.state.position].name());
    walk.state.depth = visit.state.depth + 1;
    // As in CoreDNS, aliases are followed in class IN, whatever the class of the question.
    walk.query.set_question(Question::new(name, qtype, Class::IN));
    if walk.state.depth > MAX_DEPTH {
        walk.refuse(Rcode::SERVFAIL, "nested look-ups are too deep");
        return Lookup::Ready(LookupResult { walk });
    }
    let service = visit.service.clone();
    let served = service.serve(&mut walk);
    match served.progress {
        Progress::Waiting(pending) => {
            let Some(block) = served.block.cloned() else { return Lookup::Ready(LookupResult { walk }) };
            let future = Box::pin(async move {
                let progress = finish(&mut walk, Progress::Waiting(pending), &block, &service).await;
                ended(walk, progress)
            });
            Lookup::Pending(NestedWalk { future })
        }
        progress => {
            let mut found = ended(walk, progress);
            if let Some(notes) = &mut visit.state.notes {
                notes.extend(found.take_notes());
            }
            Lookup::Ready(found)
        }
    }
}

pub(crate) fn walk_below(visit: &mut Visit<'_>) -> NestedWalk {
    let mut walk = nested(visit);
    walk.state.depth = visit.state.depth;
    walk.state.zone = visit.state.zone;
    let block: Arc<Block> = visit.block.clone();
    let service: Arc<Service> = visit.service.clone();
    let position = visit.state.position + 1;
    let future = Box::pin(async move {
        walk.enter_at(&block, position);
        walk.state.floor = position;
        let progress = walk.drive(&block, &service);
        let progress = finish(&mut walk, progress, &block, &service).await;
        ended(walk, progress)
    });
    NestedWalk { future }
}

/// The result of a nested walk. A stream is a failure: its messages have no client.
fn ended(mut walk: Box<Walk>, progress: Progress) -> LookupResult {
    if matches!(progress, Progress::Streaming(_)) {
        walk.refuse(Rcode::SERVFAIL, "a look-up cannot return a stream of messages");
    }
    LookupResult { walk }
}

/// A new walk with the same question, flags, EDNS and client.
fn nested(visit: &Visit<'_>) -> Box<Walk> {
    let mut walk = Box::new(Walk::new());
    walk.query.clone_from(visit.query);
    walk.client = *visit.client;
    walk.state.deadline = visit.state.deadline;
    walk.state.lookup_plugins.clone_from(&visit.state.lookup_plugins);
    walk.state.purpose = visit.state.purpose;
    walk.state.notes = visit.state.notes.is_some().then(Vec::new);
    walk
}

/// Drives a walk to its end, waiting as often as needed.
pub(crate) async fn finish(
    walk: &mut Walk,
    mut progress: Progress,
    block: &Arc<Block>,
    service: &Arc<Service>,
) -> Progress {
    while let Progress::Waiting(pending) = progress {
        let deadline = walk.state.deadline;
        let resumed = pending.wait(deadline).await;
        progress = walk.resume(resumed, block, service);
    }
    progress
}
