//! Watched clusters: their sources, handles and staleness.

mod collect;
mod live;
mod log;
mod measure;
mod memory;
mod quarantine;
mod shared;
mod status;
mod unlisted;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::api::Limits;
use crate::object::Kind;
use crate::snapshot::Snapshot;
use crate::want::Want;
use crate::{api, manifests};

pub(crate) use log::log;
pub use log::{Level, set_logger};
pub use measure::register_metrics;
pub(crate) use measure::{EventCounters, TriggerTime, observe_request};
pub use memory::set_heap_trim;
pub(crate) use quarantine::Version;
pub(crate) use shared::SharedState;
pub(crate) use status::{LostOnDrop, WatchStatus};
pub use unlisted::Unlisted;
pub(crate) use writer::Update;

/// Where a cluster is read from. Equal sources are one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The service account of the pod this runs in.
    InCluster,
    Kubeconfig {
        file: PathBuf,
        context: Option<String>,
    },
    /// The URL of an API server, with an optional client certificate.
    Endpoint {
        url: String,
        tls: Option<Tls>,
    },
    /// A folder of YAML and JSON files.
    Manifests(PathBuf),
}

/// Files of the option `tls`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
}

/// One cluster, watched from [`watch`] until the last handle is dropped.
pub struct Cluster {
    pub(crate) shared: Arc<SharedState>,
    statuses: Vec<Arc<WatchStatus>>,
    tasks: Vec<AbortHandle>,
}

/// How long the data of a cluster may have been outdated, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Time since the data were last known to be current.
    pub age: Duration,
    /// `services: connection refused`
    pub reason: String,
}

/// Watches a cluster, on the current tokio runtime. A process has one watch per kind, source and want: a second call
/// returns the same cluster while a handle of the first lives, so a reload with an unchanged want keeps its data.
///
/// Fails only on permanent errors: an unreadable kubeconfig, no service account. An unreachable server is retried.
pub fn watch(source: &Source, want: &Want) -> Result<Arc<Cluster>, WatchError> {
    let runtime = Handle::try_current().map_err(|_| {
        WatchError(format!("{source}: a watch needs a tokio runtime, and the caller runs on none"))
    })?;
    live::get_or_start(source, want, || start(source, want, Limits::default(), &runtime).map(Arc::new))
}

/// Why a cluster cannot be watched: names the file and the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchError(pub String);

pub(crate) fn start(
    source: &Source,
    want: &Want,
    limits: Limits,
    runtime: &Handle,
) -> Result<Cluster, WatchError> {
    let shared = Arc::new(SharedState::new(source.clone(), want.clone()));
    let name = source.to_string();
    let statuses: Vec<Arc<WatchStatus>> =
        want.kinds.iter().map(|kind| Arc::new(WatchStatus::new(&name, *kind))).collect();
    let (updates, receiver) = writer::channel();
    let mut tasks = match source {
        Source::Manifests(folder) => vec![manifests::start(folder, &shared, &statuses, updates, runtime)?],
        Source::InCluster | Source::Kubeconfig { .. } | Source::Endpoint { .. } => {
            api::start(&shared, &statuses, &updates, limits, runtime)?
        }
    };
    tasks.push(supervise::spawn(runtime, writer::TASK, writer::task(receiver, &shared)));
    Ok(Cluster { shared, statuses, tasks })
}

impl Cluster {
    /// A cluster with the source task that `start` spawns, for tests of a source.
    #[cfg(test)]
    pub(crate) fn with(
        shared: &Arc<SharedState>,
        runtime: &Handle,
        start: impl FnOnce(&[Arc<WatchStatus>], tokio::sync::mpsc::Sender<Update>) -> AbortHandle,
    ) -> Self {
        let name = shared.source.to_string();
        let statuses: Vec<_> =
            shared.want.kinds.iter().map(|kind| Arc::new(WatchStatus::new(&name, *kind))).collect();
        let (updates, receiver) = writer::channel();
        let source = start(&statuses, updates);
        let writer = supervise::spawn(runtime, writer::TASK, writer::task(receiver, shared));
        Self { shared: Arc::clone(shared), statuses, tasks: vec![source, writer] }
    }

    /// The current snapshot. One atomic load.
    pub fn snapshot(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.shared.snapshot.load()
    }

    /// Every wanted kind was listed completely at least once.
    pub fn has_synced(&self) -> bool {
        let snapshot = self.snapshot();
        self.shared.want.kinds.iter().all(|kind| snapshot.has_synced(*kind))
    }

    /// The kinds that `snapshot` has no complete list of, and why.
    pub fn unlisted(&self, snapshot: &Snapshot) -> Vec<(Kind, Unlisted)> {
        let statuses = self.statuses.iter().filter(|status| !snapshot.has_synced(status.kind()));
        statuses.map(|status| (status.kind(), status.unlisted())).collect()
    }

    /// The URL of the API server or the path of the folder.
    pub fn address(&self) -> String {
        self.shared.server.get().cloned().unwrap_or_else(|| self.shared.source.to_string())
    }

    /// The staleness of the kind that is outdated longest; None while all watches are connected, none is silent for too
    /// long, and the index publishes what they deliver.
    pub fn stale(&self) -> Option<Staleness> {
        let watches = self.statuses.iter().filter_map(|status| status.staleness());
        watches.chain(self.shared.index_staleness()).max_by_key(|stale| stale.age)
    }

    /// Number of quarantined objects: their current version makes the code panic and is not served.
    pub fn quarantined(&self) -> usize {
        self.shared.quarantined()
    }

    /// The age of [`Cluster::stale`], or zero.
    pub fn staleness(&self) -> Duration {
        self.stale().map_or(Duration::ZERO, |stale| stale.age)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// As in logs and the metric label `source`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::InCluster => f.write_str("in-cluster"),
            Source::Kubeconfig { file, context: None } => write!(f, "{}", file.display()),
            Source::Kubeconfig { file, context: Some(context) } => write!(f, "{}:{context}", file.display()),
            Source::Endpoint { url, .. } => f.write_str(url),
            Source::Manifests(folder) => write!(f, "{}", folder.display()),
        }
    }
}

/// `stale for 42s: services: connection refused`
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stale for {}s: {}", self.age.as_secs(), self.reason)
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WatchError {}
