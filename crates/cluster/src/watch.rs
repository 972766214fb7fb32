//! A cluster that is watched, and the clusters a process watches.

mod collect;
mod line;
mod live;
mod log;
mod measure;
mod memory;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::api::Limits;
use crate::index::Index;
use crate::snapshot::Snapshot;
use crate::want::Want;
use crate::{api, manifests};

pub(crate) use line::Line;
pub(crate) use log::log;
pub use log::{Level, set_logger};
pub use measure::register_metrics;
pub(crate) use measure::{Events, Triggered, requested};
pub use memory::set_give_back;
pub(crate) use writer::News;

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
    shared: Arc<Shared>,
    lines: Vec<Arc<Line>>,
    tasks: Vec<AbortHandle>,
}

/// What the tasks of a cluster share with its handles.
pub(crate) struct Shared {
    pub(crate) source: Source,
    pub(crate) want: Want,
    pub(crate) snapshot: ArcSwap<Snapshot>,
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
    let shared = Arc::new(Shared {
        source: source.clone(),
        want: want.clone(),
        snapshot: ArcSwap::new(Index::new().snapshot()),
    });
    let name = source.to_string();
    let lines: Vec<Arc<Line>> = want.kinds.iter().map(|kind| Arc::new(Line::new(&name, *kind))).collect();
    let (news, waiting) = writer::channel();
    let mut tasks = match source {
        Source::Manifests(folder) => vec![manifests::start(folder, &shared, &lines, news, runtime)?],
        Source::InCluster | Source::Kubeconfig { .. } | Source::Endpoint { .. } => {
            api::start(&shared, &lines, &news, limits, runtime)?
        }
    };
    tasks.push(runtime.spawn(writer::run(waiting, Arc::clone(&shared))).abort_handle());
    Ok(Cluster { shared, lines, tasks })
}

impl Cluster {
    /// What is known now. One atomic load.
    pub fn snapshot(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.shared.snapshot.load()
    }

    /// Everything wanted was listed whole once.
    pub fn has_synced(&self) -> bool {
        let snapshot = self.snapshot();
        self.shared.want.kinds.iter().all(|kind| snapshot.has_synced(*kind))
    }

    /// How long the source has not been heard from, by the watch that heard last the longest ago; zero while all
    /// watches are connected and none is silent for longer than it should be.
    pub fn staleness(&self) -> Duration {
        self.lines.iter().map(|line| line.staleness()).max().unwrap_or_default()
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

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WatchError {}
