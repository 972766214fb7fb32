//! The handle of one API server: its watches, which consumers share, and its writers.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::access::{Access, AccessError, ClusterId, Credentials};
use crate::backoff::Limits;
use crate::consumer::{Consumer, Subscriber};
use crate::delivery::{Delivery, FeedSender};
use crate::discovery::Discovery;
use crate::log::{Level, log};
use crate::reflector::Reflector;
use crate::resource::Resource;
use crate::scope::Scope;
use crate::status::{LostOnDrop, WatchStatus};
use crate::write::Writer;

/// One API server, with at most one watch per resource and scope, and one connection for all of them.
pub struct ApiServer {
    id: ClusterId,
    access: Arc<Access>,
    discovery: Arc<Discovery>,
    delivery: Arc<Delivery>,
    limits: Limits,
    runtime: Handle,
    watches: Mutex<Vec<KnownWatch>>,
}

struct KnownWatch {
    resource: TypeId,
    scope: Scope,
    watch: Weak<Watch>,
}

/// A watch, until its last subscription is dropped.
struct Watch {
    /// [`FeedSender`] of the resource.
    feed: Box<dyn Any + Send + Sync>,
    feed_id: u64,
    status: Arc<WatchStatus>,
    task: Mutex<Option<AbortHandle>>,
    delivery: Arc<Delivery>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
        self.delivery.remove_feed(self.feed_id);
    }
}

struct OpenServer {
    id: ClusterId,
    credentials: Box<dyn Any + Send>,
    server: Weak<ApiServer>,
}

static OPEN: Mutex<Vec<OpenServer>> = Mutex::new(Vec::new());

impl ApiServer {
    /// The API server of this id and login, shared by all parts of the process that use it, on the current tokio runtime.
    /// Loads the credentials, without a request. Fails only on permanent errors, such as an unreadable kubeconfig.
    pub fn open<C: Credentials + Clone + Eq>(
        id: &ClusterId,
        credentials: C,
    ) -> Result<Arc<Self>, AccessError> {
        let runtime = Handle::try_current().map_err(|_| {
            AccessError(format!("{id}: a watch needs a tokio runtime, and the caller runs on none"))
        })?;
        let mut open = lock(&OPEN);
        open.retain(|it| it.server.strong_count() > 0);
        let same = |it: &&OpenServer| it.id == *id && it.credentials.downcast_ref() == Some(&credentials);
        if let Some(server) = open.iter().find(same).and_then(|it| it.server.upgrade()) {
            return Ok(server);
        }
        let server = Self::start(id, credentials.clone(), Limits::default(), &runtime)?;
        let weak = Arc::downgrade(&server);
        open.push(OpenServer { id: id.clone(), credentials: Box::new(credentials), server: weak });
        Ok(server)
    }

    /// As [`ApiServer::open`], not shared and with other limits.
    pub fn start(
        id: &ClusterId,
        credentials: impl Credentials,
        limits: Limits,
        runtime: &Handle,
    ) -> Result<Arc<Self>, AccessError> {
        let _entered = runtime.enter();
        Ok(Arc::new(Self {
            id: id.clone(),
            access: Arc::new(Access::open(id, credentials, limits)?),
            discovery: Arc::default(),
            delivery: Arc::new(Delivery::start(runtime)),
            limits,
            runtime: runtime.clone(),
            watches: Mutex::default(),
        }))
    }

    pub fn id(&self) -> &ClusterId {
        &self.id
    }

    /// Without a slash at the end.
    pub fn url(&self) -> &str {
        self.access.url()
    }

    /// Subscribes a consumer to the resources that the caller adds. `make` makes the consumer, and again, with true, after a
    /// panic that it did not catch.
    pub fn subscribe<S: Subscriber>(
        self: &Arc<Self>,
        make: impl FnMut(bool) -> S + Send + 'static,
    ) -> Subscribing<S> {
        Subscribing { server: Arc::clone(self), make: Box::new(make), resources: Vec::new() }
    }

    /// A handle to write objects, under a field manager of its own.
    pub fn writer(&self, field_manager: &str) -> Writer {
        Writer::new(&self.access, &self.discovery, self.limits, field_manager)
    }

    /// The status of every watch, for metrics.
    pub(crate) fn statuses(&self) -> Vec<Arc<WatchStatus>> {
        let watches = lock(&self.watches);
        watches.iter().filter_map(|known| Some(Arc::clone(&known.watch.upgrade()?.status))).collect()
    }
}

/// All API servers that are shared now.
pub(crate) fn all_open() -> Vec<Arc<ApiServer>> {
    lock(&OPEN).iter().filter_map(|it| it.server.upgrade()).collect()
}

/// A subscription before it starts.
pub struct Subscribing<S> {
    server: Arc<ApiServer>,
    make: Box<dyn FnMut(bool) -> S + Send>,
    resources: Vec<(Join, Scope)>,
}

type Join = fn(&ApiServer, &mut Vec<KnownWatch>, u64, Scope) -> (Arc<Watch>, Option<Start>);
type Start = Box<dyn FnOnce(&ApiServer)>;

impl<S: Subscriber> Subscribing<S> {
    /// Adds a resource.
    pub fn to<R: Resource>(mut self, scope: Scope) -> Self
    where
        S: Consumer<R>,
    {
        self.resources.push((join::<S, R>, scope));
        self
    }

    /// Starts the watches that are not shared, and asks the others for a list.
    pub fn start(self) -> Subscription {
        let server = self.server;
        let consumer = server.delivery.add_consumer(self.make);
        let (mut watches, mut starts) = (Vec::new(), Vec::new());
        let mut known = lock(&server.watches);
        known.retain(|known| known.watch.strong_count() > 0);
        let mut late = Vec::new();
        for (join, scope) in self.resources {
            let (watch, start) = join(&server, &mut known, consumer, scope);
            late.extend(start.is_some().then(|| Arc::clone(&watch.status)));
            starts.extend(start);
            watches.push(watch);
        }
        drop(known);
        // After the subscriptions, so that these get the first list.
        starts.into_iter().for_each(|start| start(&server));
        let first_answer = (!late.is_empty()).then(|| {
            let (id, host, limits) = (server.id.clone(), server.access.host().to_owned(), server.limits);
            supervise::spawn(&server.runtime, "cluster-first-answer", move || {
                log_if_late(id.clone(), host.clone(), late.clone(), limits)
            })
        });
        Subscription { server, consumer, watches, first_answer }
    }
}

/// Subscribes a consumer to the watch of a resource, which is new if it must be started.
fn join<S: Consumer<R>, R: Resource>(
    server: &ApiServer,
    known: &mut Vec<KnownWatch>,
    consumer: u64,
    scope: Scope,
) -> (Arc<Watch>, Option<Start>) {
    let same = known.iter().find(|it| it.resource == TypeId::of::<R>() && it.scope == scope);
    if let Some(watch) = same.and_then(|known| known.watch.upgrade()) {
        if let Some(feed) = watch.feed.downcast_ref::<FeedSender<R>>() {
            server.delivery.subscribe::<S, R>(consumer, feed);
        }
        return (watch, None);
    }
    let feed = server.delivery.add_feed::<R>();
    server.delivery.subscribe::<S, R>(consumer, &feed);
    let status = Arc::new(WatchStatus::new(server.id.as_str(), R::PLURAL));
    let watch = Arc::new(Watch {
        feed_id: feed.id,
        feed: Box::new(feed.clone()),
        status: Arc::clone(&status),
        task: Mutex::default(),
        delivery: Arc::clone(&server.delivery),
    });
    known.push(KnownWatch {
        resource: TypeId::of::<R>(),
        scope: scope.clone(),
        watch: Arc::downgrade(&watch),
    });
    let started = Arc::downgrade(&watch);
    let start = move |server: &ApiServer| {
        let task = start_reflector::<R>(server, feed, status, scope);
        match started.upgrade() {
            Some(watch) => *lock(&watch.task) = Some(task),
            None => task.abort(),
        }
    };
    (watch, Some(Box::new(start)))
}

fn start_reflector<R: Resource>(
    server: &ApiServer,
    feed: FeedSender<R>,
    status: Arc<WatchStatus>,
    scope: Scope,
) -> AbortHandle {
    let name = format!("cluster-watch-{}", R::PLURAL);
    let (access, discovery, limits) =
        (Arc::clone(&server.access), Arc::clone(&server.discovery), server.limits);
    let (task, mut started_before) = (name.clone(), false);
    supervise::spawn(&server.runtime, name, move || {
        let restarted = std::mem::replace(&mut started_before, true);
        let (access, discovery) = (Arc::clone(&access), Arc::clone(&discovery));
        let reflector =
            Reflector::<R>::new(&task, access, discovery, &status, &feed, &scope, limits, restarted);
        let status = [Arc::clone(&status)];
        async move {
            let _lost = LostOnDrop(&status);
            reflector.run().await;
        }
    })
}

/// A consumer and its watches, until this is dropped.
pub struct Subscription {
    server: Arc<ApiServer>,
    consumer: u64,
    watches: Vec<Arc<Watch>>,
    first_answer: Option<AbortHandle>,
}

impl Subscription {
    pub fn server(&self) -> &Arc<ApiServer> {
        &self.server
    }

    /// The status of each resource, in the order in which they were added.
    pub fn statuses(&self) -> impl Iterator<Item = &Arc<WatchStatus>> {
        self.watches.iter().map(|watch| &watch.status)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.server.delivery.remove_consumer(self.consumer);
        if let Some(task) = &self.first_answer {
            task.abort();
        }
    }
}

/// Logs once which resources have no response yet if the first one takes long: its failure would be logged only after the
/// response timeout, half a minute.
async fn log_if_late(id: ClusterId, host: String, statuses: Vec<Arc<WatchStatus>>, limits: Limits) {
    tokio::time::sleep(limits.first_response).await;
    let waiting: Vec<_> = statuses.iter().filter(|it| it.is_unanswered()).map(|it| it.resource()).collect();
    if !waiting.is_empty() {
        let resources = waiting.join(", ");
        log(Level::Warning, &format!("{id}: still waiting for a first answer from {host}, for {resources}"));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
