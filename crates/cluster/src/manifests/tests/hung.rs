//! A file system that hangs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::WEB;
use crate::manifests::folder::{Bounds, Folder};
use crate::manifests::scanner::{ScanTimes, Scanner};
use crate::manifests::start_with;
use crate::object::Kind;
use crate::want::Want;
use crate::watch::{Cluster, SharedState, Source};

const LATE: Duration = Duration::from_millis(50);
const TIMES: ScanTimes = ScanTimes {
    interval: Duration::from_millis(5),
    stale_after: LATE,
    abandon_after: Duration::from_millis(150),
};

/// Blocks scans while the simulated file system hangs.
#[derive(Default)]
struct Gate {
    hangs: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicUsize,
    begun: AtomicUsize,
}

impl Gate {
    fn pass(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        drop(self.opened.wait_while(self.hangs.lock().unwrap(), |hangs| *hangs).unwrap());
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    fn set(&self, hangs: bool) {
        *self.hangs.lock().unwrap() = hangs;
        self.opened.notify_all();
    }
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_hung_scan_makes_the_data_stale_and_is_retried() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("web.yaml"), WEB).unwrap();
    let gate = Arc::new(Gate::default());
    let passed = Arc::clone(&gate);
    let scanner = move || {
        let gate = Arc::clone(&passed);
        Scanner::new(TIMES, move |folder: Folder| {
            gate.pass();
            folder.scan()
        })
    };
    let source = Source::Manifests(dir.path().to_owned());
    let shared = Arc::new(SharedState::new(source, Want { kinds: vec![Kind::Service], ..Want::default() }));
    let folder = Folder::new(dir.path().to_owned(), Arc::clone(&shared), Bounds::default());
    let cluster = Cluster::with(&shared, start_with(folder, scanner, &shared, &Handle::current()));
    let is_current = || cluster.has_synced() && cluster.stale().is_none();
    until("it is current", is_current).await;

    gate.set(true);
    until("it is stale", || cluster.staleness() > LATE).await;
    let reason = cluster.stale().unwrap().reason;
    assert_eq!(reason, "services: not read within 50ms, its file system may hang");
    std::fs::write(dir.path().join("web.yaml"), WEB.replace("10.0.0.1", "10.0.0.2")).unwrap();
    let begun = gate.begun.load(Ordering::SeqCst);
    until("it is retried", || gate.begun.load(Ordering::SeqCst) > begun).await;
    until("all threads hang", || gate.waiting.load(Ordering::SeqCst) == 3).await;
    let stale = cluster.staleness();
    until("it is staler", || cluster.staleness() > stale + 4 * TIMES.abandon_after).await;
    assert_eq!(gate.waiting.load(Ordering::SeqCst), 3, "their number is limited");
    assert_eq!(cluster.snapshot().count(Kind::Service), 1, "known objects stay");

    gate.set(false);
    until("it is current again", is_current).await;
    let is_at = |ip: &str| cluster.snapshot().holders(ip.parse().unwrap()).next().is_some();
    until("the change is seen", || is_at("10.0.0.2")).await;
}
