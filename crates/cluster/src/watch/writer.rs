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

/// How often there is a new snapshot while a kind is listed: thousands of changes, of which each alone interests nobody,
/// and each snapshot makes the next of them copy what they touch. What a watch tells is shown at once; if much comes, it
/// waits while a snapshot is made and is shown together.
const BETWEEN_IN_LIST: Duration = Duration::from_millis(100);

/// Giving memory back takes milliseconds, so it is not done more often than this.
const BEFORE_GIVING_BACK: Duration = Duration::from_secs(1);

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
    let mut writer = Writer::new();
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let more = news.recv_many(&mut batch, BATCH);
        let came = match writer.due() {
            Some(at) => timeout_at(at, more).await.ok(),
            None => Some(more.await),
        };
        if came == Some(0) {
            return;
        }
        writer.take(&mut batch);
        let now = Instant::now();
        if writer.show_at.is_some_and(|at| at <= now) {
            writer.show(&shared, now);
        }
        if writer.give_back_at.is_some_and(|at| at <= now) {
            writer.give_back_at = None;
            give_back();
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
    /// When the last snapshot was made.
    shown: Option<Instant>,
    /// When the next one is due; none while it would be the same.
    show_at: Option<Instant>,
    /// When freed memory is given back; none while there is little.
    give_back_at: Option<Instant>,
}

impl Writer {
    fn new() -> Self {
        Self {
            index: Index::new(),
            lists: 0,
            triggered: Vec::new(),
            freed: Freed::default(),
            shown: None,
            show_at: None,
            give_back_at: None,
        }
    }

    /// When there is something to do even if nothing comes.
    fn due(&self) -> Option<Instant> {
        self.show_at.into_iter().chain(self.give_back_at).min()
    }

    fn show(&mut self, shared: &Shared, now: Instant) {
        let snapshot = self.index.snapshot();
        shared.snapshot.store(Arc::clone(&snapshot));
        self.triggered.drain(..).for_each(|(service, when)| when.served(&snapshot, &service));
        self.shown = Some(now);
        self.show_at = None;
    }

    fn take(&mut self, batch: &mut Vec<News>) {
        let changed = self.apply(batch);
        let now = Instant::now();
        if changed || self.show_at.is_some() {
            let since = self.shown.filter(|_| self.lists != 0);
            self.show_at = Some(since.map_or(now, |shown| shown + BETWEEN_IN_LIST));
        }
        if self.lists == 0 && self.freed.is_much() {
            self.give_back_at.get_or_insert(now + BEFORE_GIVING_BACK);
        }
    }

    /// Whether a snapshot would show anything new.
    fn apply(&mut self, batch: &mut Vec<News>) -> bool {
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
