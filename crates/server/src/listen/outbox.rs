//! The replies of one connection on their way to its client: a queue bounded in octets, and the task that writes it.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use crate::StreamError;

/// Replies of one connection that may wait for its writer, and their size. A client that does not read fills it; then
/// nothing is read from it, and its streams produce nothing.
const MAX_REPLIES: usize = 64;
const MAX_OCTETS: usize = 128 * 1024;

/// The replies of one connection; all clones are of the same one.
#[derive(Clone)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Item>,
    room: Arc<Semaphore>,
    /// One stream of a connection at a time produces messages.
    streaming: Arc<Mutex<()>>,
}

enum Item {
    Message {
        message: Vec<u8>,
        _room: Option<OwnedSemaphorePermit>,
        /// Told when the message is written.
        written: Option<oneshot::Sender<Result<(), String>>>,
    },
    /// Closes the connection when everything before it is written.
    Close,
}

/// The connection is closed.
#[derive(Debug)]
pub(super) struct Closed;

impl Outbox {
    /// Starts the writer. The handle ends when the connection is closed or the last clone is dropped.
    pub fn start(
        writer: impl AsyncWrite + Unpin + Send + 'static,
        write_timeout: Duration,
    ) -> (Outbox, tokio::task::JoinHandle<()>) {
        let (queue, items) = mpsc::channel(MAX_REPLIES);
        let writing = tokio::spawn(async move {
            supervise::step_async("connection-writer", write(writer, items, write_timeout)).await;
        });
        (Outbox { queue, room: Arc::new(Semaphore::new(MAX_OCTETS)), streaming: Arc::default() }, writing)
    }

    /// Queues a reply; waits while the queue is full.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), Closed> {
        let room = Arc::clone(&self.room).acquire_many_owned(message.len() as u32).await;
        self.push(Item::Message { message, _room: room.ok(), written: None }).await
    }

    /// Sends a message and waits until it is written.
    pub async fn write(&self, message: Vec<u8>) -> Result<(), StreamError> {
        let (written, done) = oneshot::channel();
        let room = Arc::clone(&self.room).acquire_many_owned(message.len() as u32).await;
        let _ = self.push(Item::Message { message, _room: room.ok(), written: Some(written) }).await;
        match done.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(StreamError::new(why)),
            Err(_) => Err(StreamError::new("the connection is closed")),
        }
    }

    /// Closes the connection when all queued replies are written.
    pub async fn close(&self) {
        let _ = self.push(Item::Close).await;
    }

    /// Returns when the connection is closed.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Waits until no other stream of this connection produces messages.
    pub async fn stream_turn(&self) -> MutexGuard<'_, ()> {
        self.streaming.lock().await
    }

    /// Whether queries of this connection have yet to send their reply.
    pub fn has_other_senders(&self) -> bool {
        self.queue.strong_count() > 1
    }

    async fn push(&self, item: Item) -> Result<(), Closed> {
        self.queue.send(item).await.map_err(|_| Closed)
    }
}

/// Writes replies as they arrive, all queued ones with one write. Ends at the first that the client does not read.
async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut items: mpsc::Receiver<Item>,
    write_timeout: Duration,
) {
    let mut frames = Vec::with_capacity(4096);
    let mut waiting = Vec::new();
    let mut closing = false;
    while !closing {
        let Some(mut item) = items.recv().await else { break };
        frames.clear();
        loop {
            match item {
                Item::Message { message, _room, written } => {
                    frame(&message, &mut frames);
                    waiting.extend(written);
                }
                Item::Close => closing = true,
            }
            if closing || frames.len() >= 64 * 1024 {
                break;
            }
            match items.try_recv() {
                Ok(next) => item = next,
                Err(_) => break,
            }
        }
        let result = match timeout(write_timeout, writer.write_all(&frames)).await {
            Ok(result) => result.map_err(|error| format!("writing to the client failed: {error}")),
            Err(_) => Err(format!("the client did not read {} octets in {write_timeout:?}", frames.len())),
        };
        for written in waiting.drain(..) {
            let _ = written.send(result.clone());
        }
        if result.is_err() {
            return;
        }
    }
    let _ = timeout(write_timeout, writer.shutdown()).await;
}

fn frame(message: &[u8], frames: &mut Vec<u8>) {
    frames.extend_from_slice(&(message.len() as u16).to_be_bytes());
    frames.extend_from_slice(message);
}
