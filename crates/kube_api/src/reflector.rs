//! The reflector of one resource and scope, as in client-go: lists, watches, relists when it must.
//!
//! ```text
//!             list_begins            list_ends
//!  ┌────────┐ ──────────→ ┌─────────┐ ───────→ ┌──────────┐ ends, falls silent
//!  │ ToList │             │ Listing │          │ Watching │ ─────────────┐
//!  └────────┘ ←────────── └─────────┘          └──────────┘ ←────────────┘
//!     │  ↑      aborted                          ↑   │   from its last version
//!     │  └───────────────────────────────────────┼───┘
//!     │      too old, inconsistent, requested,   │
//!     │      another version, periodic relist    │
//!     └──────────────────────────────────────────┘
//!           a periodic relist failed: resume
//! ```
//!
//! After a failure the reflector backs off and resumes from its last version. Known objects stay until a list is complete.
//! Meanwhile it takes a census of the server now and then, since a watch without events may also be a broken one.

mod audit;
mod check;
mod list;
mod phase;
mod stream;
mod updates;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::http::StatusCode;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;

use self::audit::{Audit, Mismatch};
use self::check::CensusHealth;
use self::phase::{Freshness, Phase};
use crate::access::Access;
use crate::availability::Availability;
use crate::backoff::{Backoff, Limits};
use crate::delivery::FeedSender;
use crate::discovery::{Discovery, SHARED_FOR};
use crate::log::{Level, log};
use crate::measure::EventCounters;
use crate::request::{Collection, Failure};
use crate::resource::{Resource, is_built_in};
use crate::scope::Scope;
use crate::status::WatchStatus;

/// Upper limit for a server's Retry-After.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The error text of a server that has not reached the requested version.
const TOO_LARGE_VERSION: &str = "Too large resource version";

pub(crate) struct Reflector<R> {
    /// The task name under which panics are counted.
    task: String,
    access: Arc<Access>,
    discovery: Arc<Discovery>,
    status: Arc<WatchStatus>,
    feed: FeedSender<R>,
    /// Notified when a consumer needs a list.
    list_requests: Receiver<()>,
    events: EventCounters,
    limits: Limits,
    scope: Scope,
    /// None until discovered.
    collection: Option<Collection<R>>,
    phase: Phase,
    method: ListMethod,
    audit: Audit,
    census: CensusHealth,
    /// The availability last reported to consumers.
    reported: Option<Availability>,
}

/// How lists are requested.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ListMethod {
    /// As events of a watch.
    Stream,
    /// The server has shown that it cannot stream.
    Pages,
    /// A streamed list timed out. If pages fail too, the cause was another one.
    PagesAfterTimeout,
}

/// How a list or a watch ended.
#[derive(Debug)]
enum End {
    /// The server ended the watch, as it does from time to time, or it was silent. The next one resumes.
    Finished,
    /// The version is too old: the resource must be relisted.
    Expired,
    /// The audit found the watch inconsistent with the server: the same.
    Inconsistent(Mismatch),
    /// The periodic relist is due.
    RelistDue,
    /// A consumer needs a list.
    ListRequested,
    /// The server serves the resource in a version that is preferred.
    VersionChanged,
    /// The server refused to stream a list.
    StreamingUnsupported(String),
    /// A streamed list did not complete in time.
    ListTimedOut,
    /// The server does not have the resource.
    Absent(String),
    Failed(Failure),
    /// The delivery task has ended.
    ConsumersGone,
}

impl<R: Resource> Reflector<R> {
    /// `restarted`: after a panic, a list from a cache could be older than the known state.
    #[allow(clippy::too_many_arguments, reason = "called once")]
    pub(crate) fn new(
        task: &str,
        access: Arc<Access>,
        discovery: Arc<Discovery>,
        status: &Arc<WatchStatus>,
        feed: &FeedSender<R>,
        scope: &Scope,
        limits: Limits,
        restarted: bool,
    ) -> Self {
        status.set_max_silence(limits.watch_silence);
        Self {
            task: task.to_owned(),
            access,
            discovery,
            status: Arc::clone(status),
            feed: feed.clone(),
            list_requests: feed.list_requests(),
            events: EventCounters::new(status.source(), R::KIND),
            limits,
            scope: scope.clone(),
            collection: None,
            phase: Phase::new(if restarted { Freshness::Latest } else { Freshness::AnyCache }),
            method: ListMethod::Stream,
            audit: Audit::new(limits, tokio::time::Instant::now()),
            census: CensusHealth::Answered,
            reported: None,
        }
    }

    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new(self.limits);
        // Number of watches in a row that began well and ended at once.
        let mut short_watches = 0;
        loop {
            let began = Instant::now();
            let end = self.list_and_watch().await;
            if self.list_aborted().await.is_err() {
                return;
            }
            let was_stable = began.elapsed() >= self.limits.stable_after;
            let began_well = matches!(end, End::Finished | End::Expired);
            short_watches = if was_stable || !began_well { 0 } else { short_watches + 1 };
            if was_stable {
                backoff.reset();
            }
            let pause = self.handle(end, short_watches, &mut backoff);
            if self.report().await.is_err() {
                return;
            }
            match pause {
                Pause::None => {}
                Pause::For(pause) => sleep(pause).await,
                Pause::UntilReachable(pause) => self.access.back_off(pause).await,
                Pause::Forever => return,
            }
        }
    }

    fn handle(&mut self, end: End, short_watches: u32, backoff: &mut Backoff) -> Pause {
        match end {
            End::ConsumersGone => Pause::Forever,
            // The first one resumes at once.
            End::Finished if short_watches <= 1 => Pause::None,
            End::Finished => Pause::For(backoff.next()),
            End::Expired => {
                self.status.mark_stale("resource version too old, relisting");
                self.phase.expire();
                if short_watches > 1 {
                    self.status.lost("resource version too old right after each list");
                    return Pause::For(backoff.next());
                }
                Pause::None
            }
            End::Inconsistent(mismatch) => {
                self.relist_after(mismatch);
                Pause::None
            }
            End::RelistDue => {
                self.phase.relist();
                Pause::None
            }
            End::ListRequested => {
                self.phase.expire();
                Pause::None
            }
            End::VersionChanged => {
                self.collection = None;
                self.phase.expire();
                Pause::None
            }
            End::StreamingUnsupported(why) => {
                self.list_in_pages(&why, ListMethod::Pages);
                Pause::None
            }
            End::ListTimedOut => {
                self.list_in_pages("a streamed list did not complete", ListMethod::PagesAfterTimeout);
                Pause::None
            }
            End::Absent(why) => {
                self.status.absent(&why);
                self.phase.expire();
                Pause::For(backoff.next().min(self.limits.discovery_interval))
            }
            End::Failed(failure) => {
                self.status.failed(failure.code(), &failure.why);
                if self.phase.resume() {
                    self.audit.postpone_relist(tokio::time::Instant::now());
                }
                if self.phase.version().is_none() && self.method == ListMethod::PagesAfterTimeout {
                    self.method = ListMethod::Stream;
                }
                match failure.retry_after {
                    Some(after) => Pause::For(backoff.next().max(after.min(MAX_RETRY_AFTER))),
                    None => Pause::UntilReachable(backoff.next()),
                }
            }
        }
    }

    /// Runs one list, one watch, or both.
    async fn list_and_watch(&mut self) -> End {
        if self.list_requests.has_changed().is_ok_and(|requested| requested) {
            self.phase.expire();
        }
        let collection = match self.discover().await {
            Ok(collection) => collection,
            Err(end) => return end,
        };
        let in_pages = self.method != ListMethod::Stream;
        if self.phase.version().is_none()
            && (in_pages || self.access.has_cached_pages().await)
            && let Err(end) = self.list(&collection).await
        {
            return end;
        }
        match self.phase.version().map(str::to_owned) {
            Some(version) => self.watch(&collection, &version).await,
            None => self.stream(&collection).await,
        }
    }

    /// The collection, in the version that the server serves.
    async fn discover(&mut self) -> Result<Collection<R>, End> {
        if let Some(collection) = &self.collection {
            return Ok(collection.clone());
        }
        let version = match (is_built_in::<R>(), R::VERSIONS) {
            (true, [version]) => version,
            _ => {
                let found = self
                    .discovery
                    .version_of::<R>(&self.access, SHARED_FOR, self.limits.response_timeout)
                    .await;
                found.map_err(End::Failed)?.map_err(End::Absent)?
            }
        };
        Ok(self.collection.insert(Collection::new(version, &self.scope)).clone())
    }

    /// Whether the server serves a preferred version by now, or the watched one no more. Without a response, no.
    async fn has_other_version(&self, collection: &Collection<R>) -> bool {
        let (max_age, limit) = (self.limits.discovery_interval / 2, self.limits.response_timeout);
        let found = self.discovery.version_of::<R>(&self.access, max_age, limit).await;
        found.is_ok_and(|version| version.as_ref() != Ok(&&*collection.version))
    }

    fn list_in_pages(&mut self, why: &str, method: ListMethod) {
        self.method = method;
        let (source, resource) = (self.status.source(), R::PLURAL);
        log(Level::Info, &format!("{source}: listing {resource} in pages instead of streaming: {why}"));
    }

    /// How a failed request ends the list or watch.
    fn classify(&mut self, failure: Failure) -> End {
        match failure.status {
            Some(StatusCode::GONE) => End::Expired,
            // The server was restored from an older backup.
            Some(_) if failure.why.contains(TOO_LARGE_VERSION) => End::Expired,
            // The built-in ones are always there; a proxy may say otherwise for a moment.
            Some(StatusCode::NOT_FOUND) if !is_built_in::<R>() => {
                self.collection = None;
                End::Absent(format!("the server has no {}s ({})", R::KIND, R::GROUP))
            }
            _ => End::Failed(failure),
        }
    }
}

/// What a reflector waits for before its next attempt.
enum Pause {
    None,
    For(Duration),
    /// As long, or until another watch of the server is connected.
    UntilReachable(Duration),
    /// Nobody is left to deliver to.
    Forever,
}
