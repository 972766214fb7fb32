//! Sends events to the consumers and counts them.

use supervise::Panic;
use tokio::time::Instant;

use super::{End, Reflector};
use crate::consumer::Occasion;
use crate::decode::RawObject;
use crate::delivery::Event;
use crate::log::{Level, log};
use crate::resource::{ObjectName, Resource};
use crate::version::Version;

impl<R: Resource> Reflector<R> {
    /// Handles an object of a list.
    pub(super) async fn listed(&mut self, object: R) -> Result<(), End> {
        self.phase.added();
        self.apply(object, Occasion::List).await
    }

    /// Handles an object of an event.
    pub(super) async fn changed(&mut self, object: R, is_new: bool) -> Result<(), End> {
        if is_new {
            self.phase.added();
        }
        self.apply(object, Occasion::Event).await
    }

    async fn apply(&mut self, object: R, occasion: Occasion) -> Result<(), End> {
        self.events.applied.inc();
        let version = Version::of(&object.meta().resource_version);
        self.send(Event::Apply { object, version, occasion }).await
    }

    pub(super) async fn deleted(&mut self, object: R) -> Result<(), End> {
        self.events.deleted.inc();
        self.phase.removed();
        self.send(Event::Delete(object)).await
    }

    /// Handles an object whose decoding panicked.
    pub(super) async fn undecodable(&mut self, object: &RawObject, panic: Panic) -> Result<(), End> {
        // The metadata can usually be decoded even if the rest panicked.
        let meta = supervise::catch(&self.task, || object.meta()).ok().flatten();
        match meta.filter(|meta| !meta.name.is_empty()) {
            Some(meta) => {
                self.send(Event::Undecodable(ObjectName::new(&meta.namespace, &meta.name), panic)).await
            }
            None => {
                let (source, kind) = (self.status.source(), R::KIND);
                log(Level::Error, &format!("{source}: skipped a {kind} without a usable name: {panic}"));
                Ok(())
            }
        }
    }

    pub(super) async fn list_begins(&mut self) -> Result<(), End> {
        // This list serves all requests until now.
        let requested = self.list_requests.has_changed().is_ok_and(|requested| requested);
        if requested {
            self.list_requests.mark_unchanged();
        }
        self.phase.list_begins(requested);
        self.send(Event::ListBegins).await
    }

    /// The list is complete, as of `version`.
    pub(super) async fn list_ends(&mut self, version: String) -> Result<(), End> {
        self.events.listed.inc();
        self.phase.list_ends(version);
        self.audit.listed(Instant::now());
        self.status.listed();
        self.send(Event::ListEnds).await
    }

    /// Tells the consumers that the current list, if any, will not complete.
    pub(super) async fn list_aborted(&mut self) -> Result<(), End> {
        match self.phase.abort_list() {
            true => self.send(Event::ListAborted).await,
            false => Ok(()),
        }
    }

    /// Tells the consumers about the state of the watch, if it has changed.
    pub(super) async fn report(&mut self) -> Result<(), End> {
        let Some(availability) = self.status.availability() else { return Ok(()) };
        if self.reported.as_ref().is_some_and(|reported| reported.is_same_state(&availability)) {
            return Ok(());
        }
        self.reported = Some(availability.clone());
        self.send(Event::Availability(availability)).await
    }

    pub(super) async fn send(&self, event: Event<R>) -> Result<(), End> {
        if self.feed.send(event).await { Ok(()) } else { Err(End::ConsumersGone) }
    }
}
