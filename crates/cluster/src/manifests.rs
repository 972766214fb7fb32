//! A cluster that is read from a folder of manifests, as written for kubectl.
//!
//! ```text
//! folder ──→ document ──→ defaults ──→ convert ──→ Change
//! files and  YAML, JSON   as an API    slim
//! their      by kind      server sets  objects
//! changes                 them
//! ```
//!
//! - Files `*.yaml`, `*.yml` and `*.json` in the folder and in its direct sub-folders count; names that begin with a
//!   dot do not. Several documents in a file and `kind: List` are fine, and so are objects of other kinds.
//! - The folder is scanned every second. After a change all kinds are listed, so an object removed from a file is deleted.
//! - A file with an error keeps its previous objects. If it had none, its valid documents count.
//! - Anything but a regular file of limited size is skipped. A file system that hangs stops updates, nothing else.
//! - A namespace exists if an object is in it, so a folder with nothing but Services works. Objects without a namespace
//!   are in `default`.
//! - A Service of type ClusterIP without a cluster IP, which an API server would assign, has no address.

mod defaults;
mod document;
mod folder;
mod scanner;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::index::Change;
use crate::watch::{EventCounters, Level, LostOnDrop, SharedState, Update, WatchError, WatchStatus, log};
use folder::{Bounds, Folder};
use scanner::{ScanTimes, Scanner};

const TASK: &str = "cluster-manifests";

/// Watches the folder, which must exist now; later it may disappear and return.
pub(crate) fn start(
    path: &Path,
    shared: &Arc<SharedState>,
    statuses: &[Arc<WatchStatus>],
    updates: Sender<Update>,
    runtime: &Handle,
) -> Result<AbortHandle, WatchError> {
    scanner::probe(path).map_err(|e| WatchError(format!("{}: {e}", path.display())))?;
    let folder = Folder::new(path.to_owned(), Arc::clone(shared), Bounds::default());
    let scanner = move || Scanner::new(ScanTimes::default(), Folder::scan);
    Ok(start_with(folder, scanner, shared, statuses, updates, runtime))
}

fn start_with(
    folder: Folder,
    scanner: impl Fn() -> Scanner + Send + 'static,
    shared: &Arc<SharedState>,
    statuses: &[Arc<WatchStatus>],
    updates: Sender<Update>,
    runtime: &Handle,
) -> AbortHandle {
    // The folder survives a panic, so that a file with an error keeps its previous objects.
    let folder = Arc::new(Mutex::new(folder));
    let (shared, statuses) = (Arc::clone(shared), statuses.to_vec());
    supervise::spawn(runtime, TASK, move || {
        run(Arc::clone(&folder), scanner(), Arc::clone(&shared), statuses.clone(), updates.clone())
    })
}

/// Ends when the writer does.
async fn run(
    last_folder: Arc<Mutex<Folder>>,
    mut scanner: Scanner,
    shared: Arc<SharedState>,
    statuses: Vec<Arc<WatchStatus>>,
    updates: Sender<Update>,
) {
    let _lost = LostOnDrop(&statuses);
    let lock = || last_folder.lock().unwrap_or_else(PoisonError::into_inner);
    let mut folder = lock().clone();
    let mut list_requests = shared.list_requests();
    let mut sent = false;
    for status in &statuses {
        status.set_max_silence(scanner.times().stale_after * 2);
    }
    loop {
        let scanned = select! {
            scanned = scanner.next(&folder) => scanned,
            _ = list_requests.changed(), if sent => {
                if !send_lists(&folder, &statuses, &updates).await {
                    return;
                }
                continue;
            }
        };
        let scan = match scanned {
            Ok((scanned, scan)) => {
                folder = scanned;
                scan
            }
            Err(why) => {
                statuses.iter().for_each(|status| status.lost(&why));
                continue;
            }
        };
        scan.problems.iter().for_each(|problem| log(Level::Error, problem));
        *lock() = folder.clone();
        if scan.changed || !sent {
            if !send_lists(&folder, &statuses, &updates).await {
                return;
            }
            sent = true;
        }
        for status in &statuses {
            status.connected();
            status.received();
        }
    }
}

/// Sends a list of each kind to the writer. Returns false if the writer has ended.
async fn send_lists(folder: &Folder, statuses: &[Arc<WatchStatus>], updates: &Sender<Update>) -> bool {
    for status in statuses {
        let kind = status.kind();
        let events = EventCounters::new(status.source(), kind);
        events.listed.inc();
        let objects = folder.objects(kind).into_iter().map(|(object, version)| {
            events.applied.inc();
            Update::Change { change: Change::Apply(object), version, trigger_time: None }
        });
        let list = std::iter::once(Change::ListBegins(kind).into())
            .chain(objects)
            .chain([Change::ListEnds(kind).into()]);
        for update in list {
            if updates.send(update).await.is_err() {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests;
