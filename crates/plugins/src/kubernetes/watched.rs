//! The clusters of a configuration. Blocks that read the same one share its watch: what each wants is joined while
//! the Corefile is read, and the watch begins when the configuration is to serve.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cluster::{Cluster, SelectorNumbers, Source, Want, WatchError};
use server::runtime;

use super::LOG;

/// How often to look whether a cluster is known.
const POLL: Duration = Duration::from_millis(10);
/// How often to say that we wait.
const SAY: Duration = Duration::from_millis(500);

/// All clusters of one configuration.
#[derive(Default)]
pub(super) struct Clusters {
    all: Mutex<Vec<Arc<Watched>>>,
    began: OnceLock<Instant>,
}

/// A cluster, to be watched or watched already.
pub(super) struct Watched {
    source: Source,
    want: Mutex<Want>,
    cluster: OnceLock<Result<Arc<Cluster>, WatchError>>,
}

impl Clusters {
    pub fn get(&self, source: &Source) -> Arc<Watched> {
        let mut all = lock(&self.all);
        if let Some(known) = all.iter().find(|watched| watched.source == *source) {
            return Arc::clone(known);
        }
        let want = Mutex::new(Want::default());
        let watched = Arc::new(Watched { source: source.clone(), want, cluster: OnceLock::new() });
        all.push(Arc::clone(&watched));
        watched
    }

    /// Begins to watch all of them at once, so that they are waited for together. Tells when that was.
    pub fn begin(&self) -> Instant {
        *self.began.get_or_init(|| {
            for watched in lock(&self.all).iter() {
                // Who asks for this cluster gets the error.
                let _ = watched.begun();
            }
            Instant::now()
        })
    }

    /// How long ago the watches began.
    pub fn waited(&self) -> Duration {
        self.began.get().map(Instant::elapsed).unwrap_or_default()
    }
}

impl Watched {
    /// Has the watch cover what one more block wants. None if there are too many different selectors.
    pub fn join(&self, want: &Want) -> Option<SelectorNumbers> {
        lock(&self.want).join(want)
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The cluster, watched from now on.
    pub fn begun(&self) -> Result<&Arc<Cluster>, &WatchError> {
        let begin = || {
            let _entered = runtime::handle().enter();
            cluster::watch(&self.source, &lock(&self.want))
        };
        self.cluster.get_or_init(begin).as_ref()
    }

    /// The cluster, if it is watched.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.get().and_then(|cluster| cluster.as_ref().ok())
    }
}

/// Waits until all is known, or until it has taken too long.
pub(super) fn wait_until(deadline: Instant, is_synced: impl Fn() -> bool) {
    let mut say = Instant::now() + SAY;
    while !is_synced() {
        let now = Instant::now();
        let Some(left) = deadline.checked_duration_since(now).filter(|left| !left.is_zero()) else {
            LOG.warning("starting server with unsynced Kubernetes API");
            return;
        };
        if now >= say {
            LOG.info("waiting for Kubernetes API before starting server");
            say += SAY;
        }
        std::thread::sleep(POLL.min(left));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
