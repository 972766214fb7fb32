//! The consumer that owns a cluster's index: applies a batch of events, then publishes one snapshot.
//!
//! ```text
//! kube_api ──→ event ──→ quarantine ──→ Index ──→ Snapshot ──→ queries
//!    ↑                       ↑            │ panics
//!    │                       └────────────┤ on an object: it is quarantined, the tables are rebuilt from the others
//!    └────── every kind is relisted ──────┘ elsewhere: the writer restarts with an empty index
//! ```
//!
//! After a restart the writer publishes nothing before all kinds of the published snapshot were listed.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use kube_api::{Availability, Consumer, Level, ObjectName, Occasion, Subscriber, Version, log};
use supervise::Panic;
use tokio::time::Instant;

use super::measure::TriggerTime;
use super::memory::{TrimCounter, trim_heap};
use super::quarantine::Quarantine;
use super::shared::SharedState;
use crate::convert::Source;
use crate::index::{Change, Index};
use crate::key::Key;
use crate::object::{Identity, Kind, Object, Pod};
use crate::snapshot::{Holder, Snapshot};

/// The task of `kube_api` that calls the writer.
const TASK: &str = "cluster-writer";

/// Minimum interval between snapshots during a list: nobody needs its thousands of changes one by one, and every snapshot
/// makes later changes copy the leaves they touch. Watch events are published at once, or with all that arrived while the
/// last snapshot was made.
const LIST_PUBLISH_INTERVAL: Duration = Duration::from_millis(100);

/// Delay before a heap trim: it takes milliseconds, so it is not done more often than this.
const TRIM_DELAY: Duration = Duration::from_secs(1);

pub(crate) struct Writer {
    shared: Arc<SharedState>,
    index: Index,
    quarantine: Quarantine,
    /// Bit set of the kinds that are being listed.
    listing: u32,
    /// The published snapshot is of the lost index.
    rebuilding: bool,
    /// The next snapshot differs from the published one.
    changed: bool,
    /// Trigger times of slices that the next snapshot is the first to contain, by Service.
    trigger_times: Vec<(Key, TriggerTime)>,
    trim_counter: TrimCounter,
    last_published: Option<Instant>,
    /// When the next snapshot is due; None while nothing changed.
    publish_at: Option<Instant>,
    /// When the next heap trim is due; None while little memory was freed.
    trim_heap_at: Option<Instant>,
}

impl<T: Source> Consumer<T> for Writer {
    fn list_begins(&mut self) {
        self.listing |= bit(T::KIND);
        self.quarantine.list_begins(T::KIND);
        self.changed |= self.index.apply(Change::ListBegins(T::KIND), unix_now());
    }

    fn apply(&mut self, object: &T, version: Version, occasion: Occasion) {
        let terminating = object.is_terminating();
        if terminating && occasion == Occasion::Event || self.is_skipped(object, version) {
            return;
        }
        match supervise::catch(TASK, || object.to_object(&self.shared.want)) {
            // A terminating pod in a list is kept if already indexed, never added.
            Ok(Some(Object::Pod(pod))) if terminating && !self.is_served(&pod) => {}
            Ok(Some(converted)) => {
                let trigger_time = object.trigger_time().filter(|_| occasion == Occasion::Event);
                self.apply_object(converted, version, trigger_time);
            }
            // Its name is invalid.
            Ok(None) => {}
            Err(panic) => {
                if let Some(identity) = object.identity() {
                    self.quarantine_object(&identity, Some(version), &panic);
                    self.index.mark_listed(&identity);
                }
            }
        }
    }

    fn delete(&mut self, object: &T) {
        let Some(identity) = object.identity() else { return };
        self.quarantine.remove(&identity);
        let now = unix_now();
        let changed = match supervise::catch(TASK, || object.to_object(&self.shared.want)) {
            Ok(Some(converted)) => {
                self.apply_caught(Change::Delete(converted), &identity, None, now).unwrap_or(true)
            }
            Ok(None) => false,
            Err(_) => {
                self.index.rebuild_without(&identity, now);
                true
            }
        };
        self.count(changed);
    }

    fn list_ends(&mut self) {
        self.listing &= !bit(T::KIND);
        self.trim_counter.count_list();
        self.quarantine.list_ends(T::KIND);
        let changed = self.index.apply(Change::ListEnds(T::KIND), unix_now());
        self.count(changed);
    }

    fn list_aborted(&mut self) {
        self.listing &= !bit(T::KIND);
    }

    fn availability(&mut self, availability: &Availability) {
        let is_absent = matches!(availability, Availability::Absent { .. });
        let was_listed = self.shared.snapshot.load().has_synced(T::KIND) && !self.index.has_synced(T::KIND);
        // The server has removed the kind while the index is rebuilt: an empty list.
        if is_absent && self.rebuilding && was_listed {
            self.index.apply(Change::ListBegins(T::KIND), unix_now());
            self.changed |= self.index.apply(Change::ListEnds(T::KIND), unix_now());
        }
    }

    fn undecodable(&mut self, name: &ObjectName, panic: &Panic) {
        if let Some(identity) = Identity::new(T::KIND, &name.namespace, &name.name) {
            self.quarantine_object(&identity, None, panic);
            self.index.mark_listed(&identity);
        }
    }
}

impl Subscriber for Writer {
    fn publish(&mut self, now: Instant) -> Option<Instant> {
        self.shared.set_quarantined(self.quarantine.len());
        if std::mem::take(&mut self.changed) || self.publish_at.is_some() {
            let since = self.last_published.filter(|_| self.listing != 0);
            self.publish_at = Some(since.map_or(now, |published| published + LIST_PUBLISH_INTERVAL));
        }
        if self.listing == 0 && self.trim_counter.take_due() {
            self.trim_heap_at.get_or_insert(now + TRIM_DELAY);
        }
        if self.publish_at.is_some_and(|at| at <= now) {
            self.publish_snapshot(now);
        }
        if self.trim_heap_at.is_some_and(|at| at <= now) {
            self.trim_heap_at = None;
            trim_heap();
        }
        self.publish_at.into_iter().chain(self.trim_heap_at).min()
    }
}

impl Writer {
    /// `restarted`: the index of another writer was lost.
    pub(crate) fn new(shared: &Arc<SharedState>, restarted: bool) -> Self {
        let mut kept = shared.quarantine.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            shared: Arc::clone(shared),
            index: Index::with_serials_of(&shared.snapshot.load()),
            quarantine: std::mem::take(&mut *kept),
            listing: 0,
            rebuilding: restarted,
            changed: false,
            trigger_times: Vec::new(),
            trim_counter: TrimCounter::default(),
            last_published: None,
            publish_at: None,
            trim_heap_at: None,
        }
    }

    fn publish_snapshot(&mut self, now: Instant) {
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

    /// Whether this version is in quarantine.
    fn is_skipped(&mut self, object: &impl Source, version: Version) -> bool {
        if self.quarantine.len() == 0 {
            return false;
        }
        let identity = object.identity().filter(|identity| self.quarantine.skips(identity, version));
        identity.is_some_and(|identity| {
            self.index.mark_listed(&identity);
            true
        })
    }

    fn apply_object(&mut self, object: Object, version: Version, trigger_time: Option<TriggerTime>) {
        let identity = object.identity();
        #[cfg(test)]
        crate::poison::panic_if_object_poisoned(crate::poison::IN_WRITER, &object);
        let trigger = trigger_time.and_then(|when| Some((service_of(&object)?, when)));
        let done = self.apply_caught(Change::Apply(object), &identity, Some(version), unix_now());
        if done.is_some() && self.quarantine.remove(&identity) {
            log(Level::Info, &format!("{}: released {identity} from quarantine", self.shared.source));
        }
        let changed = done.unwrap_or(true);
        self.trigger_times.extend(trigger.filter(|_| changed));
        self.count(changed);
    }

    fn count(&mut self, changed: bool) {
        self.changed |= changed;
        if changed {
            self.trim_counter.count_change();
        }
    }

    /// Applies the change of an object. Returns None after a panic: then the object is quarantined, unless it was deleted,
    /// and the index has its published version.
    fn apply_caught(
        &mut self,
        change: Change,
        identity: &Identity,
        version: Option<Version>,
        now: u32,
    ) -> Option<bool> {
        let panic = match supervise::catch(TASK, || self.index.apply(change, now)) {
            Ok(changed) => return Some(changed),
            Err(panic) => panic,
        };
        let source = &self.shared.source;
        match version {
            Some(_) => self.quarantine_object(identity, version, &panic),
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

    fn quarantine_object(&mut self, identity: &Identity, version: Option<Version>, panic: &Panic) {
        if let Some(advice) = self.quarantine.put(identity, version) {
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

/// The index is lost with the writer, and the published snapshot becomes stale; the quarantine is kept for the next one.
impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.mark_index_lost();
        let quarantine = std::mem::take(&mut self.quarantine);
        *self.shared.quarantine.lock().unwrap_or_else(PoisonError::into_inner) = quarantine;
    }
}

fn bit(kind: Kind) -> u32 {
    1 << kind as u32
}

/// The Service of a slice.
fn service_of(object: &Object) -> Option<Key> {
    match object {
        Object::EndpointSlice(slice) => slice.service.clone(),
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
