//! The clusters that this process watches now.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{Cluster, Source, WatchError};
use crate::want::Want;

static LIVE: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

struct Entry {
    source: Source,
    want: Want,
    cluster: Weak<Cluster>,
}

/// The live cluster of this source and want, or a new one from `start`.
pub(super) fn get_or_start(
    source: &Source,
    want: &Want,
    start: impl FnOnce() -> Result<Arc<Cluster>, WatchError>,
) -> Result<Arc<Cluster>, WatchError> {
    let mut live = lock();
    live.retain(|entry| entry.cluster.strong_count() > 0);
    let same = live.iter().find(|entry| entry.source == *source && entry.want == *want);
    if let Some(cluster) = same.and_then(|entry| entry.cluster.upgrade()) {
        return Ok(cluster);
    }
    let cluster = start()?;
    live.push(Entry { source: source.clone(), want: want.clone(), cluster: Arc::downgrade(&cluster) });
    Ok(cluster)
}

pub(super) fn all() -> Vec<Arc<Cluster>> {
    lock().iter().filter_map(|entry| entry.cluster.upgrade()).collect()
}

fn lock() -> MutexGuard<'static, Vec<Entry>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}
