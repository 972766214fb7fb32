//! The one task that owns a cluster's index: takes whatever is waiting, then publishes one snapshot.
//!
//! ```text
//! sources ──→ Update ──→ quarantine ──→ Index ──→ Snapshot ──→ queries
//!    ↑                       ↑            │ panics
//!    │                       └────────────┤ on an object: that is put aside, the tables are made anew from the others
//!    └──── every kind is listed again ────┘ elsewhere: this task starts again with an empty index
//! ```
//!
//! After a restart nothing is published before all kinds were listed that the published snapshot has.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use supervise::Panic;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout_at};

use super::log::{Level, log};
use super::measure::Triggered;
use super::memory::{Freed, give_back};
use super::quarantine::{Quarantine, Version};
use super::shared::Shared;
use crate::index::{Change, Index};
use crate::key::Key;
use crate::object::{Identity, Kind, Object, Pod};
use crate::snapshot::{Holder, Snapshot};

pub(super) const TASK: &str = "cluster-writer";

/// Capacity of the channel into the writer; sources wait when it is full.
const QUEUE_CAPACITY: usize = 1024;

/// How many updates are taken at once; the thread has other work too.
const BATCH: usize = 256;

/// Minimum interval between snapshots during a list: nobody needs its thousands of changes one by one, and every snapshot
/// makes later changes copy the leaves they touch. Watch events are published at once, or with all that arrived while the
/// last snapshot was made.
const LIST_PUBLISH_INTERVAL: Duration = Duration::from_millis(100);

/// Returning memory to the system takes milliseconds, so it is not done more often than this.
const TRIM_DELAY: Duration = Duration::from_secs(1);

/// A message from a source to the writer.
#[derive(Debug)]
pub(crate) enum Update {
    Change {
        change: Change,
        /// The version of the object, if the change is about one.
        version: Version,
        /// When the controller began the change of an EndpointSlice, for the programming-latency metric.
        triggered: Option<Triggered>,
    },
    /// A terminating pod in a list: kept if already indexed, never added.
    TerminatingPod(Pod, Version),
    /// A list was aborted; objects it delivered stay.
    ListAborted(Kind),
    /// The source does not have the kind.
    KindAbsent(Kind),
    /// An object made its watch panic; it will not arrive.
    Panicked(Identity, Panic),
}

impl From<Change> for Update {
    fn from(change: Change) -> Self {
        Update::Change { change, version: Version::default(), triggered: None }
    }
}

/// What survives when the task starts again.
struct Inbox {
    updates: mpsc::Receiver<Update>,
    quarantine: Quarantine,
}

pub(crate) fn channel() -> (mpsc::Sender<Update>, mpsc::Receiver<Update>) {
    mpsc::channel(QUEUE_CAPACITY)
}

/// The task, to be started as often as it panics. It ends when all sources have.
pub(super) fn task(
    updates: mpsc::Receiver<Update>,
    shared: &Arc<Shared>,
) -> impl FnMut() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + use<> {
    let inbox = Arc::new(Mutex::new(Inbox { updates, quarantine: Quarantine::default() }));
    let shared = Arc::clone(shared);
    let mut restarts = false;
    move || {
        let (inbox, shared) = (Arc::clone(&inbox), Arc::clone(&shared));
        let restarted = std::mem::replace(&mut restarts, true);
        Box::pin(async move {
            let mut inbox = inbox.lock().await;
            run(&mut inbox, Writer::new(&shared, restarted)).await;
        })
    }
}

async fn run(inbox: &mut Inbox, mut writer: Writer<'_>) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let more = inbox.updates.recv_many(&mut batch, BATCH);
        let came = match writer.due() {
            Some(at) => timeout_at(at, more).await.ok(),
            None => Some(more.await),
        };
        if came == Some(0) {
            return;
        }
        writer.take(&mut batch, &mut inbox.quarantine);
        let now = Instant::now();
        if writer.publish_at.is_some_and(|at| at <= now) {
            writer.publish(now);
        }
        if writer.trim_heap_at.is_some_and(|at| at <= now) {
            writer.trim_heap_at = None;
            give_back();
        }
    }
}

struct Writer<'s> {
    shared: &'s Shared,
    index: Index,
    /// A bit for each kind that is being listed.
    lists: u32,
    /// A bit for each kind that must be listed from the beginning: whatever arrives before that has gaps.
    awaited: u32,
    /// The published snapshot is that of an index that was lost.
    rebuilding: bool,
    /// Slices that the next snapshot serves first.
    triggered: Vec<(Key, Triggered)>,
    freed: Freed,
    last_published: Option<Instant>,
    /// When the next snapshot is due; None while it would be the same.
    publish_at: Option<Instant>,
    /// When freed memory is returned; None while there is little.
    trim_heap_at: Option<Instant>,
}

impl<'s> Writer<'s> {
    fn new(shared: &'s Shared, restarted: bool) -> Self {
        let mut awaited = 0;
        if restarted {
            awaited = shared.want.kinds.iter().fold(0, |bits, kind| bits | bit(*kind));
            shared.ask_for_lists();
        }
        Self {
            shared,
            index: Index::after(&shared.snapshot.load()),
            lists: 0,
            awaited,
            rebuilding: restarted,
            triggered: Vec::new(),
            freed: Freed::default(),
            last_published: None,
            publish_at: None,
            trim_heap_at: None,
        }
    }

    /// When there is something to do even if nothing arrives.
    fn due(&self) -> Option<Instant> {
        self.publish_at.into_iter().chain(self.trim_heap_at).min()
    }

    fn publish(&mut self, now: Instant) {
        self.publish_at = None;
        if self.is_behind() {
            return;
        }
        let snapshot = self.index.snapshot();
        self.shared.publish(&snapshot);
        self.triggered.drain(..).for_each(|(service, when)| when.served(&snapshot, &service));
        self.last_published = Some(now);
        self.rebuilding = false;
        if let Some(took) = self.shared.thaw() {
            let source = &self.shared.source;
            log(Level::Info, &format!("{source}: rebuilt the index in {:.1}s", took.as_secs_f64()));
        }
    }

    /// Whether the published snapshot has objects that the index may not have yet: it must not be replaced.
    fn is_behind(&self) -> bool {
        let published = self.shared.snapshot.load();
        let has = |kind| published.has_synced(kind) || published.count(kind) > 0;
        let mut kinds = self.shared.want.kinds.iter();
        self.rebuilding && kinds.any(|kind| has(*kind) && !self.index.has_synced(*kind))
    }

    fn take(&mut self, batch: &mut Vec<Update>, quarantine: &mut Quarantine) {
        let mut changed = false;
        let unix_now = unix_now();
        for update in batch.drain(..) {
            changed |= self.update(update, quarantine, unix_now);
        }
        self.shared.set_quarantined(quarantine.len());
        let now = Instant::now();
        if changed || self.publish_at.is_some() {
            let since = self.last_published.filter(|_| self.lists != 0);
            self.publish_at = Some(since.map_or(now, |published| published + LIST_PUBLISH_INTERVAL));
        }
        if self.lists == 0 && self.freed.is_much() {
            self.trim_heap_at.get_or_insert(now + TRIM_DELAY);
        }
    }

    /// Returns whether a snapshot would show anything new.
    fn update(&mut self, update: Update, quarantine: &mut Quarantine, now: u32) -> bool {
        match update {
            Update::Change { change, version, triggered } => {
                let triggered = triggered.and_then(|when| Some((service(&change)?, when)));
                let changed = self.change(change, version, quarantine, now);
                self.triggered.extend(triggered.filter(|_| changed));
                changed
            }
            Update::TerminatingPod(pod, version) if self.is_known(&pod) => {
                self.change(Change::Apply(Object::Pod(pod)), version, quarantine, now)
            }
            Update::TerminatingPod(..) => false,
            Update::ListAborted(kind) => {
                self.lists &= !bit(kind);
                false
            }
            Update::KindAbsent(kind) if self.awaited & bit(kind) != 0 => {
                self.awaited &= !bit(kind);
                // Nobody knew it before either, unless it was published; then it is empty by now.
                self.shared.snapshot.load().has_synced(kind) && {
                    self.index.apply(Change::ListBegins(kind), now);
                    self.index.apply(Change::ListEnds(kind), now)
                }
            }
            Update::KindAbsent(_) => false,
            Update::Panicked(identity, panic) => {
                self.put_aside(&identity, None, &panic, quarantine);
                self.index.keep(&identity);
                false
            }
        }
    }

    fn change(&mut self, change: Change, version: Version, quarantine: &mut Quarantine, now: u32) -> bool {
        let awaited = self.awaited & bit(change.kind()) != 0;
        let changed = match change {
            Change::ListBegins(kind) => {
                self.awaited &= !bit(kind);
                self.lists |= bit(kind);
                quarantine.list_begins(kind);
                self.index.apply(change, now)
            }
            _ if awaited => false,
            Change::ListEnds(kind) => {
                self.lists &= !bit(kind);
                self.freed.list();
                quarantine.list_ends(kind);
                self.index.apply(change, now)
            }
            Change::Apply(ref object) => {
                let identity = object.identity();
                #[cfg(test)]
                crate::poison::strike_object(crate::poison::IN_WRITER, object);
                if quarantine.skips(&identity, version) {
                    self.index.keep(&identity);
                    return false;
                }
                let done = self.guarded(change, &identity, Some(version), quarantine, now);
                if done.is_some() && quarantine.remove(&identity) {
                    log(Level::Info, &format!("{}: {identity} is current again", self.shared.source));
                }
                done.unwrap_or(true)
            }
            Change::Delete(ref object) => {
                let identity = object.identity();
                quarantine.remove(&identity);
                self.guarded(change, &identity, None, quarantine, now).unwrap_or(true)
            }
        };
        if changed {
            self.freed.change();
        }
        changed
    }

    /// Applies the change of an object. If that panics, returns None: the object is in quarantine, if it is still there,
    /// and the index has what is published of it.
    fn guarded(
        &mut self,
        change: Change,
        identity: &Identity,
        version: Option<Version>,
        quarantine: &mut Quarantine,
        now: u32,
    ) -> Option<bool> {
        let panic = match supervise::catch(TASK, || self.index.apply(change, now)) {
            Ok(changed) => return Some(changed),
            Err(panic) => panic,
        };
        match version {
            Some(_) => self.put_aside(identity, version, &panic, quarantine),
            None => log(Level::Error, &format!("{}: deleting {identity}: {panic}", self.shared.source)),
        }
        self.index.rebuild_without(identity, now);
        if let (Some(_), Some(last)) = (version, self.shared.snapshot.load().object(identity))
            && supervise::catch(TASK, || self.index.apply(Change::Apply(last), now)).is_err()
        {
            self.index.rebuild_without(identity, now);
        }
        None
    }

    fn put_aside(
        &self,
        identity: &Identity,
        version: Option<Version>,
        panic: &Panic,
        quarantine: &mut Quarantine,
    ) {
        if let Some(advice) = quarantine.put(identity, version) {
            let source = &self.shared.source;
            let line =
                format!("{source}: quarantined {identity}: {panic}; other objects are served; {advice}");
            log(Level::Error, &line);
        }
    }

    /// Whether a pod is served, be it by a snapshot that the index has not caught up with.
    fn is_known(&self, pod: &Pod) -> bool {
        has_pod(&self.index.snapshot(), pod) || self.is_behind() && has_pod(&self.shared.snapshot.load(), pod)
    }
}

/// The index is lost with the writer, and what is published becomes outdated.
impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.shared.freeze();
    }
}

fn bit(kind: Kind) -> u32 {
    1 << kind as u32
}

/// The Service of a slice that is new or has changed.
fn service(change: &Change) -> Option<Key> {
    match change {
        Change::Apply(Object::EndpointSlice(slice)) => slice.service.clone(),
        _ => None,
    }
}

fn has_pod(snapshot: &Snapshot, pod: &Pod) -> bool {
    let mut holders = pod.ips.iter().flat_map(|ip| snapshot.holders(*ip));
    holders.any(|holder| matches!(holder, Holder::Pod(known) if known.key == pod.key))
}

fn unix_now() -> u32 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u32::try_from(now.as_secs()).unwrap_or(u32::MAX)
}
