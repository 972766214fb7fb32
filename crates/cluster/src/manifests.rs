//! A cluster read from a folder of manifests: the files people write for kubectl.
//!
//! ```text
//! folder ──→ document ──→ defaults ──→ convert ──→ Change
//! files and  YAML, JSON   what an API  slim
//! when they  by kind      server fills objects
//! changed                 in
//! ```
//!
//! - Files `*.yaml`, `*.yml` and `*.json` in the folder and in its direct sub-folders count; names that begin with a
//!   dot do not. Several documents in a file and `kind: List` are fine, and so are objects of other kinds.
//! - The folder is looked at every second. A change becomes a list of everything, so what left a file is gone.
//! - A file with a mistake keeps what it said before it. If it said nothing before, its readable documents count.
//! - Whatever is not a regular file of a reasonable size is skipped, and a file system that hangs stops nothing but news.
//! - A namespace exists if an object is in it, so a folder with nothing but Services works. Objects that do not say
//!   a namespace are in `default`.
//! - A Service of type ClusterIP that says no cluster IP, which in a cluster would be given one, has no address.

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
use crate::watch::{Events, Level, Line, LostOnDrop, Shared, Update, WatchError, log};
use folder::{Bounds, Folder};
use scanner::{Scanner, Times};

const TASK: &str = "cluster-manifests";

/// Watches the folder, which must be there now; later it may come and go.
pub(crate) fn start(
    path: &Path,
    shared: &Arc<Shared>,
    lines: &[Arc<Line>],
    updates: Sender<Update>,
    runtime: &Handle,
) -> Result<AbortHandle, WatchError> {
    scanner::probe(path).map_err(|e| WatchError(format!("{}: {e}", path.display())))?;
    let folder = Folder::new(path.to_owned(), Arc::clone(shared), Bounds::default());
    let scanner = move || Scanner::new(Times::default(), Folder::scan);
    Ok(start_with(folder, scanner, shared, lines, updates, runtime))
}

fn start_with(
    folder: Folder,
    scanner: impl Fn() -> Scanner + Send + 'static,
    shared: &Arc<Shared>,
    lines: &[Arc<Line>],
    updates: Sender<Update>,
    runtime: &Handle,
) -> AbortHandle {
    // What was read outlasts a panic: a file with a mistake keeps what it said.
    let folder = Arc::new(Mutex::new(folder));
    let (shared, lines) = (Arc::clone(shared), lines.to_vec());
    supervise::spawn(runtime, TASK, move || {
        run(Arc::clone(&folder), scanner(), Arc::clone(&shared), lines.clone(), updates.clone())
    })
}

/// Ends when the writer does.
async fn run(
    kept: Arc<Mutex<Folder>>,
    mut scanner: Scanner,
    shared: Arc<Shared>,
    lines: Vec<Arc<Line>>,
    updates: Sender<Update>,
) {
    let _lost = LostOnDrop(&lines);
    let lock = || kept.lock().unwrap_or_else(PoisonError::into_inner);
    let mut folder = lock().clone();
    let mut lists_asked_for = shared.lists_asked_for();
    let mut told = false;
    for line in &lines {
        line.expect_every(scanner.times().late * 2);
    }
    loop {
        let scanned = select! {
            scanned = scanner.next(&folder) => scanned,
            _ = lists_asked_for.changed(), if told => {
                if !tell(&folder, &lines, &updates).await {
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
                lines.iter().for_each(|line| line.lost(&why));
                continue;
            }
        };
        scan.problems.iter().for_each(|problem| log(Level::Error, problem));
        *lock() = folder.clone();
        if scan.changed || !told {
            if !tell(&folder, &lines, &updates).await {
                return;
            }
            told = true;
        }
        for line in &lines {
            line.connected();
            line.received();
        }
    }
}

/// Everything, as a list of each kind. False if nobody listens any more.
async fn tell(folder: &Folder, lines: &[Arc<Line>], updates: &Sender<Update>) -> bool {
    for line in lines {
        let kind = line.kind();
        let events = Events::new(line.source(), kind);
        events.listed.inc();
        let objects = folder.objects(kind).into_iter().map(|(object, version)| {
            events.applied.inc();
            Update::Change { change: Change::Apply(object), version, triggered: None }
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
