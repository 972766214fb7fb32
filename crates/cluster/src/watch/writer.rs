//! The one task that owns a cluster's index: applies a batch of updates, then publishes one snapshot.
//!
//! ```text
//! sources ──→ Update ──→ quarantine ──→ Index ──→ Snapshot ──→ queries
//!    ↑                       ↑            │ panics
//!    │                       └────────────┤ on an object: it is quarantined, the tables are rebuilt from the others
//!    └────── every kind is relisted ──────┘ elsewhere: this task restarts with an empty index
//! ```
//!
//! After a restart the writer publishes nothing before all kinds of the published snapshot were listed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use supervise::Panic;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout_at};

use super::log::{Level, log};
use super::measure::TriggerTime;
use super::memory::{TrimCounter, trim_heap};
use super::quarantine::{Quarantine, Version};
use super::shared::SharedState;
use crate::index::{Change, Index};
use crate::key::Key;
use crate::object::{Identity, Kind, Object, Pod};
use crate::snapshot::{Holder, Snapshot};

pub(super) const TASK: &str = "cluster-writer";

/// Capacity of the channel into the writer; sources wait when it is full.
const QUEUE_CAPACITY: usize = 1024;

/// Maximum number of updates per batch; the thread has other work too.
const BATCH_SIZE: usize = 256;

/// Minimum interval between snapshots during a list: nobody needs its thousands of changes one by one, and every snapshot
/// makes later changes copy the leaves they touch. Watch events are published at once, or with all that arrived while the
/// last snapshot was made.
const LIST_PUBLISH_INTERVAL: Duration = Duration::from_millis(100);

/// Delay before a heap trim: it takes milliseconds, so it is not done more often than this.
const TRIM_DELAY: Duration = Duration::from_secs(1);

/// A message from a source to the writer.
#[derive(Debug)]
pub(crate) enum Update {
    Change {
        change: Change,
        /// The version of the object, if the change is about one.
        version: Version,
        /// When the controller began the change of an EndpointSlice, for the programming-latency metric.
        trigger_time: Option<TriggerTime>,
    },
    /// A terminating pod in a list: kept if already indexed, never added.
    TerminatingPod(Pod, Version),
    /// A list was aborted; objects it delivered stay.
    ListAborted(Kind),
    /// The source does not have the kind.
    KindAbsent(Kind),
    /// An object made its reflector panic and was skipped.
    ObjectPanicked(Identity, Panic),
}

impl From<Change> for Update {
    fn from(change: Change) -> Self {
        Update::Change { change, version: Version::default(), trigger_time: None }
    }
}

/// State that survives a restart of the task.
struct RestartState {
    updates: mpsc::Receiver<Update>,
    quarantine: Quarantine,
}

pub(crate) fn channel() -> (mpsc::Sender<Update>, mpsc::Receiver<Update>) {
    mpsc::channel(QUEUE_CAPACITY)
}

/// The task, as a factory: supervision calls it again after a panic. The task ends when all sources have ended.
pub(super) fn task(
    updates: mpsc::Receiver<Update>,
    shared: &Arc<SharedState>,
) -> impl FnMut() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + use<> {
    let state = Arc::new(Mutex::new(RestartState { updates, quarantine: Quarantine::default() }));
    let shared = Arc::clone(shared);
    let mut started_before = false;
    move || {
        let (state, shared) = (Arc::clone(&state), Arc::clone(&shared));
        let restarted = std::mem::replace(&mut started_before, true);
        Box::pin(async move {
            let mut state = state.lock().await;
            run(&mut state, Writer::new(&shared, restarted)).await;
        })
    }
}

async fn run(state: &mut RestartState, mut writer: Writer<'_>) {
    let mut batch = Vec::with_capacity(BATCH_SIZE);
    loop {
        let more = state.updates.recv_many(&mut batch, BATCH_SIZE);
        let received = match writer.next_deadline() {
            Some(at) => timeout_at(at, more).await.ok(),
            None => Some(more.await),
        };
        if received == Some(0) {
            return;
        }
        writer.apply_batch(&mut batch, &mut state.quarantine);
        let now = Instant::now();
        if writer.publish_at.is_some_and(|at| at <= now) {
            writer.publish(now);
        }
        if writer.trim_heap_at.is_some_and(|at| at <= now) {
            writer.trim_heap_at = None;
            trim_heap();
        }
    }
}

struct Writer<'s> {
    shared: &'s SharedState,
    index: Index,
    /// Bit set of the kinds that are being listed.
    listing: u32,
    /// Bit set of the kinds that must be relisted after a restart: changes before the start of that list have gaps.
    awaiting_list: u32,
    /// The published snapshot is of the lost index.
    rebuilding: bool,
    /// Trigger times of slices that the next snapshot is the first to contain, by Service.
    trigger_times: Vec<(Key, TriggerTime)>,
    trim_counter: TrimCounter,
    last_published: Option<Instant>,
    /// When the next snapshot is due; None while nothing changed.
    publish_at: Option<Instant>,
    /// When the next heap trim is due; None while little memory was freed.
    trim_heap_at: Option<Instant>,
}

impl<'s> Writer<'s> {
    fn new(shared: &'s SharedState, restarted: bool) -> Self {
        let mut awaiting_list = 0;
        if restarted {
            awaiting_list = shared.want.kinds.iter().fold(0, |bits, kind| bits | bit(*kind));
            shared.request_lists();
        }
        Self {
            shared,
            index: Index::with_serials_of(&shared.snapshot.load()),
            listing: 0,
            awaiting_list,
            rebuilding: restarted,
            trigger_times: Vec::new(),
            trim_counter: TrimCounter::default(),
            last_published: None,
            publish_at: None,
            trim_heap_at: None,
        }
    }

    /// When to publish or trim even if no update arrives.
    fn next_deadline(&self) -> Option<Instant> {
        self.publish_at.into_iter().chain(self.trim_heap_at).min()
    }

    fn publish(&mut self, now: Instant) {
        self.publish_at = None;
        if self.is_behind() {
            return;
        }
        let snapshot = self.index.snapshot();
        self.shared.publish(&snapshot);
        self.trigger_times.drain(..).for_each(|(service, when)| when.observe(&snapshot, &service));
        self.last_published = Some(now);
        self.rebuilding = false;
        if let Some(elapsed) = self.shared.mark_index_rebuilt() {
            let source = &self.shared.source;
            log(Level::Info, &format!("{source}: rebuilt the index in {:.1}s", elapsed.as_secs_f64()));
        }
    }

    /// Whether the published snapshot has objects that the rebuilt index may still lack: it must not be replaced.
    fn is_behind(&self) -> bool {
        let published = self.shared.snapshot.load();
        let has = |kind| published.has_synced(kind) || published.count(kind) > 0;
        let mut kinds = self.shared.want.kinds.iter();
        self.rebuilding && kinds.any(|kind| has(*kind) && !self.index.has_synced(*kind))
    }

    fn apply_batch(&mut self, batch: &mut Vec<Update>, quarantine: &mut Quarantine) {
        let mut changed = false;
        let unix_now = unix_now();
        for update in batch.drain(..) {
            changed |= self.apply_update(update, quarantine, unix_now);
        }
        self.shared.set_quarantined(quarantine.len());
        let now = Instant::now();
        if changed || self.publish_at.is_some() {
            let since = self.last_published.filter(|_| self.listing != 0);
            self.publish_at = Some(since.map_or(now, |published| published + LIST_PUBLISH_INTERVAL));
        }
        if self.listing == 0 && self.trim_counter.take_due() {
            self.trim_heap_at.get_or_insert(now + TRIM_DELAY);
        }
    }

    /// Returns whether the next snapshot differs.
    fn apply_update(&mut self, update: Update, quarantine: &mut Quarantine, now: u32) -> bool {
        match update {
            Update::Change { change, version, trigger_time } => {
                let trigger = trigger_time.and_then(|when| Some((service_of(&change)?, when)));
                let changed = self.apply(change, version, quarantine, now);
                self.trigger_times.extend(trigger.filter(|_| changed));
                changed
            }
            Update::TerminatingPod(pod, version) if self.is_served(&pod) => {
                self.apply(Change::Apply(Object::Pod(pod)), version, quarantine, now)
            }
            Update::TerminatingPod(..) => false,
            Update::ListAborted(kind) => {
                self.listing &= !bit(kind);
                false
            }
            Update::KindAbsent(kind) if self.awaiting_list & bit(kind) != 0 => {
                self.awaiting_list &= !bit(kind);
                // If it was published before, the server has removed the kind: an empty list.
                self.shared.snapshot.load().has_synced(kind) && {
                    self.index.apply(Change::ListBegins(kind), now);
                    self.index.apply(Change::ListEnds(kind), now)
                }
            }
            Update::KindAbsent(_) => false,
            Update::ObjectPanicked(identity, panic) => {
                self.quarantine_object(&identity, None, &panic, quarantine);
                self.index.mark_listed(&identity);
                false
            }
        }
    }

    fn apply(&mut self, change: Change, version: Version, quarantine: &mut Quarantine, now: u32) -> bool {
        let is_awaited = self.awaiting_list & bit(change.kind()) != 0;
        let changed = match change {
            Change::ListBegins(kind) => {
                self.awaiting_list &= !bit(kind);
                self.listing |= bit(kind);
                quarantine.list_begins(kind);
                self.index.apply(change, now)
            }
            _ if is_awaited => false,
            Change::ListEnds(kind) => {
                self.listing &= !bit(kind);
                self.trim_counter.count_list();
                quarantine.list_ends(kind);
                self.index.apply(change, now)
            }
            Change::Apply(ref object) => {
                let identity = object.identity();
                #[cfg(test)]
                crate::poison::panic_if_object_poisoned(crate::poison::IN_WRITER, object);
                if quarantine.skips(&identity, version) {
                    self.index.mark_listed(&identity);
                    return false;
                }
                let done = self.apply_caught(change, &identity, Some(version), quarantine, now);
                if done.is_some() && quarantine.remove(&identity) {
                    log(Level::Info, &format!("{}: released {identity} from quarantine", self.shared.source));
                }
                done.unwrap_or(true)
            }
            Change::Delete(ref object) => {
                let identity = object.identity();
                quarantine.remove(&identity);
                self.apply_caught(change, &identity, None, quarantine, now).unwrap_or(true)
            }
        };
        if changed {
            self.trim_counter.count_change();
        }
        changed
    }

    /// Applies the change of an object. Returns None after a panic: then the object is quarantined, unless it was deleted,
    /// and the index has its published version.
    fn apply_caught(
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
        let source = &self.shared.source;
        match version {
            Some(_) => self.quarantine_object(identity, version, &panic, quarantine),
            None => log(
                Level::Error,
                &format!("{source}: cannot remove {identity} from the index, rebuilding it: {panic}"),
            ),
        }
        self.index.rebuild_without(identity, now);
        if let (Some(_), Some(last)) = (version, self.shared.snapshot.load().object(identity))
            && supervise::catch(TASK, || self.index.apply(Change::Apply(last), now)).is_err()
        {
            self.index.rebuild_without(identity, now);
        }
        None
    }

    fn quarantine_object(
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

    /// Whether the index has the pod, or the published snapshot while the index is being rebuilt.
    fn is_served(&self, pod: &Pod) -> bool {
        has_pod(&self.index.snapshot(), pod) || self.is_behind() && has_pod(&self.shared.snapshot.load(), pod)
    }
}

/// The index is lost with the writer, and the published snapshot becomes stale.
impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.shared.mark_index_lost();
    }
}

fn bit(kind: Kind) -> u32 {
    1 << kind as u32
}

/// The Service of a changed slice.
fn service_of(change: &Change) -> Option<Key> {
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
