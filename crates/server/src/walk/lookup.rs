//! Walks inside walks: look-ups through the whole server, and walks below a plugin without a client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use wire::{Class, Name, Query, Question, Rcode, Reply, Rtype};

use super::{Driven, Walk};
use crate::explain::Note;
use crate::{Block, Outcome, Service, Visit};

/// Look-ups that cause look-ups end here; mutual recursion between plugins is never this deep on purpose.
const MAX_DEPTH: u8 = 10;

/// The end of a look-up or of a walk below.
pub struct Found {
    walk: Box<Walk>,
}

impl Found {
    pub fn query(&self) -> &Query {
        &self.walk.query
    }

    pub fn reply(&self) -> &Reply {
        &self.walk.reply
    }

    pub fn outcome(&self) -> Outcome {
        self.walk.trail.outcome
    }

    pub fn error(&self) -> Option<&str> {
        self.walk.trail.error.as_deref()
    }

    /// The notes of the inner walk, if the outer one collects them.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        self.walk.trail.notes.take().unwrap_or_default()
    }
}

/// What a look-up gives.
pub enum Lookup {
    /// It needed no waiting.
    Ready(Found),
    /// It waits; return `Step::Wait` with it.
    Pending(Below),
}

/// A walk on its way; a future of what it finds.
pub struct Below {
    future: Pin<Box<dyn Future<Output = Found> + Send>>,
}

impl Future for Below {
    type Output = Found;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Found> {
        self.future.as_mut().poll(context)
    }
}

pub(crate) fn lookup(visit: &mut Visit<'_>, name: Name<'_>, qtype: Rtype) -> Lookup {
    let mut walk = inner(visit);
    walk.trail.askers.push(visit.block.chain()[visit.trail.place].name());
    walk.trail.depth = visit.trail.depth + 1;
    // Aliases lead on in IN, also where the question is of another class: so it is in CoreDNS.
    walk.query.set_question(Question::new(name, qtype, Class::IN));
    if walk.trail.depth > MAX_DEPTH {
        walk.refuse(Rcode::SERVFAIL, "look-ups inside look-ups are too deep");
        return Lookup::Ready(Found { walk });
    }
    let service = visit.service.clone();
    let served = service.serve(&mut walk);
    match served.driven {
        Driven::Waiting(pending) => {
            let Some(block) = served.block.cloned() else { return Lookup::Ready(Found { walk }) };
            let future = Box::pin(async move {
                drop(finish(&mut walk, Driven::Waiting(pending), &block, &service).await);
                Found { walk }
            });
            Lookup::Pending(Below { future })
        }
        Driven::Done => {
            let mut found = Found { walk };
            if let Some(notes) = &mut visit.trail.notes {
                notes.extend(found.take_notes());
            }
            Lookup::Ready(found)
        }
        Driven::Streaming(_) => {
            walk.refuse(Rcode::SERVFAIL, "a look-up cannot be a stream");
            Lookup::Ready(Found { walk })
        }
    }
}

pub(crate) fn below(visit: &mut Visit<'_>) -> Below {
    let mut walk = inner(visit);
    walk.trail.depth = visit.trail.depth;
    walk.trail.zone = visit.trail.zone;
    let block: Arc<Block> = visit.block.clone();
    let service: Arc<Service> = visit.service.clone();
    let place = visit.trail.place + 1;
    let future = Box::pin(async move {
        walk.enter_at(&block, place);
        walk.trail.floor = place;
        let driven = walk.drive(&block, &service);
        drop(finish(&mut walk, driven, &block, &service).await);
        Found { walk }
    });
    Below { future }
}

/// A new walk with the same question, flags, EDNS and client.
fn inner(visit: &Visit<'_>) -> Box<Walk> {
    let mut walk = Box::new(Walk::new());
    walk.query.clone_from(visit.query);
    walk.client = *visit.client;
    walk.trail.deadline = visit.trail.deadline;
    walk.trail.askers.clone_from(&visit.trail.askers);
    walk.trail.notes = visit.trail.notes.is_some().then(Vec::new);
    walk
}

/// Sees a walk through to its end, waiting as often as it must.
pub(crate) async fn finish(
    walk: &mut Walk,
    mut driven: Driven,
    block: &Arc<Block>,
    service: &Arc<Service>,
) -> Driven {
    while let Driven::Waiting(pending) = driven {
        let deadline = walk.trail.deadline;
        let resumed = pending.wait(deadline).await;
        driven = walk.resume(resumed, block, service);
    }
    driven
}
