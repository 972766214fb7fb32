//! The queue between the query path and the socket.
//!
//! Several plugins, of several blocks and of two configurations during a reload, may share one output. It runs from
//! the first `start` to the last `stop`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use server::log::{self, Logger};
use server::runtime;
use tokio::sync::{mpsc, watch};

use super::{Dial, Listen};

pub(super) const LOG: Logger = log::plugin("dnstap");

/// Messages a queue holds, times what the Corefile says.
pub const MESSAGES: usize = 10_000;
/// How often losses are told.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// How long the end of the last configuration waits for what is still queued.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Messages taken out of the queue at once.
const BATCH: usize = 4096;
/// Between two batches: while traffic lasts, nobody on the query path has to wake the task.
const PAUSE: Duration = Duration::from_millis(10);

/// How messages reach their readers.
#[derive(Clone, Debug)]
pub enum Way {
    Dial(Dial),
    Listen(Listen),
}

pub struct Output {
    way: Way,
    queue: mpsc::Sender<Vec<u8>>,
    /// Taken by the task.
    frames: Mutex<Option<mpsc::Receiver<Vec<u8>>>>,
    watch: Arc<Watch>,
    users: AtomicUsize,
    ending: watch::Sender<bool>,
}

/// What the query path and the task tell each other.
#[derive(Default)]
pub(super) struct Watch {
    /// Messages lost and not told yet.
    lost: AtomicU64,
    /// Who would read a message.
    readers: AtomicUsize,
    ended: AtomicBool,
}

impl Watch {
    pub fn lose(&self, messages: usize) {
        self.lost.fetch_add(messages as u64, Ordering::Relaxed);
    }

    /// One more reader, until the value is dropped.
    pub fn enter(self: &Arc<Self>) -> Reader {
        self.readers.fetch_add(1, Ordering::AcqRel);
        Reader(Arc::clone(self))
    }

    pub fn readers(&self) -> usize {
        self.readers.load(Ordering::Acquire)
    }

    fn tell(&self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            LOG.warning(format_args!("Dropped dnstap messages: {lost}"));
        }
    }
}

/// Somebody who would read messages.
pub(super) struct Reader(Arc<Watch>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Output {
    /// An output that does nothing yet; `multiple` times 10,000 messages may wait in it.
    pub fn new(way: Way, multiple: usize) -> Output {
        let (queue, frames) = mpsc::channel(multiple.max(1) * MESSAGES);
        Output {
            way,
            queue,
            frames: Mutex::new(Some(frames)),
            watch: Arc::default(),
            users: AtomicUsize::new(0),
            ending: watch::Sender::new(false),
        }
    }

    /// Whether a message is worth making: nobody reads while a listener has no readers.
    pub fn is_wanted(&self) -> bool {
        self.watch.readers.load(Ordering::Relaxed) > 0
    }

    /// Queues a frame, or counts it as lost. Never waits.
    pub fn push(&self, frame: Vec<u8>) {
        if self.queue.try_send(frame).is_err() {
            self.watch.lose(1);
        }
    }

    /// Messages lost since that was told last.
    pub fn lost(&self) -> u64 {
        self.watch.lost.load(Ordering::Relaxed)
    }

    /// One more configuration serves with this output; the first one starts it.
    pub fn start(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
        let Some(frames) = self.frames.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let (way, ending) = (self.way.clone(), self.ending.subscribe());
        // A dialled reader is worth queueing for while it is away; a listener waits for its first.
        let dialled = matches!(way, Way::Dial(_)).then(|| self.watch.enter());
        let (watch, told, ended) = (Arc::clone(&self.watch), Arc::clone(&self.watch), ending.clone());
        // Outside the task, so that a restart after a panic keeps the queue.
        let source = Arc::new(tokio::sync::Mutex::new(Source { frames, ending, watch, taken: 0 }));
        supervise::spawn(runtime::handle(), "dnstap", move || {
            let _held = &dialled;
            run(way.clone(), Arc::clone(&source))
        });
        supervise::spawn(runtime::handle(), "dnstap-losses", move || {
            tell_losses(Arc::clone(&told), ended.clone())
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
        while !self.watch.ended.load(Ordering::Acquire) && waited < LAST_WORDS {
            std::thread::sleep(step);
            waited += step;
        }
    }
}

/// Sends until the output ends.
async fn run(way: Way, source: Arc<tokio::sync::Mutex<Source>>) {
    let mut source = source.lock().await;
    source.lose_taken();
    match way {
        Way::Dial(dial) => dial.run(&mut source).await,
        Way::Listen(listen) => listen.run(&mut source).await,
    }
    source.watch.ended.store(true, Ordering::Release);
}

async fn tell_losses(watch: Arc<Watch>, mut ended: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(TELL_EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => watch.tell(),
            () = end_of(&mut ended) => return,
        }
    }
}

/// The task's side of the queue.
pub(super) struct Source {
    frames: mpsc::Receiver<Vec<u8>>,
    ending: watch::Receiver<bool>,
    pub watch: Arc<Watch>,
    /// Messages of the last batch, while it is not known to be sent.
    taken: usize,
}

/// Frames one after the other, ready to be written.
pub(super) struct Batch {
    pub bytes: Vec<u8>,
    pub messages: usize,
}

impl Source {
    /// The next frames; None when all is said.
    pub async fn next(&mut self) -> Option<Batch> {
        let batch = self.receive().await;
        self.taken = batch.as_ref().map_or(0, |batch| batch.messages);
        batch
    }

    /// Counts the last batch as lost.
    pub fn lose_taken(&mut self) {
        self.watch.lose(std::mem::take(&mut self.taken));
    }

    async fn receive(&mut self) -> Option<Batch> {
        let mut frames = Vec::new();
        if *self.ending.borrow() {
            while let Ok(frame) = self.frames.try_recv() {
                frames.push(frame);
            }
            return (!frames.is_empty()).then(|| Batch::of(&frames));
        }
        tokio::select! {
            _ = self.frames.recv_many(&mut frames, BATCH) => {}
            () = end_of(&mut self.ending) => return Box::pin(self.receive()).await,
        }
        (!frames.is_empty()).then(|| Batch::of(&frames))
    }

    /// The last batch is sent. Lets messages gather, unless there are plenty already or this is the end.
    pub async fn pause(&mut self) {
        let after = std::mem::take(&mut self.taken);
        if after < BATCH {
            let _ = tokio::time::timeout(PAUSE, self.ended()).await;
        }
    }

    pub async fn ended(&mut self) {
        end_of(&mut self.ending).await;
    }
}

async fn end_of(ending: &mut watch::Receiver<bool>) {
    // An error means that the output is gone, which is an end as well.
    let _ = ending.wait_for(|ending| *ending).await;
}

impl Batch {
    fn of(frames: &[Vec<u8>]) -> Batch {
        Batch { bytes: frames.concat(), messages: frames.len() }
    }
}
