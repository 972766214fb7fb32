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

use std::future::pending;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use kube_api::{Delivery, Event, EventCounters, FeedSender, Level, LostOnDrop, Occasion, WatchStatus, log};
use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::watch::{Receiver, Sender};

use crate::convert::Slim;
use crate::object::{EndpointSlice, Kind, Namespace, Pod, Service, ServiceImport};
use crate::watch::{Feeding, KindStatus, SharedState, WatchError, Writer};
use folder::{Bounds, Folder};
use scanner::{ScanTimes, Scanner};

const TASK: &str = "cluster-manifests";

/// Watches the folder, which must exist now; later it may disappear and return.
pub(crate) fn start(
    path: &Path,
    shared: &Arc<SharedState>,
    runtime: &Handle,
) -> Result<(Vec<KindStatus>, Feeding), WatchError> {
    scanner::probe(path).map_err(|e| WatchError(format!("{}: {e}", path.display())))?;
    let folder = Folder::new(path.to_owned(), Arc::clone(shared), Bounds::default());
    let scanner = move || Scanner::new(ScanTimes::default(), Folder::scan);
    Ok(start_with(folder, scanner, shared, runtime))
}

fn start_with(
    folder: Folder,
    scanner: impl Fn() -> Scanner + Send + 'static,
    shared: &Arc<SharedState>,
    runtime: &Handle,
) -> (Vec<KindStatus>, Feeding) {
    let name = shared.source.to_string();
    let status = |kind: &Kind| (*kind, Arc::new(WatchStatus::new(&name, kind.plural())));
    let statuses: Vec<KindStatus> = shared.want.kinds.iter().map(status).collect();
    let delivery = Delivery::start(runtime);
    let writer = Arc::clone(shared);
    let consumer = delivery.add_consumer(move |restarted| Writer::new(&writer, restarted));
    let feeds = Feeds::new(&delivery, consumer, &statuses);
    // The folder survives a panic, so that a file with an error keeps its previous objects.
    let (folder, for_task) = (Arc::new(Mutex::new(folder)), statuses.clone());
    let scans = supervise::spawn(runtime, TASK, move || {
        run(Arc::clone(&folder), scanner(), feeds.clone(), for_task.clone())
    });
    (statuses, Feeding::Folder { _delivery: delivery, scans })
}

/// Ends when the delivery does.
async fn run(last_folder: Arc<Mutex<Folder>>, mut scanner: Scanner, feeds: Feeds, statuses: Vec<KindStatus>) {
    let all: Vec<Arc<WatchStatus>> = statuses.iter().map(|(_, status)| Arc::clone(status)).collect();
    let _lost = LostOnDrop(&all);
    let lock = || last_folder.lock().unwrap_or_else(PoisonError::into_inner);
    let mut folder = lock().clone();
    let mut list_requests = feeds.list_requests();
    let mut sent = false;
    for status in &all {
        status.set_max_silence(scanner.times().stale_after * 2);
    }
    loop {
        let scanned = select! {
            scanned = scanner.next(&folder) => scanned,
            _ = changed(&mut list_requests), if sent => {
                if !feeds.send_lists(&folder, &statuses).await {
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
                all.iter().for_each(|status| status.lost(&why));
                continue;
            }
        };
        scan.problems.iter().for_each(|problem| log(Level::Error, problem));
        *lock() = folder.clone();
        if scan.changed || !sent {
            if !feeds.send_lists(&folder, &statuses).await {
                return;
            }
            sent = true;
        }
        for status in &all {
            status.connected();
            status.received();
        }
    }
}

/// A restarted consumer requests a list of every feed at once, so one of them tells of all.
async fn changed(list_requests: &mut Option<Receiver<()>>) {
    if let Some(requests) = list_requests
        && requests.changed().await.is_ok()
    {
        return;
    }
    pending().await
}

/// The feeds of the wanted kinds.
#[derive(Clone, Default)]
struct Feeds {
    namespaces: Option<FeedSender<Namespace>>,
    services: Option<FeedSender<Service>>,
    slices: Option<FeedSender<EndpointSlice>>,
    pods: Option<FeedSender<Pod>>,
    imports: Option<FeedSender<ServiceImport>>,
    requests: Option<Sender<()>>,
}

impl Feeds {
    fn new(delivery: &Delivery, consumer: u64, statuses: &[KindStatus]) -> Self {
        let mut feeds = Self::default();
        for (kind, _) in statuses {
            match kind {
                Kind::Namespace => feed(delivery, consumer, &mut feeds.namespaces, &mut feeds.requests),
                Kind::Service => feed(delivery, consumer, &mut feeds.services, &mut feeds.requests),
                Kind::EndpointSlice => feed(delivery, consumer, &mut feeds.slices, &mut feeds.requests),
                Kind::Pod => feed(delivery, consumer, &mut feeds.pods, &mut feeds.requests),
                Kind::ServiceImport => feed(delivery, consumer, &mut feeds.imports, &mut feeds.requests),
            }
        }
        feeds
    }

    fn list_requests(&self) -> Option<Receiver<()>> {
        self.requests.as_ref().map(Sender::subscribe)
    }

    /// Sends a list of each kind. Returns false if the delivery task has ended.
    async fn send_lists(&self, folder: &Folder, statuses: &[KindStatus]) -> bool {
        for (kind, status) in statuses {
            let events = EventCounters::new(status.source(), kind.name());
            let delivered = match kind {
                Kind::Namespace => send_list(&self.namespaces, folder, &events).await,
                Kind::Service => send_list(&self.services, folder, &events).await,
                Kind::EndpointSlice => send_list(&self.slices, folder, &events).await,
                Kind::Pod => send_list(&self.pods, folder, &events).await,
                Kind::ServiceImport => send_list(&self.imports, folder, &events).await,
            };
            if !delivered {
                return false;
            }
        }
        true
    }
}

fn feed<T: Slim>(
    delivery: &Delivery,
    consumer: u64,
    feed: &mut Option<FeedSender<T>>,
    requests: &mut Option<Sender<()>>,
) {
    let sender = delivery.add_feed::<T>();
    delivery.subscribe::<Writer, T>(consumer, &sender);
    requests.get_or_insert_with(|| sender.list_request_sender().clone());
    *feed = Some(sender);
}

async fn send_list<T: Slim>(feed: &Option<FeedSender<T>>, folder: &Folder, events: &EventCounters) -> bool {
    let Some(feed) = feed else { return true };
    events.listed.inc();
    let mut delivered = feed.send(Event::ListBegins).await;
    for (object, version) in folder.objects(T::KIND) {
        let Some(object) = T::from_object(object) else { continue };
        events.applied.inc();
        delivered &= feed.send(Event::Apply { object, version, occasion: Occasion::List }).await;
    }
    delivered && feed.send(Event::ListEnds).await
}

#[cfg(test)]
mod tests;
