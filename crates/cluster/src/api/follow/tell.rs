//! What the follower sends to the writer of the index, and what is counted on the way.

use supervise::Panic;
use tokio::time::Instant;

use super::{End, Follower};
use crate::api::convert;
use crate::api::decode::Encoded;
use crate::api::message::{ObjectMeta, Raw};
use crate::index::Change;
use crate::object::{Identity, Object};
use crate::watch::{Level, Triggered, Update, Version, log};

impl Follower {
    /// An object as a list has it.
    pub(super) async fn listed(&mut self, raw: Raw) -> Result<(), End> {
        self.count += 1;
        let terminating = convert::is_terminating(&raw);
        let version = Version::of(&raw.meta().resource_version);
        match self.convert(raw) {
            Ok(Some(Object::Pod(pod))) if terminating => {
                self.tell(Update::TerminatingPod(pod, version)).await
            }
            Ok(Some(object)) => self.apply(object, version, None).await,
            Ok(None) => Ok(()),
            Err((identity, panic)) => self.panicked(identity, panic).await,
        }
    }

    /// An object as an event has it. A pod on its way out has nothing to say any more.
    pub(super) async fn changed(
        &mut self,
        raw: Raw,
        is_new: bool,
        triggered: Option<Triggered>,
    ) -> Result<(), End> {
        #[cfg(test)]
        crate::poison::strike_raw(crate::poison::IN_WATCH, &raw);
        self.count += u64::from(is_new);
        if convert::is_terminating(&raw) {
            return Ok(());
        }
        let version = Version::of(&raw.meta().resource_version);
        match self.convert(raw) {
            Ok(Some(object)) => self.apply(object, version, triggered).await,
            Ok(None) => Ok(()),
            Err((identity, panic)) => self.panicked(identity, panic).await,
        }
    }

    async fn apply(
        &mut self,
        object: Object,
        version: Version,
        triggered: Option<Triggered>,
    ) -> Result<(), End> {
        self.events.applied.inc();
        self.tell(Update::Change { change: Change::Apply(object), version, triggered }).await
    }

    pub(super) async fn deleted(&mut self, raw: Raw) -> Result<(), End> {
        self.events.deleted.inc();
        self.count = self.count.saturating_sub(1);
        match self.convert(raw) {
            Ok(Some(object)) => self.tell(Change::Delete(object).into()).await,
            Ok(None) => Ok(()),
            Err((identity, panic)) => {
                self.panicked(identity, panic).await?;
                // A list does not have it.
                Err(End::Expired)
            }
        }
    }

    /// None if the object has a name that cannot be one.
    fn convert(&self, raw: Raw) -> Result<Option<Object>, (Option<Identity>, Panic)> {
        let identity = self.identity(raw.meta());
        supervise::catch(&self.task, || convert::object(raw, &self.shared.want))
            .map_err(|panic| (identity, panic))
    }

    /// An object that made its decoding panic.
    pub(super) async fn quarantine(&mut self, object: &Encoded, panic: Panic) -> Result<(), End> {
        // The metadata can usually be read even if the rest made the conversion panic.
        let meta = supervise::catch(&self.task, || object.meta()).ok().flatten();
        let identity = meta.and_then(|meta| self.identity(&meta));
        self.panicked(identity, panic).await
    }

    async fn panicked(&mut self, identity: Option<Identity>, panic: Panic) -> Result<(), End> {
        let Some(identity) = identity else {
            let (source, kind) = (self.line.source(), self.kind.name());
            log(Level::Error, &format!("{source}: skipped a {kind} without a usable name: {panic}"));
            return Ok(());
        };
        self.tell(Update::Panicked(identity, panic)).await
    }

    pub(super) async fn list_begins(&mut self) -> Result<(), End> {
        (self.count, self.listing) = (0, true);
        // This list is what was asked for until now.
        if self.lists_asked_for.has_changed().is_ok_and(|asked| asked) {
            self.lists_asked_for.mark_unchanged();
            self.fallback = None;
        }
        self.tell(Change::ListBegins(self.kind).into()).await
    }

    pub(super) async fn list_ends(&mut self) -> Result<(), End> {
        self.events.listed.inc();
        (self.expired, self.listing) = (false, false);
        self.fallback = None;
        self.audit.listed(Instant::now());
        self.line.listed();
        self.tell(Change::ListEnds(self.kind).into()).await
    }

    /// A list that did not come to its end is not waited for.
    pub(super) async fn list_aborted(&mut self) -> Result<(), End> {
        match std::mem::take(&mut self.listing) {
            true => self.tell(Update::ListAborted(self.kind)).await,
            false => Ok(()),
        }
    }

    pub(super) async fn tell(&self, update: Update) -> Result<(), End> {
        self.updates.send(update).await.map_err(|_| End::Closed)
    }

    fn identity(&self, meta: &ObjectMeta) -> Option<Identity> {
        Identity::new(self.kind, &meta.namespace, &meta.name)
    }
}
