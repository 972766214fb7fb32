//! What the writer of the index is told, and what is counted on the way.

use tokio::time::Instant;

use super::{End, Follower};
use crate::api::convert;
use crate::api::message::Raw;
use crate::index::Change;
use crate::object::Object;
use crate::watch::{News, Triggered};

impl Follower {
    /// An object as a list has it.
    pub(super) async fn listed(&mut self, raw: Raw) -> Result<(), End> {
        self.count += 1;
        let terminating = convert::is_terminating(&raw);
        match convert::object(raw, &self.shared.want) {
            Some(Object::Pod(pod)) if terminating => self.tell(News::Terminating(pod)).await,
            Some(object) => self.apply(object, None).await,
            None => Ok(()),
        }
    }

    /// An object as an event has it. A pod on its way out has nothing to say any more.
    pub(super) async fn changed(
        &mut self,
        raw: Raw,
        is_new: bool,
        triggered: Option<Triggered>,
    ) -> Result<(), End> {
        self.count += u64::from(is_new);
        if convert::is_terminating(&raw) {
            return Ok(());
        }
        match convert::object(raw, &self.shared.want) {
            Some(object) => self.apply(object, triggered).await,
            None => Ok(()),
        }
    }

    async fn apply(&mut self, object: Object, triggered: Option<Triggered>) -> Result<(), End> {
        self.events.applied.inc();
        let change = Change::Apply(object);
        self.tell(match triggered {
            Some(triggered) => News::Slice(change, triggered),
            None => News::Change(change),
        })
        .await
    }

    pub(super) async fn deleted(&mut self, raw: Raw) -> Result<(), End> {
        self.events.deleted.inc();
        self.count = self.count.saturating_sub(1);
        match convert::object(raw, &self.shared.want) {
            Some(object) => self.tell(Change::Delete(object).into()).await,
            None => Ok(()),
        }
    }

    pub(super) async fn list_begins(&mut self) -> Result<(), End> {
        (self.count, self.listing) = (0, true);
        self.tell(Change::ListBegins(self.kind).into()).await
    }

    pub(super) async fn list_ends(&mut self) -> Result<(), End> {
        self.events.listed.inc();
        (self.expired, self.listing) = (false, false);
        self.fallback = None;
        self.audit.listed(Instant::now());
        self.tell(Change::ListEnds(self.kind).into()).await
    }

    /// A list that did not come to its end is not waited for.
    pub(super) async fn list_given_up(&mut self) -> Result<(), End> {
        match std::mem::take(&mut self.listing) {
            true => self.tell(News::ListGivenUp(self.kind)).await,
            false => Ok(()),
        }
    }

    async fn tell(&self, news: News) -> Result<(), End> {
        self.news.send(news).await.map_err(|_| End::Closed)
    }
}
