//! The queue and the task between the query path and the collector.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use server::log::{self, Logger};
use server::runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::batch::Batch;
use super::http::Client;
use super::{Protocol, Settings, Span, otlp, zipkin};

const LOG: Logger = log::plugin("trace");
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// In traces.
const QUEUE_CAPACITY: usize = 4096;
/// Pause between two batches: under traffic the query path then never has to wake the task.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);
/// How long the last `stop` waits for queued spans to be sent.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends spans to one collector; shared by all plugins with the same settings.
pub struct Exporter {
    settings: Settings,
    queue: mpsc::Sender<Vec<Span>>,
    /// Moves into the task at the first `start`.
    traces: Mutex<Option<mpsc::Receiver<Vec<Span>>>>,
    /// Spans dropped since the last log line about them.
    lost: Arc<AtomicU64>,
    users: AtomicUsize,
    stop: watch::Sender<bool>,
    /// The task has sent everything after `stop`.
    drained: Arc<AtomicBool>,
}

impl Exporter {
    /// An exporter that is not started.
    pub fn new(settings: Settings) -> Exporter {
        let (queue, traces) = mpsc::channel(QUEUE_CAPACITY);
        Exporter {
            settings,
            queue,
            traces: Mutex::new(Some(traces)),
            lost: Arc::default(),
            users: AtomicUsize::new(0),
            stop: watch::Sender::new(false),
            drained: Arc::default(),
        }
    }

    /// Queues the spans of one query. Never waits.
    pub fn push(&self, spans: Vec<Span>) {
        if let Err(error) = self.queue.try_send(spans) {
            self.lost.fetch_add(error.into_inner().len() as u64, Ordering::Relaxed);
        }
    }

    /// Adds one configuration that uses this exporter; the first starts the task.
    pub fn start(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
        let Some(traces) = self.traces.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let task = ExportTask {
            traces,
            batch: Batch::new(self.settings.backlog),
            client: Client::new(self.settings.url.clone()),
            settings: self.settings.clone(),
            lost: Arc::clone(&self.lost),
        };
        // Outside the task, so that a restart after a panic keeps the queue.
        let task = Arc::new(tokio::sync::Mutex::new(task));
        let (stop, drained) = (self.stop.subscribe(), Arc::clone(&self.drained));
        supervise::spawn(runtime::handle(), "trace", move || {
            let (task, stop) = (Arc::clone(&task), stop.clone());
            let drained = Arc::clone(&drained);
            async move {
                task.lock().await.run(stop).await;
                drained.store(true, Ordering::Release);
            }
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
        while !self.drained.load(Ordering::Acquire) && waited < DRAIN_TIMEOUT {
            std::thread::sleep(step);
            waited += step;
        }
    }
}

/// The task's end of the queue, and the batch it sends next.
struct ExportTask {
    traces: mpsc::Receiver<Vec<Span>>,
    batch: Batch,
    client: Client,
    settings: Settings,
    lost: Arc<AtomicU64>,
}

impl ExportTask {
    async fn run(&mut self, mut stop: watch::Receiver<bool>) {
        let mut due = Instant::now() + self.settings.interval;
        loop {
            let mut arrived = Vec::new();
            let stopping = tokio::select! {
                _ = timeout_at(due, self.traces.recv_many(&mut arrived, QUEUE_CAPACITY)) => false,
                () = wait_for_stop(&mut stop) => true,
            };
            if stopping {
                while let Ok(spans) = self.traces.try_recv() {
                    arrived.push(spans);
                }
            }
            self.add(arrived);
            let now = Instant::now();
            if stopping || now >= due || self.batch.len() >= self.settings.batch {
                due = now + self.settings.interval;
                if supervise::step_async("trace-batch", self.send()).await.is_none() {
                    // These spans may have caused the panic.
                    self.lost.fetch_add(self.batch.len() as u64, Ordering::Relaxed);
                    self.batch.clear();
                }
            }
            if stopping {
                return;
            }
            let _ = timeout(BATCH_INTERVAL.min(self.settings.interval), wait_for_stop(&mut stop)).await;
        }
    }

    fn add(&mut self, traces: Vec<Vec<Span>>) {
        let dropped = self.batch.add(traces.into_iter().flatten()) as u64;
        let lost = dropped + self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            LOG.warning(format_args!("backlog too long, disposing {lost} spans"));
        }
    }

    /// Sends the batch. It is kept for a retry if the request fails, and dropped if the collector rejects it.
    async fn send(&mut self) {
        let spans = self.batch.spans();
        if spans.is_empty() {
            return;
        }
        let (content_type, body) = match self.settings.protocol {
            Protocol::Zipkin => ("application/json", zipkin::encode(spans, &self.settings)),
            Protocol::Otlp => ("application/x-protobuf", otlp::encode(spans, &self.settings)),
        };
        let status = timeout(REQUEST_TIMEOUT, self.client.post(content_type, body)).await;
        match status.unwrap_or_else(|_| Err("context deadline exceeded".to_owned())) {
            Ok(status) => {
                if !(200..300).contains(&status) {
                    LOG.warning(format_args!("failed the request with status code {status}"));
                }
                self.batch.clear();
            }
            Err(error) => {
                let url = &self.settings.url;
                LOG.warning(format_args!("failed to send the request: Post \"{url}\": {error}"));
            }
        }
    }
}

async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // An error means that the exporter was dropped, which stops the task too.
    let _ = stop.wait_for(|stop| *stop).await;
}
