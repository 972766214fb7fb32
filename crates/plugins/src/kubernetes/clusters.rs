//! The clusters of a configuration. Blocks with the same source share one watch: their needs are joined while the
//! Corefile is read, and the watch starts before the configuration serves.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cluster::{Cluster, SelectorNumbers, Source, Want, WatchError};
use server::runtime;

use super::LOG;

/// Interval of the check whether a cluster is synced.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Interval of the log line while startup waits.
const LOG_INTERVAL: Duration = Duration::from_millis(500);

/// All clusters of one configuration.
#[derive(Default)]
pub(super) struct Clusters {
    all: Mutex<Vec<Arc<WatchedCluster>>>,
    started: OnceLock<Instant>,
}

/// A cluster and its watch, once started.
pub(super) struct WatchedCluster {
    source: Source,
    want: Mutex<Want>,
    cluster: OnceLock<Result<Arc<Cluster>, WatchError>>,
}

impl Clusters {
    pub fn get(&self, source: &Source) -> Arc<WatchedCluster> {
        let mut all = lock(&self.all);
        if let Some(known) = all.iter().find(|watched| watched.source == *source) {
            return Arc::clone(known);
        }
        let want = Mutex::new(Want::default());
        let watched = Arc::new(WatchedCluster { source: source.clone(), want, cluster: OnceLock::new() });
        all.push(Arc::clone(&watched));
        watched
    }

    /// Starts all watches, so that startup waits for them together. Returns the time of the first call.
    pub fn start_all(&self) -> Instant {
        *self.started.get_or_init(|| {
            for watched in lock(&self.all).iter() {
                // `WatchedCluster::start` returns the error again to each block that uses it.
                let _ = watched.start();
            }
            Instant::now()
        })
    }

    /// Time since the watches started.
    pub fn since_start(&self) -> Duration {
        self.started.get().map(Instant::elapsed).unwrap_or_default()
    }
}

impl WatchedCluster {
    /// Adds the needs of a block to the watch. None if there are too many different selectors.
    pub fn join(&self, want: &Want) -> Option<SelectorNumbers> {
        lock(&self.want).join(want)
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Starts the watch, once.
    pub fn start(&self) -> Result<&Arc<Cluster>, &WatchError> {
        let watch = || {
            let _entered = runtime::handle().enter();
            cluster::watch(&self.source, &lock(&self.want))
        };
        self.cluster.get_or_init(watch).as_ref()
    }

    /// The cluster, if its watch has started.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.get().and_then(|cluster| cluster.as_ref().ok())
    }
}

/// Waits until the cluster is synced or the deadline has passed.
pub(super) fn wait_until(deadline: Instant, is_synced: impl Fn() -> bool) {
    let mut log_at = Instant::now() + LOG_INTERVAL;
    while !is_synced() {
        let now = Instant::now();
        let Some(left) = deadline.checked_duration_since(now).filter(|left| !left.is_zero()) else {
            LOG.warning("starting server with unsynced Kubernetes API");
            return;
        };
        if now >= log_at {
            LOG.info("waiting for Kubernetes API before starting server");
            log_at += LOG_INTERVAL;
        }
        std::thread::sleep(POLL_INTERVAL.min(left));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
