//! A cluster that is watched, and the clusters a process watches.

mod collect;
mod line;
mod live;
mod log;
mod measure;
mod memory;
mod quarantine;
mod shared;
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

pub(crate) use line::{Line, LostOnDrop};
pub(crate) use log::log;
pub use log::{Level, set_logger};
pub use measure::register_metrics;
pub(crate) use measure::{Events, Triggered, requested};
pub use memory::set_give_back;
pub(crate) use quarantine::Version;
pub(crate) use shared::Shared;
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
    /// The API server's address, with a client certificate perhaps.
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
    pub(crate) shared: Arc<Shared>,
    lines: Vec<Arc<Line>>,
    tasks: Vec<AbortHandle>,
}

/// Since when what is known of a cluster may be outdated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Counts from when it was last known to be current.
    pub age: Duration,
    /// `services: connection refused`
    pub reason: String,
}

/// Watches a cluster, on the current tokio runtime. A process has one watch per kind, source and want: asking again
/// while the first handle lives gives the same cluster, so a reload that wants the same keeps its data.
///
/// Fails only for what cannot get better by itself: a kubeconfig that cannot be read, no service account. A server
/// that does not answer is asked again and again.
pub fn watch(source: &Source, want: &Want) -> Result<Arc<Cluster>, WatchError> {
    let runtime = Handle::try_current().map_err(|_| {
        WatchError(format!("{source}: clusters are watched on a tokio runtime, and there is none"))
    })?;
    live::get_or_make(source, want, || start(source, want, Limits::default(), &runtime).map(Arc::new))
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
    let shared = Arc::new(Shared::new(source.clone(), want.clone()));
    let name = source.to_string();
    let lines: Vec<Arc<Line>> = want.kinds.iter().map(|kind| Arc::new(Line::new(&name, *kind))).collect();
    let (updates, waiting) = writer::channel();
    let mut tasks = match source {
        Source::Manifests(folder) => vec![manifests::start(folder, &shared, &lines, updates, runtime)?],
        Source::InCluster | Source::Kubeconfig { .. } | Source::Endpoint { .. } => {
            api::start(&shared, &lines, &updates, limits, runtime)?
        }
    };
    tasks.push(supervise::spawn(runtime, writer::TASK, writer::task(waiting, &shared)));
    Ok(Cluster { shared, lines, tasks })
}

impl Cluster {
    /// One that is fed by `start`, for tests of a source.
    #[cfg(test)]
    pub(crate) fn with(
        shared: &Arc<Shared>,
        runtime: &Handle,
        start: impl FnOnce(&[Arc<Line>], tokio::sync::mpsc::Sender<Update>) -> AbortHandle,
    ) -> Self {
        let name = shared.source.to_string();
        let lines: Vec<_> = shared.want.kinds.iter().map(|kind| Arc::new(Line::new(&name, *kind))).collect();
        let (updates, waiting) = writer::channel();
        let source = start(&lines, updates);
        let writer = supervise::spawn(runtime, writer::TASK, writer::task(waiting, shared));
        Self { shared: Arc::clone(shared), lines, tasks: vec![source, writer] }
    }

    /// What is known now. One atomic load.
    pub fn snapshot(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.shared.snapshot.load()
    }

    /// Everything wanted was listed whole once.
    pub fn has_synced(&self) -> bool {
        let snapshot = self.snapshot();
        self.shared.want.kinds.iter().all(|kind| snapshot.has_synced(*kind))
    }

    /// The kinds that were not listed completely before a snapshot, and why.
    pub fn unlisted(&self, snapshot: &Snapshot) -> Vec<(Kind, Unlisted)> {
        let lines = self.lines.iter().filter(|line| !snapshot.has_synced(line.kind()));
        lines.map(|line| (line.kind(), line.unlisted())).collect()
    }

    /// The URL of the API server or the path of the folder.
    pub fn address(&self) -> String {
        self.shared.server.get().cloned().unwrap_or_else(|| self.shared.source.to_string())
    }

    /// How long what is known may be outdated, and why, by the kind that is worst off; None while all watches are
    /// connected, none is silent for longer than it should be, and what they report is served.
    pub fn stale(&self) -> Option<Staleness> {
        let watches = self.lines.iter().filter_map(|line| line.staleness());
        watches.chain(self.shared.frozen()).max_by_key(|stale| stale.age)
    }

    /// How many objects are not served because they make the code panic.
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

/// As logs and metrics name it.
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
