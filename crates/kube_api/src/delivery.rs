//! The one task of a cluster that calls its consumers: takes a batch of events of every feed, delivers it, and lets each
//! consumer publish once.
//!
//! ```text
//! reflector ──→ feed ─┐                ┌─→ consumer ──→ publish
//! reflector ──→ feed ─┼─→ delivery ────┤
//! folder    ──→ feed ─┘    ↑           └─→ consumer ──→ publish
//!                          └ subscribe, unsubscribe
//! ```
//!
//! A consumer guards its own work against panics. A panic that it does not catch restarts this task: all consumers are
//! created again and every feed is listed again.

mod feed;

use std::any::Any;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use supervise::Panic;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use self::feed::{Feed, TypedFeed};
use crate::availability::Availability;
use crate::consumer::{Consumer, Occasion, Subscriber};
use crate::resource::ObjectName;
use crate::version::Version;

const TASK: &str = "cluster-writer";

/// Capacity of a feed; its source waits when it is full. Decoded EndpointSlices have tens of kilobytes each.
const FEED_CAPACITY: usize = 128;

/// An event of a feed.
#[derive(Debug)]
pub enum Event<T> {
    ListBegins,
    Apply {
        object: T,
        version: Version,
        occasion: Occasion,
    },
    Delete(T),
    ListEnds,
    /// A list was aborted; objects it delivered stay.
    ListAborted,
    Availability(Availability),
    /// An object made its decoder panic and was skipped.
    Undecodable(ObjectName, Panic),
}

/// The delivery task of a cluster; ends when this is dropped.
pub struct Delivery {
    commands: mpsc::UnboundedSender<Command>,
    ids: AtomicU64,
    task: AbortHandle,
}

type Command = Box<dyn FnOnce(&mut Feeds, &mut Consumers) + Send>;

impl Delivery {
    pub fn start(runtime: &Handle) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let task = supervise::spawn(runtime, TASK, task(receiver));
        Self { commands, ids: AtomicU64::new(0), task }
    }

    /// Adds a consumer. `make` is called now and, with true, after each restart of the task.
    pub fn add_consumer<S: Subscriber>(&self, mut make: impl FnMut(bool) -> S + Send + 'static) -> u64 {
        let id = self.next_id();
        self.send(move |feeds, consumers| {
            let mut make: Make = Box::new(move |restarted| Box::new(make(restarted)));
            consumers.insert(id, Live::new(make(false)));
            feeds.makers.insert(id, make);
        });
        id
    }

    pub fn remove_consumer(&self, id: u64) {
        self.send(move |feeds, consumers| {
            feeds.makers.remove(&id);
            feeds.all.values_mut().for_each(|feed| feed.leave(id));
            consumers.remove(&id);
        });
    }

    /// Adds a feed; its source sends events into what is returned.
    pub fn add_feed<T: Send + 'static>(&self) -> FeedSender<T> {
        let (events, receiver) = mpsc::channel(FEED_CAPACITY);
        let sender = FeedSender { id: self.next_id(), events, list_requests: watch::Sender::new(()) };
        let (id, feed) = (sender.id, TypedFeed::new(receiver, sender.list_requests.clone()));
        self.send(move |feeds, _| {
            feeds.all.insert(id, Box::new(feed));
        });
        sender
    }

    pub(crate) fn remove_feed(&self, id: u64) {
        self.send(move |feeds, _| {
            feeds.all.remove(&id);
        });
    }

    /// Delivers the events of a feed to a consumer, from the beginning of the next list on. If one has begun already, the
    /// source is asked for another.
    pub fn subscribe<S: Consumer<T>, T: Send + 'static>(&self, consumer: u64, feed: &FeedSender<T>) {
        let feed = feed.id;
        self.send(move |feeds, consumers| {
            let (Some(feed), Some(live)) = (feeds.all.get_mut(&feed), consumers.get_mut(&consumer)) else {
                return;
            };
            if let Some(feed) = feed.as_any().downcast_mut::<TypedFeed<T>>() {
                feed.join::<S>(consumer, live);
            }
        });
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn send(&self, command: impl FnOnce(&mut Feeds, &mut Consumers) + Send + 'static) {
        // Fails only while the runtime shuts down.
        let _ = self.commands.send(Box::new(command));
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The source's end of a feed.
pub struct FeedSender<T> {
    pub(crate) id: u64,
    events: mpsc::Sender<Event<T>>,
    list_requests: watch::Sender<()>,
}

impl<T> FeedSender<T> {
    /// Waits while the feed is full. Returns false if the delivery task has ended.
    pub async fn send(&self, event: Event<T>) -> bool {
        self.events.send(event).await.is_ok()
    }

    /// Sends list requests, for a source that has several feeds and one way to list.
    pub fn list_request_sender(&self) -> &watch::Sender<()> {
        &self.list_requests
    }

    /// Notified when a consumer needs a list.
    pub fn list_requests(&self) -> watch::Receiver<()> {
        self.list_requests.subscribe()
    }
}

impl<T> Clone for FeedSender<T> {
    fn clone(&self) -> Self {
        Self { id: self.id, events: self.events.clone(), list_requests: self.list_requests.clone() }
    }
}

type Make = Box<dyn FnMut(bool) -> Box<dyn AnySubscriber> + Send>;
type Consumers = BTreeMap<u64, Live>;

/// State that survives a restart of the task.
struct Feeds {
    commands: mpsc::UnboundedReceiver<Command>,
    pending: Vec<Command>,
    all: BTreeMap<u64, Box<dyn Feed>>,
    makers: BTreeMap<u64, Make>,
}

/// A consumer, until it panics.
struct Live {
    subscriber: Box<dyn AnySubscriber>,
    /// It got an event since it last published.
    touched: bool,
    publish_at: Option<Instant>,
}

impl Live {
    fn new(subscriber: Box<dyn AnySubscriber>) -> Self {
        Self { subscriber, touched: true, publish_at: None }
    }
}

/// A [`Subscriber`] of any type.
trait AnySubscriber: Send {
    fn as_any(&mut self) -> &mut dyn Any;
    fn publish(&mut self, now: Instant) -> Option<Instant>;
}

impl<S: Subscriber> AnySubscriber for S {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn publish(&mut self, now: Instant) -> Option<Instant> {
        Subscriber::publish(self, now)
    }
}

/// The task, as a factory: supervision calls it again after a panic.
fn task(
    commands: mpsc::UnboundedReceiver<Command>,
) -> impl FnMut() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let feeds = Feeds { commands, pending: Vec::new(), all: BTreeMap::new(), makers: BTreeMap::new() };
    let feeds = Arc::new(Mutex::new(feeds));
    let mut started_before = false;
    move || {
        let feeds = Arc::clone(&feeds);
        let restarted = std::mem::replace(&mut started_before, true);
        Box::pin(async move {
            let mut feeds = feeds.lock().await;
            run(&mut feeds, restarted).await;
        })
    }
}

async fn run(feeds: &mut Feeds, restarted: bool) {
    let made = feeds.makers.iter_mut().map(|(id, make)| (*id, Live::new(make(restarted))));
    let mut consumers: Consumers = made.collect();
    if restarted {
        feeds.all.values_mut().for_each(|feed| feed.restart(&mut consumers));
    }
    loop {
        let publish_at = consumers.values().filter_map(|live| live.publish_at).min();
        let events = poll_fn(|cx| feeds.poll(cx));
        match publish_at {
            Some(at) => drop(timeout_at(at, events).await),
            None => events.await,
        }
        for command in std::mem::take(&mut feeds.pending) {
            command(feeds, &mut consumers);
        }
        feeds.all.values_mut().for_each(|feed| feed.deliver(&mut consumers));
        let now = Instant::now();
        for live in consumers.values_mut() {
            if std::mem::take(&mut live.touched) || live.publish_at.is_some_and(|at| at <= now) {
                live.publish_at = live.subscriber.publish(now);
            }
        }
    }
}

impl Feeds {
    /// Ready if there are commands or events.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) {
            self.pending.push(command);
        }
        let mut ready = !self.pending.is_empty();
        for feed in self.all.values_mut() {
            ready |= feed.poll(cx).is_ready();
        }
        if ready { Poll::Ready(()) } else { Poll::Pending }
    }
}
