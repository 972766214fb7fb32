//! The follower's side of the audit: asks the server, and draws the consequences.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::Instant;

use super::audit::{Doubt, Due, Mark};
use super::{End, Follower};
use crate::api::census::{Census, census};
use crate::api::request::{Failure, Resource};
use crate::watch::{Level, log};

/// A question to the server that waits for its answer, if there is one.
#[derive(Default)]
pub(super) struct Asking(Option<(Awaited, Instant)>);

type Awaited = Pin<Box<dyn Future<Output = Answer> + Send>>;
type Answer = Result<Option<Census>, Failure>;

impl Asking {
    /// The answer, and when it was asked for. Never, if nothing was asked.
    pub(super) async fn answer(&mut self) -> (Answer, Instant) {
        let Some((answer, asked)) = &mut self.0 else { return pending().await };
        let answer = (answer.await, *asked);
        self.0 = None;
        answer
    }
}

impl Follower {
    /// Does what is due by now.
    pub(super) fn look(&mut self, resource: &Resource, asking: &mut Asking) -> Result<(), End> {
        match self.audit.due(self.count, Instant::now()) {
            Due::Nothing => Ok(()),
            Due::Ask => {
                self.audit.asks(self.mark());
                let (access, resource, limits) = (Arc::clone(&self.access), resource.clone(), self.limits);
                let answer = async move { census(&access, &resource, limits.check_answer).await };
                *asking = Asking(Some((Box::pin(answer), Instant::now())));
                Ok(())
            }
            Due::Relist => Err(End::Relist),
            Due::Doubt(doubt) => Err(End::Doubted(doubt)),
        }
    }

    /// Takes what the server says; `heard` is when the watch said something last.
    pub(super) fn take(&mut self, (answer, asked): (Answer, Instant), heard: Instant) -> Result<(), End> {
        let failure = match answer {
            Ok(census) => {
                (self.unchecked, self.unanswered) = (false, false);
                // Nothing is stale that the server says the same of, however little its watch says.
                if census.is_some_and(|census| census.count.is_none_or(|count| count == self.count)) {
                    self.line.received();
                }
                return self.audit.answered(census, Instant::now()).map_err(End::Doubted);
            }
            Err(failure) => failure,
        };
        // No word at all from a server, and none on the watch, twice: both are dead, whatever the connection looks like.
        if failure.status.is_none() && heard < asked {
            if std::mem::replace(&mut self.unanswered, true) {
                self.unanswered = false;
                return Err(End::Failed(failure));
            }
            self.audit.ask_again(Instant::now());
            return Ok(());
        }
        self.unanswered = false;
        self.audit.not_answered(Instant::now());
        if !std::mem::replace(&mut self.unchecked, true) {
            let (source, kind) = (self.line.source(), self.kind.plural());
            log(Level::Warning, &format!("{source}: cannot check the watch of {kind}: {}", failure.why));
        }
        Ok(())
    }

    /// The watch came to a version; there were `before` objects until then.
    pub(super) fn came_to(&mut self, version: String, before: u64) -> Result<(), End> {
        self.version = Some(version);
        match self.mark() {
            Some(mark) => self.audit.passes(before, mark, Instant::now()).map_err(End::Doubted),
            None => Ok(()),
        }
    }

    pub(super) fn doubted(&mut self, doubt: Doubt) {
        match doubt {
            Doubt::Missed { .. } => self.events.missed.inc(),
            Doubt::Behind { .. } | Doubt::Backwards { .. } => self.events.doubted.inc(),
        }
        let (source, kind) = (self.line.source(), self.kind.plural());
        log(Level::Warning, &format!("{source}: listing {kind} again: {doubt}"));
        self.line.outdated(&doubt.to_string());
        self.forget_version();
    }

    fn mark(&self) -> Option<Mark> {
        let version = self.version.as_ref()?.parse().ok()?;
        Some(Mark { version, count: self.count })
    }
}
