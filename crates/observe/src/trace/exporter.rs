//! From the query path to the collector.

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
/// For one request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Traces between the query path and the task.
const QUEUE: usize = 4096;
/// While traffic lasts, nobody on the query path has to wake the task.
const PAUSE: Duration = Duration::from_millis(10);
/// How long the end of the last configuration waits for what is still to be sent.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Sends spans; shared by all who send to the same place with the same settings.
pub struct Exporter {
    settings: Settings,
    queue: mpsc::Sender<Vec<Span>>,
    /// Taken by the task.
    traces: Mutex<Option<mpsc::Receiver<Vec<Span>>>>,
    /// Spans that found no room in the queue.
    lost: Arc<AtomicU64>,
    users: AtomicUsize,
    ending: watch::Sender<bool>,
    ended: Arc<AtomicBool>,
}

impl Exporter {
    /// An exporter that does nothing yet.
    pub fn new(settings: Settings) -> Exporter {
        let (queue, traces) = mpsc::channel(QUEUE);
        Exporter {
            settings,
            queue,
            traces: Mutex::new(Some(traces)),
            lost: Arc::default(),
            users: AtomicUsize::new(0),
            ending: watch::Sender::new(false),
            ended: Arc::default(),
        }
    }

    /// Queues the spans of one query. Never waits.
    pub fn push(&self, spans: Vec<Span>) {
        if let Err(error) = self.queue.try_send(spans) {
            self.lost.fetch_add(error.into_inner().len() as u64, Ordering::Relaxed);
        }
    }

    /// One more configuration serves with this exporter; the first one starts it.
    pub fn start(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
        let Some(traces) = self.traces.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let exporting = Exporting {
            traces,
            batch: Batch::new(self.settings.backlog),
            client: Client::new(self.settings.url.clone()),
            settings: self.settings.clone(),
            lost: Arc::clone(&self.lost),
        };
        // Outside the task, so that a restart after a panic keeps the queue.
        let exporting = Arc::new(tokio::sync::Mutex::new(exporting));
        let (ending, ended) = (self.ending.subscribe(), Arc::clone(&self.ended));
        supervise::spawn(runtime::handle(), "trace", move || {
            let (exporting, ending) = (Arc::clone(&exporting), ending.clone());
            let ended = Arc::clone(&ended);
            async move {
                exporting.lock().await.run(ending).await;
                ended.store(true, Ordering::Release);
            }
        });
    }

    /// One configuration less. The last one waits a moment until everything is sent.
    pub fn stop(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        self.ending.send_replace(true);
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !self.ended.load(Ordering::Acquire) && waited < LAST_WORDS {
            std::thread::sleep(step);
            waited += step;
        }
    }
}

/// The task's side of the queue, and what is on its way to the collector.
struct Exporting {
    traces: mpsc::Receiver<Vec<Span>>,
    batch: Batch,
    client: Client,
    settings: Settings,
    lost: Arc<AtomicU64>,
}

impl Exporting {
    async fn run(&mut self, mut ending: watch::Receiver<bool>) {
        let mut due = Instant::now() + self.settings.interval;
        loop {
            let mut arrived = Vec::new();
            let ended = tokio::select! {
                _ = timeout_at(due, self.traces.recv_many(&mut arrived, QUEUE)) => false,
                () = end_of(&mut ending) => true,
            };
            if ended {
                while let Ok(spans) = self.traces.try_recv() {
                    arrived.push(spans);
                }
            }
            self.take(arrived);
            let now = Instant::now();
            if ended || now >= due || self.batch.len() >= self.settings.batch {
                due = now + self.settings.interval;
                if supervise::step_async("trace-batch", self.send()).await.is_none() {
                    // These very spans may be the reason.
                    self.lost.fetch_add(self.batch.len() as u64, Ordering::Relaxed);
                    self.batch.clear();
                }
            }
            if ended {
                return;
            }
            let _ = timeout(PAUSE.min(self.settings.interval), end_of(&mut ending)).await;
        }
    }

    fn take(&mut self, traces: Vec<Vec<Span>>) {
        let disposed = self.batch.add(traces.into_iter().flatten()) as u64;
        let lost = disposed + self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            LOG.warning(format_args!("backlog too long, disposing {lost} spans"));
        }
    }

    /// What cannot be sent at all stays for the next time; what the collector refuses is gone.
    async fn send(&mut self) {
        let spans = self.batch.spans();
        if spans.is_empty() {
            return;
        }
        let (kind, body) = match self.settings.protocol {
            Protocol::Zipkin => ("application/json", zipkin::encode(spans, &self.settings)),
            Protocol::Otlp => ("application/x-protobuf", otlp::encode(spans, &self.settings)),
        };
        let answer = timeout(PATIENCE, self.client.post(kind, body)).await;
        match answer.unwrap_or_else(|_| Err("context deadline exceeded".to_owned())) {
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

async fn end_of(ending: &mut watch::Receiver<bool>) {
    // An error means that the exporter is gone, which is an end as well.
    let _ = ending.wait_for(|ending| *ending).await;
}
