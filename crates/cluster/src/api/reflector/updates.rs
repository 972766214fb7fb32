//! Sends updates to the writer and counts them.

use supervise::Panic;
use tokio::time::Instant;

use super::{End, Reflector};
use crate::api::convert;
use crate::api::decode::RawObject;
use crate::api::message::{ApiObject, ObjectMeta};
use crate::index::Change;
use crate::object::{Identity, Object};
use crate::watch::{Level, TriggerTime, Update, Version, log};

impl Reflector {
    /// Handles an object of a list.
    pub(super) async fn listed(&mut self, raw: ApiObject) -> Result<(), End> {
        self.count += 1;
        let terminating = convert::is_terminating(&raw);
        let version = Version::of(&raw.meta().resource_version);
        match self.convert(raw) {
            Ok(Some(Object::Pod(pod))) if terminating => {
                self.send(Update::TerminatingPod(pod, version)).await
            }
            Ok(Some(object)) => self.apply(object, version, None).await,
            Ok(None) => Ok(()),
            Err((identity, panic)) => self.panicked(identity, panic).await,
        }
    }

    /// Handles an object of an event. Events of terminating pods are ignored.
    pub(super) async fn changed(
        &mut self,
        raw: ApiObject,
        is_new: bool,
        trigger_time: Option<TriggerTime>,
    ) -> Result<(), End> {
        #[cfg(test)]
        crate::poison::panic_if_poisoned(crate::poison::IN_WATCH, &raw);
        self.count += u64::from(is_new);
        if convert::is_terminating(&raw) {
            return Ok(());
        }
        let version = Version::of(&raw.meta().resource_version);
        match self.convert(raw) {
            Ok(Some(object)) => self.apply(object, version, trigger_time).await,
            Ok(None) => Ok(()),
            Err((identity, panic)) => self.panicked(identity, panic).await,
        }
    }

    async fn apply(
        &mut self,
        object: Object,
        version: Version,
        trigger_time: Option<TriggerTime>,
    ) -> Result<(), End> {
        self.events.applied.inc();
        self.send(Update::Change { change: Change::Apply(object), version, trigger_time }).await
    }

    pub(super) async fn deleted(&mut self, raw: ApiObject) -> Result<(), End> {
        self.events.deleted.inc();
        self.count = self.count.saturating_sub(1);
        match self.convert(raw) {
            Ok(Some(object)) => self.send(Change::Delete(object).into()).await,
            Ok(None) => Ok(()),
            Err((identity, panic)) => {
                self.panicked(identity, panic).await?;
                // A relist removes it.
                Err(End::Expired)
            }
        }
    }

    /// None if the name of the object is invalid.
    fn convert(&self, raw: ApiObject) -> Result<Option<Object>, (Option<Identity>, Panic)> {
        let identity = self.identity(raw.meta());
        supervise::catch(&self.task, || convert::object(raw, &self.shared.want))
            .map_err(|panic| (identity, panic))
    }

    /// Handles an object whose decoding panicked.
    pub(super) async fn quarantine(&mut self, object: &RawObject, panic: Panic) -> Result<(), End> {
        // The metadata can usually be decoded even if the rest panicked.
        let meta = supervise::catch(&self.task, || object.meta()).ok().flatten();
        let identity = meta.and_then(|meta| self.identity(&meta));
        self.panicked(identity, panic).await
    }

    async fn panicked(&mut self, identity: Option<Identity>, panic: Panic) -> Result<(), End> {
        let Some(identity) = identity else {
            let (source, kind) = (self.status.source(), self.kind.name());
            log(Level::Error, &format!("{source}: skipped a {kind} without a usable name: {panic}"));
            return Ok(());
        };
        self.send(Update::ObjectPanicked(identity, panic)).await
    }

    pub(super) async fn list_begins(&mut self) -> Result<(), End> {
        (self.count, self.listing) = (0, true);
        // This list serves all requests until now.
        if self.list_requests.has_changed().is_ok_and(|requested| requested) {
            self.list_requests.mark_unchanged();
            self.resume_from = None;
        }
        self.send(Change::ListBegins(self.kind).into()).await
    }

    pub(super) async fn list_ends(&mut self) -> Result<(), End> {
        self.events.listed.inc();
        (self.needs_latest, self.listing) = (false, false);
        self.resume_from = None;
        self.audit.listed(Instant::now());
        self.status.listed();
        self.send(Change::ListEnds(self.kind).into()).await
    }

    /// Tells the writer that the current list, if any, will not complete.
    pub(super) async fn list_aborted(&mut self) -> Result<(), End> {
        match std::mem::take(&mut self.listing) {
            true => self.send(Update::ListAborted(self.kind)).await,
            false => Ok(()),
        }
    }

    pub(super) async fn send(&self, update: Update) -> Result<(), End> {
        self.updates.send(update).await.map_err(|_| End::WriterGone)
    }

    fn identity(&self, meta: &ObjectMeta) -> Option<Identity> {
        Identity::new(self.kind, &meta.namespace, &meta.name)
    }
}
