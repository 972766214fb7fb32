//! Plain UDP on a worker's own thread: the worker sends and receives the queries it forwards itself.
//!
//! ```text
//! send ──→ peer ──→ socket (shared by a few queries) ──→ outbox ── settle: one sendmmsg per socket ──→ upstream
//!   │                  └ (id, exchange)…                             deadlines, sweeping
//!   └→ ReplyFuture ←─ woken ── exchange ←── by id ── ready: one recvmmsg per socket ←───────────────── upstream
//! ```
//!
//! All data belong to one thread, without locks. On a thread without a [`net::Reactor`], [`send`] returns None. The
//! future may still move to another thread; there it yields [`WorkerReply::Unavailable`], and the caller sends the query
//! over a pooled socket.

mod exchanges;
mod reply;
mod slots;
mod sockets;
mod traffic;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use net::{Handler, Registration};

use crate::Error;
use crate::pool::Limits;
use crate::udp;
pub(crate) use reply::{ReplyFuture, WorkerReply};
use slots::Key;
use traffic::{MAX_REPLY, Traffic};

/// The state of an upstream that all worker threads share.
#[derive(Default)]
pub(crate) struct WorkerState {
    stopped: AtomicBool,
    /// Idle sockets of all threads; counted only if their number is limited.
    idle: AtomicUsize,
}

impl WorkerState {
    /// Stops further queries on workers; threads close their idle sockets at the next sweep.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The upstream of a query, and its settings.
pub(crate) struct Target<'a> {
    pub(crate) state: &'a Arc<WorkerState>,
    pub(crate) addr: SocketAddr,
    pub(crate) source: Option<IpAddr>,
    pub(crate) limits: Limits,
    pub(crate) read_timeout: Duration,
}

/// A query accepted for sending.
pub(crate) struct QueuedQuery {
    pub(crate) reply: ReplyFuture,
    /// How long a new socket took to open; None if one was open.
    pub(crate) dialed: Option<Duration>,
}

/// The socket of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketRef {
    key: Key,
    pub(crate) local: Option<SocketAddr>,
}

/// Queues a query, which is sent when the thread settles. None if this thread is no worker, the client accepts larger
/// replies, or the upstream is stopped.
pub(crate) fn send(target: &Target<'_>, packet: &[u8], size: usize) -> Option<Result<QueuedQuery, Error>> {
    let id = id(packet)?;
    if size > MAX_REPLY || target.state.is_stopped() {
        return None;
    }
    Some(Client::get_or_register()?.send(target, id, packet))
}

/// Retires a socket that received an invalid reply: no further query uses it.
pub(crate) fn retire(socket: SocketRef) {
    if let Some(client) = Client::get() {
        client.traffic.borrow_mut().sockets.retire(socket.key, Instant::now());
    }
}

fn id(packet: &[u8]) -> Option<u16> {
    packet.first_chunk().map(|id| u16::from_be_bytes(*id))
}

/// The UDP client of one thread.
struct Client {
    /// Unique per thread.
    id: u64,
    registration: Registration,
    traffic: RefCell<Traffic>,
}

thread_local! {
    static CLIENT: RefCell<Weak<Client>> = const { RefCell::new(Weak::new()) };
}

impl Client {
    fn get() -> Option<Rc<Client>> {
        CLIENT.with_borrow(Weak::upgrade)
    }

    fn get_or_register() -> Option<Rc<Client>> {
        Client::get().or_else(|| {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let client = Registration::register(|registration| {
                let id = COUNT.fetch_add(1, Ordering::Relaxed);
                Rc::new(Client { id, registration, traffic: RefCell::new(Traffic::new()) })
            })?;
            CLIENT.set(Rc::downgrade(&client));
            Some(client)
        })
    }

    fn send(&self, target: &Target<'_>, id: u16, packet: &[u8]) -> Result<QueuedQuery, Error> {
        let now = Instant::now();
        let Traffic { sockets, exchanges, unsent, .. } = &mut *self.traffic.borrow_mut();
        let peer = sockets.peer(target.state, &target.limits);
        let (key, dialed) = match sockets.choose(peer, id, now) {
            Some(key) => (key, None),
            None => {
                let opened = udp::open(target.addr, target.source)?;
                let dialed = now.elapsed();
                let key = sockets.add(peer, opened, now);
                let watched = sockets.get(key).map(|socket| self.registration.add(&socket.socket, key.index));
                if let Some(Err(error)) = watched {
                    sockets.close(key);
                    return Err(udp::dial_error(target.addr, target.source, "socket", &error));
                }
                (key, Some(dialed))
            }
        };
        let local = sockets.get(key).and_then(|socket| socket.local);
        let exchange = exchanges.begin(SocketRef { key, local }, now, target.read_timeout);
        if let Some(socket) = sockets.get(key) {
            if socket.unsent.is_empty() {
                unsent.push(key);
            }
            socket.enqueue(id, exchange, packet);
        }
        Ok(QueuedQuery { reply: ReplyFuture::new(self.id, exchange), dialed })
    }

    /// Wakes the futures of finished exchanges. Nothing is borrowed meanwhile: they may call back at once.
    fn wake(&self) {
        let mut woken = self.traffic.borrow_mut().exchanges.take_woken();
        woken.drain(..).for_each(Waker::wake);
        self.traffic.borrow_mut().exchanges.reuse_woken(woken);
    }
}

impl Handler for Client {
    fn ready(&self, key: u32) {
        self.traffic.borrow_mut().receive(key);
        self.wake();
    }

    fn before_wait(&self) -> Option<Instant> {
        let next = {
            let traffic = &mut *self.traffic.borrow_mut();
            traffic.flush();
            traffic.expire()
        };
        self.wake();
        next
    }
}
