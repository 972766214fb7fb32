//! The queue between the query path and the socket.
//!
//! Plugins of several blocks, and of two configurations during a reload, may share one output. It runs from the first
//! `start` to the last `stop`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use server::log::{self, Logger};
use server::runtime;
use tokio::sync::{mpsc, watch};

use super::{Dial, Listen};

pub(super) const LOG: Logger = log::plugin("dnstap");

/// Capacity of the queue in messages, multiplied by the queue size in the Corefile.
pub const QUEUE_UNIT: usize = 10_000;
/// Interval between log lines about lost messages.
const LOSS_LOG_INTERVAL: Duration = Duration::from_secs(10);
/// How long the last `stop` waits for queued messages to be sent.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Messages received from the queue at once.
const BATCH: usize = 4096;
/// Pause between two batches: under traffic the query path then never has to wake the task.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);

/// Who opens the connection: this process or the reader.
#[derive(Clone, Debug)]
pub enum ConnectMode {
    Dial(Dial),
    Listen(Listen),
}

pub struct Output {
    mode: ConnectMode,
    queue: mpsc::Sender<Vec<u8>>,
    /// Moves into the task at the first `start`.
    frames: Mutex<Option<mpsc::Receiver<Vec<u8>>>>,
    shared: Arc<SharedState>,
    users: AtomicUsize,
    stop: watch::Sender<bool>,
}

/// State shared by the query path and the tasks.
#[derive(Default)]
pub(super) struct SharedState {
    /// Messages lost since the last log line about them.
    lost: AtomicU64,
    readers: AtomicUsize,
    /// The task has sent everything after `stop`.
    drained: AtomicBool,
}

impl SharedState {
    pub fn count_lost(&self, messages: usize) {
        self.lost.fetch_add(messages as u64, Ordering::Relaxed);
    }

    /// Counts one more reader until the guard is dropped.
    pub fn add_reader(self: &Arc<Self>) -> ReaderGuard {
        self.readers.fetch_add(1, Ordering::AcqRel);
        ReaderGuard(Arc::clone(self))
    }

    pub fn readers(&self) -> usize {
        self.readers.load(Ordering::Acquire)
    }

    fn log_losses(&self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            LOG.warning(format_args!("Dropped dnstap messages: {lost}"));
        }
    }
}

pub(super) struct ReaderGuard(Arc<SharedState>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Output {
    /// An output that is not started; its queue holds `multiple` times 10,000 messages.
    pub fn new(mode: ConnectMode, multiple: usize) -> Output {
        let (queue, frames) = mpsc::channel(multiple.max(1) * QUEUE_UNIT);
        Output {
            mode,
            queue,
            frames: Mutex::new(Some(frames)),
            shared: Arc::default(),
            users: AtomicUsize::new(0),
            stop: watch::Sender::new(false),
        }
    }

    /// Whether to encode messages at all: a listener without readers needs none.
    pub fn has_readers(&self) -> bool {
        self.shared.readers.load(Ordering::Relaxed) > 0
    }

    /// Queues a frame, or counts it as lost. Never waits.
    pub fn push(&self, frame: Vec<u8>) {
        if self.queue.try_send(frame).is_err() {
            self.shared.count_lost(1);
        }
    }

    /// Messages lost since the last log line about them.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Adds one configuration that uses this output; the first starts the tasks.
    pub fn start(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
        let Some(frames) = self.frames.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let (mode, stop) = (self.mode.clone(), self.stop.subscribe());
        // Messages are queued for a dialed reader even while it is disconnected; a listener waits for its first reader.
        let dialed_reader = matches!(mode, ConnectMode::Dial(_)).then(|| self.shared.add_reader());
        let (shared, losses, losses_stop) =
            (Arc::clone(&self.shared), Arc::clone(&self.shared), stop.clone());
        // Outside the task, so that a restart after a panic keeps the queue.
        let queue = Arc::new(tokio::sync::Mutex::new(QueueReceiver { frames, stop, shared, in_flight: 0 }));
        supervise::spawn(runtime::handle(), "dnstap", move || {
            let _guard = &dialed_reader;
            run(mode.clone(), Arc::clone(&queue))
        });
        supervise::spawn(runtime::handle(), "dnstap-losses", move || {
            log_losses_periodically(Arc::clone(&losses), losses_stop.clone())
        });
    }

    /// Removes one configuration; the last waits up to a second for the queue to be sent.
    pub fn stop(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        self.stop.send_replace(true);
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !self.shared.drained.load(Ordering::Acquire) && waited < DRAIN_TIMEOUT {
            std::thread::sleep(step);
            waited += step;
        }
    }
}

/// Sends until the output stops.
async fn run(mode: ConnectMode, queue: Arc<tokio::sync::Mutex<QueueReceiver>>) {
    let mut queue = queue.lock().await;
    queue.lose_in_flight();
    match mode {
        ConnectMode::Dial(dial) => dial.run(&mut queue).await,
        ConnectMode::Listen(listen) => listen.run(&mut queue).await,
    }
    queue.shared.drained.store(true, Ordering::Release);
}

async fn log_losses_periodically(shared: Arc<SharedState>, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(LOSS_LOG_INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => shared.log_losses(),
            () = wait_for_stop(&mut stop) => return,
        }
    }
}

/// The task's end of the queue.
pub(super) struct QueueReceiver {
    frames: mpsc::Receiver<Vec<u8>>,
    stop: watch::Receiver<bool>,
    pub shared: Arc<SharedState>,
    /// Messages of the last batch until it is sent.
    in_flight: usize,
}

/// Concatenated frames, ready to be written.
pub(super) struct Batch {
    pub bytes: Vec<u8>,
    pub messages: usize,
}

impl QueueReceiver {
    /// The next batch; None when the output stopped and the queue is empty.
    pub async fn next(&mut self) -> Option<Batch> {
        let batch = self.receive().await;
        self.in_flight = batch.as_ref().map_or(0, |batch| batch.messages);
        batch
    }

    /// Counts the batch in flight as lost.
    pub fn lose_in_flight(&mut self) {
        self.shared.count_lost(std::mem::take(&mut self.in_flight));
    }

    async fn receive(&mut self) -> Option<Batch> {
        let mut frames = Vec::new();
        if *self.stop.borrow() {
            while let Ok(frame) = self.frames.try_recv() {
                frames.push(frame);
            }
            return (!frames.is_empty()).then(|| Batch::of(&frames));
        }
        tokio::select! {
            _ = self.frames.recv_many(&mut frames, BATCH) => {}
            () = wait_for_stop(&mut self.stop) => return Box::pin(self.receive()).await,
        }
        (!frames.is_empty()).then(|| Batch::of(&frames))
    }

    /// Marks the last batch as sent and waits for messages to accumulate, unless it was full or the output stops.
    pub async fn pause(&mut self) {
        let sent = std::mem::take(&mut self.in_flight);
        if sent < BATCH {
            let _ = tokio::time::timeout(BATCH_INTERVAL, self.stopped()).await;
        }
    }

    pub async fn stopped(&mut self) {
        wait_for_stop(&mut self.stop).await;
    }
}

async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // An error means that the output was dropped, which stops the task too.
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Batch {
    fn of(frames: &[Vec<u8>]) -> Batch {
        Batch { bytes: frames.concat(), messages: frames.len() }
    }
}
