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
//! - A namespace exists if an object is in it, so a folder with nothing but Services works. Objects that do not say
//!   a namespace are in `default`.
//! - A Service of type ClusterIP that says no cluster IP, which in a cluster would be given one, has no address.

mod defaults;
mod document;
mod folder;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use crate::index::Change;
use crate::object::{Kind, Object};
use crate::watch::{Events, Level, Line, News, Shared, WatchError, log};
use folder::{Folder, Scan};

/// How often the folder is looked at. Polling sees symbolic links change too, which is how ConfigMaps are updated.
const EVERY: Duration = Duration::from_secs(1);

/// Watches the folder, which must be there now; later it may come and go.
pub(crate) fn start(
    path: &Path,
    shared: &Arc<Shared>,
    lines: &[Arc<Line>],
    news: Sender<News>,
    runtime: &Handle,
) -> Result<AbortHandle, WatchError> {
    std::fs::read_dir(path).map_err(|e| WatchError(format!("{}: {e}", path.display())))?;
    let folder = Folder::new(path.to_owned(), Arc::clone(shared));
    Ok(runtime.spawn(run(folder, lines.to_vec(), news)).abort_handle())
}

/// Ends when the writer does.
async fn run(mut folder: Folder, lines: Vec<Arc<Line>>, news: Sender<News>) {
    let events: Vec<Events> = lines.iter().map(|line| Events::new(line.source(), line.kind())).collect();
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let scanned: io::Result<Scan>;
        // A task that ends without a result has panicked, and the panic was reported by then.
        (folder, scanned) = match spawn_blocking(move || folder.scan()).await {
            Ok(back) => back,
            Err(_) => return,
        };
        let scan = match scanned {
            Ok(scan) => scan,
            Err(e) => {
                lines.iter().for_each(|line| line.lost(&e.to_string()));
                continue;
            }
        };
        scan.problems.iter().for_each(|problem| log(Level::Error, problem));
        if scan.changed {
            for (line, events) in lines.iter().zip(&events) {
                if !tell(line.kind(), &folder, events, &news).await {
                    return;
                }
            }
        }
        for line in &lines {
            line.connected();
            line.heard();
        }
    }
}

/// Everything of one kind, as a list. False if nobody listens any more.
async fn tell(kind: Kind, folder: &Folder, events: &Events, news: &Sender<News>) -> bool {
    let objects: Vec<Object> = folder.objects(kind);
    events.listed.inc();
    let begins = std::iter::once(Change::ListBegins(kind));
    let changes = begins.chain(objects.into_iter().map(Change::Apply)).chain([Change::ListEnds(kind)]);
    for change in changes {
        if matches!(change, Change::Apply(_)) {
            events.applied.inc();
        }
        if news.send(change.into()).await.is_err() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests;
