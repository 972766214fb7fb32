//! Schedules scans of a folder. Each runs on a thread of its own, since a hung file system blocks its readers: a hung thread
//! is abandoned after a time, and their number is limited.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{fs, io, thread};

use supervise::Panic;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout_at};

use super::folder::{Folder, Scan};

const TASK: &str = "cluster-manifests-scan";

/// Maximum number of hung threads; then one of them must end before the next scan starts.
const MAX_THREADS: usize = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct ScanTimes {
    /// Between two scans. Polling also detects changed symbolic links, by which ConfigMap volumes are updated.
    pub interval: Duration,
    /// A scan that takes longer makes the data stale.
    pub stale_after: Duration,
    /// A scan that takes longer is abandoned for a new one.
    pub abandon_after: Duration,
}

impl Default for ScanTimes {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            stale_after: Duration::from_secs(5),
            abandon_after: Duration::from_secs(300),
        }
    }
}

/// Checks that the folder can be read. A folder that hangs passes after a few seconds: it may recover.
pub(super) fn probe(path: &Path) -> io::Result<()> {
    let (done, result) = mpsc::channel();
    let path = path.to_owned();
    let work = move || drop(done.send(fs::read_dir(path).map(drop)));
    thread::Builder::new().name(TASK.to_owned()).spawn(work)?;
    result.recv_timeout(ScanTimes::default().stale_after).unwrap_or(Ok(()))
}

type ScanResult = (Folder, io::Result<Scan>);

pub(super) struct Scanner {
    times: ScanTimes,
    scan: Arc<dyn Fn(Folder) -> ScanResult + Send + Sync>,
    ticks: Interval,
    threads: Arc<Semaphore>,
    pending: Option<PendingScan>,
}

struct PendingScan {
    started: Instant,
    is_late: bool,
    result: oneshot::Receiver<Result<ScanResult, Panic>>,
}

impl Scanner {
    pub(super) fn new(times: ScanTimes, scan: impl Fn(Folder) -> ScanResult + Send + Sync + 'static) -> Self {
        let mut ticks = interval(times.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let threads = Arc::new(Semaphore::new(MAX_THREADS));
        Self { times, scan: Arc::new(scan), ticks, threads, pending: None }
    }

    pub(super) fn times(&self) -> ScanTimes {
        self.times
    }

    /// The next scan, or why it failed. Cancel-safe: a further call continues the same scan.
    pub(super) async fn next(&mut self, folder: &Folder) -> Result<(Folder, Scan), String> {
        if self.pending.is_none() {
            self.ticks.tick().await;
            self.pending = Some(self.start_scan(folder).await?);
        }
        let Some(pending) = &mut self.pending else { return Err("no scan is running".to_owned()) };
        let limit = if pending.is_late { self.times.abandon_after } else { self.times.stale_after };
        match timeout_at(pending.started + limit, &mut pending.result).await {
            Ok(result) => {
                self.pending = None;
                let panicked = |panic: Panic| panic.to_string();
                let (folder, scan) =
                    result.map_err(|_| "the scan ended without a result".to_owned())?.map_err(panicked)?;
                scan.map(|scan| (folder, scan)).map_err(|e| e.to_string())
            }
            Err(_) => {
                if std::mem::replace(&mut pending.is_late, true) {
                    self.pending = None;
                }
                Err(format!("not read within {:?}, its file system may hang", self.times.stale_after))
            }
        }
    }

    async fn start_scan(&self, folder: &Folder) -> Result<PendingScan, String> {
        let permit = Arc::clone(&self.threads).acquire_owned().await.map_err(|e| e.to_string())?;
        let (done, result) = oneshot::channel();
        let (scan, folder) = (Arc::clone(&self.scan), folder.clone());
        let work = move || {
            let _permit = permit;
            // The receiver is gone if the scan was abandoned.
            let _ = done.send(supervise::catch(TASK, || scan(folder)));
        };
        thread::Builder::new().name(TASK.to_owned()).spawn(work).map_err(|e| e.to_string())?;
        Ok(PendingScan { started: Instant::now(), is_late: false, result })
    }
}
