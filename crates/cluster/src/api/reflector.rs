//! The reflector of one kind at one server, as in client-go: lists, watches, relists when it must, until the writer ends.
//!
//! ```text
//!            closing bookmark
//!  ┌────────┐  or last page   ┌─────────┐  ends, falls silent
//!  │  list  │ ──────────────→ │  watch  │ ─────────────┐
//!  └────────┘                 └─────────┘ ←────────────┘
//!      ↑      version too old      │        from its last version
//!      └───────────────────────────┘
//! ```
//!
//! After a failure the reflector backs off and resumes from its last version. Known objects stay until a list is complete.
//! Meanwhile it takes a census of the server now and then, since a watch without events may also be a broken one.

mod audit;
mod check;
mod list;
mod stream;
mod updates;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::http::StatusCode;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;

use self::audit::{Audit, Mismatch};

use super::access::Access;
use super::backoff::{Backoff, Limits};
use super::discover;
use super::request::{Failure, Resource};
use crate::object::Kind;
use crate::watch::{EventCounters, Level, SharedState, Update, WatchStatus, log};

/// Upper limit for a server's Retry-After.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The error text of a server that has not reached the requested version.
const TOO_LARGE_VERSION: &str = "Too large resource version";

pub(super) struct Reflector {
    /// The task name under which panics are counted.
    task: String,
    access: Arc<Access>,
    shared: Arc<SharedState>,
    status: Arc<WatchStatus>,
    updates: Sender<Update>,
    /// Notified when the writer has lost its index and needs a list.
    list_requests: Receiver<()>,
    events: EventCounters,
    limits: Limits,
    kind: Kind,
    /// None until discovered.
    resource: Option<Resource>,
    /// The resource version that the watch has reached; None before the first list and when it is too old.
    version: Option<String>,
    /// Number of objects at that version, counted from the events.
    count: u64,
    audit: Audit,
    /// The last census failed, and that was logged.
    census_failure_logged: bool,
    /// The last census had no response at all.
    census_unanswered: bool,
    /// A list has begun and is not complete.
    listing: bool,
    /// Version and count from which to resume the watch if a periodic relist fails.
    resume_from: Option<(String, u64)>,
    /// The next list must be at the latest version: one from a cache could be older than the known state.
    needs_latest: bool,
    /// Whether lists are streamed; false once the server has shown that it cannot.
    streams_lists: bool,
    /// Streaming was disabled after a timeout, not a refusal. If pages fail too, the cause was another one.
    streaming_in_doubt: bool,
}

/// How a list or a watch ended.
#[derive(Debug)]
enum End {
    /// The server ended the watch, as it does from time to time, or it was silent. The next one resumes.
    Finished,
    /// The version is too old: the kind must be relisted.
    Expired,
    /// The audit found the watch inconsistent with the server: the same.
    Inconsistent(Mismatch),
    /// The periodic relist is due.
    RelistDue,
    /// The writer has lost its index and needs a list.
    ListRequested,
    /// The server refused to stream a list.
    StreamingUnsupported(String),
    /// A streamed list did not complete in time.
    ListTimedOut,
    /// The server does not have the kind.
    KindAbsent(String),
    Failed(Failure),
    /// The writer has ended.
    WriterGone,
}

impl Reflector {
    /// `restarted`: after a panic, a list from a cache could be older than the known state.
    pub(super) fn new(
        task: &str,
        access: &Arc<Access>,
        shared: &Arc<SharedState>,
        status: &Arc<WatchStatus>,
        updates: &Sender<Update>,
        limits: Limits,
        restarted: bool,
    ) -> Self {
        let kind = status.kind();
        status.set_max_silence(limits.watch_silence);
        Self {
            task: task.to_owned(),
            access: Arc::clone(access),
            shared: Arc::clone(shared),
            status: Arc::clone(status),
            updates: updates.clone(),
            list_requests: shared.list_requests(),
            events: EventCounters::new(status.source(), kind),
            limits,
            kind,
            resource: (kind != Kind::ServiceImport).then(|| Resource::new(kind, "")),
            version: None,
            count: 0,
            audit: Audit::new(limits, tokio::time::Instant::now()),
            census_failure_logged: false,
            census_unanswered: false,
            listing: false,
            resume_from: None,
            needs_latest: restarted,
            streams_lists: true,
            streaming_in_doubt: false,
        }
    }

    pub(super) async fn run(mut self) {
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
            match end {
                End::WriterGone => return,
                // The first one resumes at once.
                End::Finished if short_watches <= 1 => {}
                End::Finished => sleep(backoff.next()).await,
                End::Expired => {
                    self.status.mark_stale("resource version too old, relisting");
                    self.forget_version();
                    if short_watches > 1 {
                        self.status.lost("resource version too old right after each list");
                        sleep(backoff.next()).await;
                    }
                }
                End::Inconsistent(mismatch) => self.relist_after(mismatch),
                End::RelistDue => {
                    let count = self.count;
                    self.resume_from = self.version.clone().map(|version| (version, count));
                    self.forget_version();
                }
                End::ListRequested => self.start_over(),
                End::StreamingUnsupported(why) => self.list_in_pages(&why, false),
                End::ListTimedOut => self.list_in_pages("a streamed list did not complete", true),
                End::KindAbsent(why) => {
                    self.status.absent(&why);
                    if self.send(Update::KindAbsent(self.kind)).await.is_err() {
                        return;
                    }
                    sleep(backoff.next()).await;
                }
                End::Failed(failure) => {
                    self.status.failed(failure.code(), &failure.why);
                    self.resume();
                    if self.version.is_none() && std::mem::take(&mut self.streaming_in_doubt) {
                        self.streams_lists = true;
                    }
                    match failure.retry_after {
                        Some(after) => sleep(backoff.next().max(after.min(MAX_RETRY_AFTER))).await,
                        None => self.access.back_off(backoff.next()).await,
                    }
                }
            }
        }
    }

    /// Runs one list, one watch, or both.
    async fn list_and_watch(&mut self) -> End {
        if self.list_requests.has_changed().is_ok_and(|requested| requested) {
            self.start_over();
        }
        let resource = match &self.resource {
            Some(resource) => resource.clone(),
            None => match discover::service_imports(&self.access, self.limits.response_timeout).await {
                Ok(found) => self.resource.insert(found).clone(),
                Err(failure) => return self.classify(failure),
            },
        };
        if self.version.is_none() && (!self.streams_lists || self.access.has_cached_pages().await) {
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

    fn list_in_pages(&mut self, why: &str, in_doubt: bool) {
        (self.streams_lists, self.streaming_in_doubt) = (false, in_doubt);
        let (source, kind) = (self.status.source(), self.kind.plural());
        log(Level::Info, &format!("{source}: listing {kind} in pages instead of streaming: {why}"));
    }

    fn forget_version(&mut self) {
        self.version = None;
        self.needs_latest = true;
    }

    /// The writer has lost its index, so only a new list can follow.
    fn start_over(&mut self) {
        self.resume_from = None;
        self.forget_version();
    }

    /// Resumes the watch from before a periodic relist that failed.
    fn resume(&mut self) {
        if let Some((version, count)) = self.resume_from.take() {
            (self.version, self.count) = (Some(version), count);
            self.audit.postpone_relist(tokio::time::Instant::now());
        }
    }

    /// How a failed request ends the list or watch.
    fn classify(&mut self, failure: Failure) -> End {
        match failure.status {
            Some(StatusCode::GONE) => End::Expired,
            // The server was restored from an older backup.
            Some(_) if failure.why.contains(TOO_LARGE_VERSION) => End::Expired,
            Some(StatusCode::NOT_FOUND) if self.kind == Kind::ServiceImport => {
                self.resource = None;
                End::KindAbsent("the server has no ServiceImports (multicluster.x-k8s.io)".to_owned())
            }
            _ => End::Failed(failure),
        }
    }
}
