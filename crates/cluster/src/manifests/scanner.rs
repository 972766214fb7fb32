//! When and where a folder is scanned: on a thread for each scan, since a file system may hang and then so does whoever
//! waits for it. A thread that hangs is not waited for for ever, and there are never many of them.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{fs, io, thread};

use supervise::Panic;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout_at};

use super::folder::{Folder, Scan};

const TASK: &str = "cluster-manifests-scan";

/// So many threads may hang; then one of them must come back before the next scan begins.
const MOST_THREADS: usize = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// How often the folder is scanned. Polling sees symbolic links change too, which is how ConfigMaps are updated.
    pub every: Duration,
    /// A scan that takes longer makes what is known stale.
    pub late: Duration,
    /// A scan that takes longer is given up for a new one.
    pub given_up: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            late: Duration::from_secs(5),
            given_up: Duration::from_secs(300),
        }
    }
}

/// Whether the folder can be read. One that hangs is not waited for for long: that may pass.
pub(super) fn probe(path: &Path) -> io::Result<()> {
    let (done, result) = mpsc::channel();
    let path = path.to_owned();
    let work = move || drop(done.send(fs::read_dir(path).map(drop)));
    thread::Builder::new().name(TASK.to_owned()).spawn(work)?;
    result.recv_timeout(Times::default().late).unwrap_or(Ok(()))
}

type Scanned = (Folder, io::Result<Scan>);

pub(super) struct Scanner {
    times: Times,
    scan: Arc<dyn Fn(Folder) -> Scanned + Send + Sync>,
    ticks: Interval,
    threads: Arc<Semaphore>,
    pending: Option<Pending>,
}

struct Pending {
    began: Instant,
    is_late: bool,
    result: oneshot::Receiver<Result<Scanned, Panic>>,
}

impl Scanner {
    pub(super) fn new(times: Times, scan: impl Fn(Folder) -> Scanned + Send + Sync + 'static) -> Self {
        let mut ticks = interval(times.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let threads = Arc::new(Semaphore::new(MOST_THREADS));
        Self { times, scan: Arc::new(scan), ticks, threads, pending: None }
    }

    pub(super) fn times(&self) -> Times {
        self.times
    }

    /// The next scan, or why there is none. Dropped and called again, it goes on with the same one.
    pub(super) async fn next(&mut self, folder: &Folder) -> Result<(Folder, Scan), String> {
        if self.pending.is_none() {
            self.ticks.tick().await;
            self.pending = Some(self.begin(folder).await?);
        }
        let Some(pending) = &mut self.pending else { return Err("is not scanned".to_owned()) };
        let patience = if pending.is_late { self.times.given_up } else { self.times.late };
        match timeout_at(pending.began + patience, &mut pending.result).await {
            Ok(result) => {
                self.pending = None;
                let panicked = |panic: Panic| panic.to_string();
                let (folder, scan) = result.map_err(|_| "its scan was lost".to_owned())?.map_err(panicked)?;
                scan.map(|scan| (folder, scan)).map_err(|e| e.to_string())
            }
            Err(_) => {
                if std::mem::replace(&mut pending.is_late, true) {
                    self.pending = None;
                }
                Err(format!("not read within {:?}, its file system may hang", self.times.late))
            }
        }
    }

    async fn begin(&self, folder: &Folder) -> Result<Pending, String> {
        let permit = Arc::clone(&self.threads).acquire_owned().await.map_err(|e| e.to_string())?;
        let (done, result) = oneshot::channel();
        let (scan, folder) = (Arc::clone(&self.scan), folder.clone());
        let work = move || {
            let _permit = permit;
            // Nobody may wait for it any more.
            let _ = done.send(supervise::catch(TASK, || scan(folder)));
        };
        thread::Builder::new().name(TASK.to_owned()).spawn(work).map_err(|e| e.to_string())?;
        Ok(Pending { began: Instant::now(), is_late: false, result })
    }
}
