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
//! Meanwhile the server is asked what it has, since a watch that says nothing may also be one that is not listened to.

mod audit;
mod check;
mod list;
mod stream;
mod tell;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::http::StatusCode;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;

use self::audit::{Audit, Doubt};

use super::access::Access;
use super::backoff::{Backoff, Limits};
use super::discover;
use super::request::{Failure, Resource};
use crate::object::Kind;
use crate::watch::{Events, Level, Line, Shared, Update, log};

/// No server may send us away for longer.
const LONGEST_LATER: Duration = Duration::from_secs(60);

/// How a server says that it has not come to a version yet.
const FROM_THE_FUTURE: &str = "Too large resource version";

pub(super) struct Follower {
    /// What its panics are counted under.
    task: String,
    access: Arc<Access>,
    shared: Arc<Shared>,
    line: Arc<Line>,
    updates: Sender<Update>,
    /// The writer has lost everything and needs a list.
    lists_asked_for: Receiver<()>,
    events: Events,
    limits: Limits,
    kind: Kind,
    /// Where the objects are; none while it must be found out.
    resource: Option<Resource>,
    /// What is known is the server's state at this version; none before the first list and when that is too old.
    version: Option<String>,
    /// How many objects the server has at that version, by what it told.
    count: u64,
    audit: Audit,
    /// The last check had no answer to use, and that was logged.
    unchecked: bool,
    /// The last check got no answer at all.
    unanswered: bool,
    /// A list has begun and not ended.
    listing: bool,
    /// Version and count to go on from, should a list fail that need not be.
    fallback: Option<(String, u64)>,
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
    /// The watch cannot be believed: the same.
    Doubted(Doubt),
    /// It is time to list everything, to be sure.
    Relist,
    /// The writer needs a list.
    ListAskedFor,
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
    /// `restarted` after a panic, a list from a cache could be older than what was known.
    pub(super) fn new(
        task: &str,
        access: &Arc<Access>,
        shared: &Arc<Shared>,
        line: &Arc<Line>,
        updates: &Sender<Update>,
        limits: Limits,
        restarted: bool,
    ) -> Self {
        let kind = line.kind();
        line.expect_every(limits.watch_silence);
        Self {
            task: task.to_owned(),
            access: Arc::clone(access),
            shared: Arc::clone(shared),
            line: Arc::clone(line),
            updates: updates.clone(),
            lists_asked_for: shared.lists_asked_for(),
            events: Events::new(line.source(), kind),
            limits,
            kind,
            resource: (kind != Kind::ServiceImport).then(|| Resource::new(kind, "")),
            version: None,
            count: 0,
            audit: Audit::new(limits, tokio::time::Instant::now()),
            unchecked: false,
            unanswered: false,
            listing: false,
            fallback: None,
            expired: restarted,
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
            if self.list_aborted().await.is_err() {
                return;
            }
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
                    self.line.outdated("its version is too old, listing again");
                    self.forget_version();
                    if quick > 1 {
                        self.line.lost("every version is too old as soon as it was listed");
                        sleep(backoff.next()).await;
                    }
                }
                End::Doubted(doubt) => self.doubted(doubt),
                End::Relist => {
                    let count = self.count;
                    self.fallback = self.version.clone().map(|version| (version, count));
                    self.forget_version();
                }
                End::ListAskedFor => self.start_over(),
                End::CannotStream(why) => self.turn_pages(&why, false),
                End::Endless => self.turn_pages("a streamed one has no end", true),
                End::Missing(why) => {
                    self.line.absent(&why);
                    if self.tell(Update::KindAbsent(self.kind)).await.is_err() {
                        return;
                    }
                    sleep(backoff.next()).await;
                }
                End::Failed(failure) => {
                    self.line.failed(failure.code(), &failure.why);
                    self.fall_back();
                    if self.version.is_none() && std::mem::take(&mut self.streams_perhaps) {
                        self.streams = true;
                    }
                    match failure.later {
                        Some(later) => sleep(backoff.next().max(later.min(LONGEST_LATER))).await,
                        None => self.access.pause(backoff.next()).await,
                    }
                }
            }
        }
    }

    /// One list, one watch, or both.
    async fn follow(&mut self) -> End {
        if self.lists_asked_for.has_changed().is_ok_and(|asked| asked) {
            self.start_over();
        }
        let resource = match &self.resource {
            Some(resource) => resource.clone(),
            None => match discover::imports(&self.access, self.limits.answer).await {
                Ok(found) => self.resource.insert(found).clone(),
                Err(failure) => return self.refused(failure),
            },
        };
        if self.version.is_none() && (!self.streams || self.access.has_cached_pages().await) {
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

    /// What was told so far is lost; nothing but a list will do.
    fn start_over(&mut self) {
        self.fallback = None;
        self.forget_version();
    }

    /// Goes on from before a list that need not have been.
    fn fall_back(&mut self) {
        if let Some((version, count)) = self.fallback.take() {
            (self.version, self.count) = (Some(version), count);
            self.audit.put_off(tokio::time::Instant::now());
        }
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
}
