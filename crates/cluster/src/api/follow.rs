//! One kind at one server, followed for as long as somebody listens: listed, watched, listed again when it must be.
//!
//! ```text
//!            closing bookmark
//!  ┌────────┐  or last page   ┌─────────┐  ends, falls silent
//!  │ listed │ ──────────────→ │ watched │ ─────────────┐
//!  └────────┘                 └─────────┘ ←────────────┘
//!      ↑      version too old      │        from its last version
//!      └───────────────────────────┘
//! ```
//!
//! Whatever fails is tried again after a pause, from where it was. What is known stays until a list is complete.

mod list;
mod stream;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::http::StatusCode;
use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

use super::access::Access;
use super::backoff::{Backoff, Limits};
use super::convert;
use super::discover;
use super::message::Raw;
use super::request::{Failure, Resource};
use crate::index::Change;
use crate::object::{Kind, Object};
use crate::watch::{Events, Level, Line, News, Shared, Triggered, log};

/// No server may send us away for longer.
const LONGEST_LATER: Duration = Duration::from_secs(60);

/// How a server says that it has not come to a version yet.
const FROM_THE_FUTURE: &str = "Too large resource version";

pub(super) struct Follower {
    access: Arc<Access>,
    shared: Arc<Shared>,
    line: Arc<Line>,
    news: Sender<News>,
    events: Events,
    limits: Limits,
    kind: Kind,
    /// Where the objects are; none while it must be found out.
    resource: Option<Resource>,
    /// What is known is the server's state at this version; none before the first list and when that is too old.
    version: Option<String>,
    /// A version was too old once, so the next list must be newer than what a cache happens to have.
    expired: bool,
    /// Whether lists are streamed; not any more if the server cannot.
    streams: bool,
    /// It never said so, but did not end a list either. Should pages fail too, it was something else.
    streams_perhaps: bool,
}

/// How a list or a watch ended.
#[derive(Debug)]
enum End {
    /// As watches do from time to time. The next goes on where it was.
    Over,
    /// The version is too old: everything must be listed.
    Expired,
    /// Lists cannot be streamed here; the server says so.
    CannotStream(String),
    /// A streamed list did not end.
    Endless,
    /// The server does not know the kind.
    Missing(String),
    Failed(Failure),
    /// Nobody listens any more.
    Closed,
}

impl Follower {
    pub(super) fn new(
        access: &Arc<Access>,
        shared: &Arc<Shared>,
        line: &Arc<Line>,
        news: &Sender<News>,
        limits: Limits,
    ) -> Self {
        let kind = line.kind();
        Self {
            access: Arc::clone(access),
            shared: Arc::clone(shared),
            line: Arc::clone(line),
            news: news.clone(),
            events: Events::new(line.source(), kind),
            limits,
            kind,
            resource: (kind != Kind::ServiceImport).then(|| Resource::new(kind, "")),
            version: None,
            expired: false,
            streams: true,
            streams_perhaps: false,
        }
    }

    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new(self.limits);
        // How many times in a row a watch that began well ended at once.
        let mut quick = 0;
        loop {
            let began = Instant::now();
            let end = self.follow().await;
            let was_steady = began.elapsed() >= self.limits.steady;
            let began_well = matches!(end, End::Over | End::Expired);
            quick = if was_steady || !began_well { 0 } else { quick + 1 };
            if was_steady {
                backoff.reset();
            }
            match end {
                End::Closed => return,
                // At once, but not again and again.
                End::Over if quick <= 1 => {}
                End::Over => sleep(backoff.next()).await,
                End::Expired => {
                    self.forget_version();
                    if quick > 1 {
                        self.line.lost("every version is too old as soon as it was listed");
                        sleep(backoff.next()).await;
                    }
                }
                End::CannotStream(why) => self.turn_pages(&why, false),
                End::Endless => self.turn_pages("a streamed one has no end", true),
                End::Missing(why) => {
                    self.line.absent(&why);
                    sleep(backoff.next()).await;
                }
                End::Failed(failure) => {
                    self.line.lost(&failure.why);
                    if self.version.is_none() && std::mem::take(&mut self.streams_perhaps) {
                        self.streams = true;
                    }
                    let later = failure.later.unwrap_or_default().min(LONGEST_LATER);
                    sleep(backoff.next().max(later)).await;
                }
            }
        }
    }

    /// One list, one watch, or both.
    async fn follow(&mut self) -> End {
        let resource = match &self.resource {
            Some(resource) => resource.clone(),
            None => match discover::imports(&self.access, self.limits.answer).await {
                Ok(found) => self.resource.insert(found).clone(),
                Err(failure) => return self.refused(failure),
            },
        };
        if self.version.is_none() && !self.streams {
            match self.list(&resource).await {
                Ok(version) => self.version = Some(version),
                Err(end) => return end,
            }
        }
        match self.version.clone() {
            Some(version) => self.watch(&resource, &version).await,
            None => self.stream(&resource).await,
        }
    }

    fn turn_pages(&mut self, why: &str, perhaps: bool) {
        (self.streams, self.streams_perhaps) = (false, perhaps);
        let (source, kind) = (self.line.source(), self.kind.plural());
        log(Level::Info, &format!("{source}: lists of {kind} come in pages: {why}"));
    }

    fn forget_version(&mut self) {
        self.version = None;
        self.expired = true;
    }

    /// What a refusal means for any request.
    fn refused(&mut self, failure: Failure) -> End {
        match failure.status {
            Some(StatusCode::GONE) => End::Expired,
            // Its data were restored from an older copy.
            Some(_) if failure.why.contains(FROM_THE_FUTURE) => End::Expired,
            Some(StatusCode::NOT_FOUND) if self.kind == Kind::ServiceImport => {
                self.resource = None;
                End::Missing("the server has no ServiceImports (multicluster.x-k8s.io)".to_owned())
            }
            _ => End::Failed(failure),
        }
    }

    /// An object as a list has it.
    async fn listed(&mut self, raw: Raw) -> Result<(), End> {
        let terminating = convert::is_terminating(&raw);
        match convert::object(raw, &self.shared.want) {
            Some(Object::Pod(pod)) if terminating => self.tell(News::Terminating(pod)).await,
            Some(object) => self.apply(object, None).await,
            None => Ok(()),
        }
    }

    /// An object as an event has it. A pod on its way out has nothing to say any more.
    async fn changed(&mut self, raw: Raw, triggered: Option<Triggered>) -> Result<(), End> {
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

    async fn deleted(&mut self, raw: Raw) -> Result<(), End> {
        self.events.deleted.inc();
        match convert::object(raw, &self.shared.want) {
            Some(object) => self.tell(Change::Delete(object).into()).await,
            None => Ok(()),
        }
    }

    async fn list_begins(&mut self) -> Result<(), End> {
        self.tell(Change::ListBegins(self.kind).into()).await
    }

    async fn list_ends(&mut self) -> Result<(), End> {
        self.events.listed.inc();
        self.expired = false;
        self.tell(Change::ListEnds(self.kind).into()).await
    }

    async fn tell(&self, news: News) -> Result<(), End> {
        self.news.send(news).await.map_err(|_| End::Closed)
    }
}
