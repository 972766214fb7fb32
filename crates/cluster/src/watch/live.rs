//! The clusters that are watched right now.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{Cluster, Source, WatchError};
use crate::want::Want;

static LIVE: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

struct Entry {
    source: Source,
    want: Want,
    cluster: Weak<Cluster>,
}

/// The cluster of this source and want; made by `make` if none is alive.
pub(super) fn get_or_make(
    source: &Source,
    want: &Want,
    make: impl FnOnce() -> Result<Arc<Cluster>, WatchError>,
) -> Result<Arc<Cluster>, WatchError> {
    let mut live = lock();
    live.retain(|entry| entry.cluster.strong_count() > 0);
    let same = live.iter().find(|entry| entry.source == *source && entry.want == *want);
    if let Some(cluster) = same.and_then(|entry| entry.cluster.upgrade()) {
        return Ok(cluster);
    }
    let cluster = make()?;
    live.push(Entry { source: source.clone(), want: want.clone(), cluster: Arc::downgrade(&cluster) });
    Ok(cluster)
}

pub(super) fn all() -> Vec<Arc<Cluster>> {
    lock().iter().filter_map(|entry| entry.cluster.upgrade()).collect()
}

fn lock() -> MutexGuard<'static, Vec<Entry>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}
