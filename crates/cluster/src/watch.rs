//! Watched clusters: their sources, handles and staleness.

mod collect;
mod live;
mod measure;
mod memory;
mod quarantine;
mod shared;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube_api::{
    AccessError, ApiServer, ClusterId, Delivery, Limits, Login, Scope, Subscription, WatchStatus,
};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::manifests;
use crate::message::{Namespace, Pod, Service, ServiceImport, TriggeredSlice};
use crate::object::Kind;
use crate::snapshot::Snapshot;
use crate::want::Want;

pub use kube_api::{Level, Staleness, Tls, Unlisted, set_logger};
pub(crate) use measure::TriggerTime;
pub use measure::register_metrics;
pub use memory::set_heap_trim;
pub(crate) use shared::SharedState;
pub(crate) use writer::Writer;

/// Excludes pods that have ended: they keep their addresses for a while, but have no DNS name.
const UNFINISHED_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed,status.phase!=Unknown";

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

/// One cluster, watched from [`watch`] until the last handle is dropped.
pub struct Cluster {
    pub(crate) shared: Arc<SharedState>,
    statuses: Vec<KindStatus>,
    _feeding: Feeding,
}

/// The watch of one kind.
pub(crate) type KindStatus = (Kind, Arc<WatchStatus>);

/// What feeds the index, until it is dropped.
pub(crate) enum Feeding {
    Api { _subscription: Subscription },
    Folder { _delivery: Delivery, scans: AbortHandle },
}

/// Watches a cluster, on the current tokio runtime. A process has one watch per kind, source and want: a second call
/// returns the same cluster while a handle of the first lives, so a reload with an unchanged want keeps its data.
///
/// Fails only on permanent errors: an unreadable kubeconfig, no service account. An unreachable server is retried.
pub fn watch(source: &Source, want: &Want) -> Result<Arc<Cluster>, WatchError> {
    let runtime = Handle::try_current().map_err(|_| {
        WatchError(format!("{source}: a watch needs a tokio runtime, and the caller runs on none"))
    })?;
    live::get_or_start(source, want, || start(source, want, None, &runtime).map(Arc::new))
}

/// Why a cluster cannot be watched: names the file and the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchError(pub String);

/// With `limits` the connection is not shared with other parts of the process.
pub(crate) fn start(
    source: &Source,
    want: &Want,
    limits: Option<Limits>,
    runtime: &Handle,
) -> Result<Cluster, WatchError> {
    let shared = Arc::new(SharedState::new(source.clone(), want.clone()));
    let login = match source {
        Source::InCluster => Login::InCluster,
        Source::Kubeconfig { file, context } => {
            Login::Kubeconfig { file: file.clone(), context: context.clone() }
        }
        Source::Endpoint { url, tls } => Login::Endpoint { url: url.clone(), tls: tls.clone() },
        Source::Manifests(folder) => {
            let (statuses, feeding) = manifests::start(folder, &shared, runtime)?;
            return Ok(Cluster { shared, statuses, _feeding: feeding });
        }
    };
    let id = ClusterId::new(&source.to_string());
    let server = match limits {
        Some(limits) => ApiServer::start(&id, login, limits, runtime),
        None => ApiServer::open(&id, login),
    };
    let server = server.map_err(|AccessError(why)| WatchError(why))?;
    shared.server.get_or_init(|| server.url().to_owned());
    let writer = Arc::clone(&shared);
    let mut subscribing = server.subscribe(move |restarted| Writer::new(&writer, restarted));
    for kind in &want.kinds {
        subscribing = match kind {
            Kind::Namespace => subscribing.to::<Namespace>(Scope::all()),
            Kind::Service => subscribing.to::<Service>(Scope::all()),
            Kind::EndpointSlice => subscribing.to::<TriggeredSlice>(Scope::all()),
            // Selected on arrival: a want does not tell whether another block needs all objects.
            Kind::Pod => subscribing.to::<Pod>(Scope::all().fields(UNFINISHED_PODS)),
            Kind::ServiceImport => subscribing.to::<ServiceImport>(Scope::all()),
        };
    }
    let subscription = subscribing.start();
    let statuses = want.kinds.iter().copied().zip(subscription.statuses().cloned()).collect();
    Ok(Cluster { shared, statuses, _feeding: Feeding::Api { _subscription: subscription } })
}

impl Cluster {
    /// A cluster with a source of its own, for tests of that.
    #[cfg(test)]
    pub(crate) fn with(shared: &Arc<SharedState>, (statuses, feeding): (Vec<KindStatus>, Feeding)) -> Self {
        Self { shared: Arc::clone(shared), statuses, _feeding: feeding }
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
        let unlisted = self.statuses.iter().filter(|(kind, _)| !snapshot.has_synced(*kind));
        unlisted.map(|(kind, status)| (*kind, status.unlisted())).collect()
    }

    /// The URL of the API server or the path of the folder.
    pub fn address(&self) -> String {
        self.shared.server.get().cloned().unwrap_or_else(|| self.shared.source.to_string())
    }

    /// The staleness of the kind that is outdated longest; None while all watches are connected, none is silent for too
    /// long, and the index publishes what they deliver.
    pub fn stale(&self) -> Option<Staleness> {
        let watches = self.statuses.iter().filter_map(|(_, status)| status.staleness());
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

impl Drop for Feeding {
    fn drop(&mut self) {
        if let Feeding::Folder { scans, .. } = self {
            scans.abort();
        }
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

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WatchError {}
