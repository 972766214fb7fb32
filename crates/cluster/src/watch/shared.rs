//! What the tasks of a cluster share with each other and with its handles.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::{Source, Staleness};
use crate::index::Index;
use crate::snapshot::Snapshot;
use crate::want::Want;

pub(crate) struct Shared {
    pub(crate) source: Source,
    pub(crate) want: Want,
    /// The URL of the API server, once credentials for it were found.
    pub(crate) server: OnceLock<String>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// Changes when the writer has lost its index and needs a list of every kind.
    relist: watch::Sender<()>,
    /// Since when nothing is published because the index is gone.
    frozen: Mutex<Option<Instant>>,
    quarantined: AtomicUsize,
    /// Everything that was ever published.
    #[cfg(test)]
    pub(crate) history: Mutex<Vec<Arc<Snapshot>>>,
}

impl Shared {
    pub(crate) fn new(source: Source, want: Want) -> Self {
        Self {
            source,
            want,
            server: OnceLock::new(),
            snapshot: ArcSwap::new(Index::new().snapshot()),
            relist: watch::Sender::new(()),
            frozen: Mutex::new(None),
            quarantined: AtomicUsize::new(0),
            #[cfg(test)]
            history: Mutex::default(),
        }
    }

    pub(super) fn publish(&self, snapshot: &Arc<Snapshot>) {
        self.snapshot.store(Arc::clone(snapshot));
        #[cfg(test)]
        self.history.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(snapshot));
    }

    /// Asks every source for a list of every kind.
    pub(super) fn ask_for_lists(&self) {
        self.relist.send_modify(|()| {});
    }

    /// Sees when lists are asked for, from now on.
    pub(crate) fn lists_asked_for(&self) -> watch::Receiver<()> {
        self.relist.subscribe()
    }

    /// The index is gone; what is published stays as it is.
    pub(super) fn freeze(&self) {
        self.lock().get_or_insert_with(Instant::now);
    }

    /// The published snapshot is that of the index again. Returns how long it was not.
    pub(super) fn thaw(&self) -> Option<Duration> {
        self.lock().take().map(|since| since.elapsed())
    }

    pub(super) fn frozen(&self) -> Option<Staleness> {
        let age = (*self.lock())?.elapsed();
        Some(Staleness { age, reason: "the index is rebuilt after a panic".to_owned() })
    }

    pub(super) fn quarantined(&self) -> usize {
        self.quarantined.load(Ordering::Relaxed)
    }

    pub(super) fn set_quarantined(&self, number: usize) {
        self.quarantined.store(number, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.frozen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
