//! State that the tasks of a cluster share with each other and with its handles.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use kube_api::Staleness;

use super::Source;
use super::quarantine::Quarantine;
use crate::index::Index;
use crate::snapshot::Snapshot;
use crate::want::Want;

pub(crate) struct SharedState {
    pub(crate) source: Source,
    pub(crate) want: Want,
    /// The URL of the API server, once credentials were loaded.
    pub(crate) server: OnceLock<String>,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// When the index was lost; nothing is published until it is rebuilt.
    index_lost_at: Mutex<Option<Instant>>,
    quarantined: AtomicUsize,
    /// The quarantine of a writer that has ended, for the next one.
    pub(super) quarantine: Mutex<Quarantine>,
    /// All published snapshots.
    #[cfg(test)]
    pub(crate) history: Mutex<Vec<Arc<Snapshot>>>,
}

impl SharedState {
    pub(crate) fn new(source: Source, want: Want) -> Self {
        Self {
            source,
            want,
            server: OnceLock::new(),
            snapshot: ArcSwap::new(Index::new().snapshot()),
            index_lost_at: Mutex::new(None),
            quarantined: AtomicUsize::new(0),
            quarantine: Mutex::default(),
            #[cfg(test)]
            history: Mutex::default(),
        }
    }

    pub(super) fn publish(&self, snapshot: &Arc<Snapshot>) {
        self.snapshot.store(Arc::clone(snapshot));
        #[cfg(test)]
        self.history.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(snapshot));
    }

    /// The published snapshot stays and becomes stale.
    pub(super) fn mark_index_lost(&self) {
        self.lock().get_or_insert_with(Instant::now);
    }

    /// The published snapshot is that of the index again. Returns how long the index was lost.
    pub(super) fn mark_index_rebuilt(&self) -> Option<Duration> {
        self.lock().take().map(|since| since.elapsed())
    }

    pub(super) fn index_staleness(&self) -> Option<Staleness> {
        let age = (*self.lock())?.elapsed();
        Some(Staleness { age, reason: "rebuilding the index after a panic".to_owned() })
    }

    pub(super) fn quarantined(&self) -> usize {
        self.quarantined.load(Ordering::Relaxed)
    }

    pub(super) fn set_quarantined(&self, number: usize) {
        self.quarantined.store(number, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.index_lost_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
