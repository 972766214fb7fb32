//! The one task that owns a cluster's index: takes whatever is waiting, then publishes one snapshot.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::Shared;
use super::measure::Triggered;
use super::memory::{Freed, give_back};
use crate::index::{Change, Index};
use crate::key::Key;
use crate::object::{Kind, Object, Pod};
use crate::snapshot::{Holder, Snapshot};

/// How much may wait for the writer; a source that is faster waits for it.
const WAITING: usize = 1024;

/// How much is taken in at once; the thread has other work too.
const BATCH: usize = 256;

/// Each snapshot makes the next changes copy what they touch, so snapshots are not made more often than this.
const BETWEEN: Duration = Duration::from_millis(1);

/// The same while a kind is listed: thousands of changes, of which each alone interests nobody.
const BETWEEN_IN_LIST: Duration = Duration::from_millis(20);

/// Giving memory back takes milliseconds, so it is not done more often than this.
const BEFORE_GIVING_BACK: Duration = Duration::from_secs(1);

/// As good as.
const FOREVER: Duration = Duration::from_secs(86_400);

/// Something that a source tells the writer.
#[derive(Debug)]
pub(crate) enum News {
    Change(Change),
    /// A change of a slice, and what the controller that made it says of when.
    Slice(Change, Triggered),
    /// A pod on its way out is in a list. It stays if it was known, but is not made known.
    Terminating(Pod),
    /// A list that has begun will not end. What it showed stays.
    ListGivenUp(Kind),
}

impl From<Change> for News {
    fn from(change: Change) -> Self {
        News::Change(change)
    }
}

pub(crate) fn channel() -> (mpsc::Sender<News>, mpsc::Receiver<News>) {
    mpsc::channel(WAITING)
}

/// Runs until all sources have hung up.
pub(crate) async fn run(mut news: mpsc::Receiver<News>, shared: Arc<Shared>) {
    let mut writer = Writer { index: Index::new(), lists: 0, triggered: Vec::new(), freed: Freed::default() };
    let mut batch = Vec::with_capacity(BATCH);
    let mut published: Option<Instant> = None;
    // When freed memory is given back; none while there is little.
    let mut give_back_at: Option<Instant> = None;
    loop {
        let waits_until = give_back_at.unwrap_or_else(|| Instant::now() + FOREVER);
        match timeout_at(waits_until, news.recv_many(&mut batch, BATCH)).await {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => {
                give_back();
                give_back_at = None;
                continue;
            }
        }
        let mut changed = writer.take(&mut batch);
        // Not entered when it was quiet: the last snapshot is older than the pause then.
        while let Some(due) = published.map(|at| at + writer.between())
            && Instant::now() < due
            && let Ok(n) = timeout_at(due, news.recv_many(&mut batch, BATCH)).await
            && n > 0
        {
            changed |= writer.take(&mut batch);
        }
        if changed {
            let snapshot = writer.index.snapshot();
            shared.snapshot.store(Arc::clone(&snapshot));
            writer.triggered.drain(..).for_each(|(service, when)| when.served(&snapshot, &service));
            published = Some(Instant::now());
        }
        if writer.lists == 0 && writer.freed.is_much() {
            give_back_at.get_or_insert(Instant::now() + BEFORE_GIVING_BACK);
        }
        if give_back_at.is_some_and(|at| at <= Instant::now()) {
            give_back();
            give_back_at = None;
        }
    }
}

struct Writer {
    index: Index,
    /// A bit for each kind that is being listed.
    lists: u32,
    /// Slices that the next snapshot serves first.
    triggered: Vec<(Key, Triggered)>,
    freed: Freed,
}

impl Writer {
    /// How long the next snapshot may wait; the end of the last list is waited for.
    fn between(&self) -> Duration {
        if self.lists == 0 { BETWEEN } else { BETWEEN_IN_LIST }
    }

    fn take(&mut self, batch: &mut Vec<News>) -> bool {
        let now = unix_now();
        let mut changed = false;
        for news in batch.drain(..) {
            let mut triggered = None;
            let change = match news {
                News::Change(change) => change,
                News::Slice(change, when) => {
                    triggered = service(&change).map(|service| (service, when));
                    change
                }
                News::Terminating(pod) if is_known(&self.index.snapshot(), &pod) => {
                    Change::Apply(Object::Pod(pod))
                }
                News::Terminating(_) => continue,
                News::ListGivenUp(kind) => {
                    self.lists &= !bit(kind);
                    continue;
                }
            };
            match change {
                Change::ListBegins(kind) => self.lists |= bit(kind),
                Change::ListEnds(kind) => {
                    self.lists &= !bit(kind);
                    self.freed.list();
                }
                _ => {}
            }
            if self.index.apply(change, now) {
                changed = true;
                self.freed.change();
                self.triggered.extend(triggered);
            }
        }
        changed
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

fn is_known(snapshot: &Snapshot, pod: &Pod) -> bool {
    let mut holders = pod.ips.iter().flat_map(|ip| snapshot.holders(*ip));
    holders.any(|holder| matches!(holder, Holder::Pod(known) if known.key == pod.key))
}

fn unix_now() -> u32 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u32::try_from(now.as_secs()).unwrap_or(u32::MAX)
}
