//! Plain UDP, on a thread with a [`net::Reactor`]: a worker sends and receives the queries it forwards itself.
//!
//! ```text
//! send ──→ peer ──→ socket (shared by a few queries) ──→ outbox ── settle: one sendmmsg per socket ──→ upstream
//!   │                  └ (id, exchange)…                             deadlines, sweeping
//!   └→ ReplyFuture ←─ woken ── exchange ←── by id ── ready: one recvmmsg per socket ←───────────────── upstream
//! ```
//!
//! All data belong to one thread, without locks. On a thread without a reactor, [`send`] returns None. The future may
//! still move to another thread; there it yields [`UdpReply::Unavailable`]. In both cases the caller uses `thread.rs`,
//! one more thread with the same client, for tasks of tokio.

mod exchanges;
mod reply;
mod slots;
mod sockets;
pub(crate) mod thread;
mod traffic;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use net::{Handler, Registration};

use crate::dial::Endpoint;
use crate::error::Cause;
use crate::pool::Limits;
use crate::{Error, Network};
pub(crate) use reply::{ReplyFuture, UdpReply};
use slots::Key;
use traffic::Traffic;

/// A socket is replaced after this many queries, so that guessing its port is not worthwhile.
pub(crate) const MAX_USES: u32 = 100;

/// The capacity of a thread's client.
#[derive(Clone, Copy)]
struct Capacity {
    /// The largest reply received.
    max_reply: usize,
    /// Maximum number of queries in flight on one socket: as many replies of the largest size fit into its receive
    /// buffer.
    max_in_flight: usize,
}

impl Capacity {
    const WORKER: Capacity = Capacity { max_reply: 4096, max_in_flight: 16 };
}

/// The state of an upstream that all threads share.
#[derive(Default)]
pub(crate) struct UdpState {
    stopped: AtomicBool,
    /// Idle sockets of all threads; counted only if their number is limited.
    idle: AtomicUsize,
}

impl UdpState {
    /// Stops further queries on workers and the use of idle sockets; threads close their idle sockets at the next sweep.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The upstream of a query, and its settings.
pub(crate) struct Target<'a> {
    pub(crate) state: &'a Arc<UdpState>,
    pub(crate) endpoint: Endpoint,
    pub(crate) limits: Limits,
    pub(crate) read_timeout: Duration,
    /// Use a new socket, and only for this query.
    pub(crate) own_socket: bool,
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
    if size > Capacity::WORKER.max_reply || target.state.is_stopped() {
        return None;
    }
    let client = Client::get().or_else(|| Client::register(Capacity::WORKER))?;
    let begun = client.begin(target, id, packet);
    Some(begun.map(|(exchange, dialed)| QueuedQuery { reply: ReplyFuture::new(client.id, exchange), dialed }))
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

    /// Registers a client with this thread's reactor; None if it has none.
    fn register(capacity: Capacity) -> Option<Rc<Client>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let client = Registration::register(|registration| {
            let id = COUNT.fetch_add(1, Ordering::Relaxed);
            Rc::new(Client { id, registration, traffic: RefCell::new(Traffic::new(capacity)) })
        })?;
        CLIENT.set(Rc::downgrade(&client));
        Some(client)
    }

    /// Queues a query. Returns its exchange, and how long a new socket took to open.
    fn begin(&self, target: &Target<'_>, id: u16, packet: &[u8]) -> Result<(Key, Option<Duration>), Error> {
        let now = Instant::now();
        let Traffic { sockets, exchanges, unsent, .. } = &mut *self.traffic.borrow_mut();
        let peer = sockets.peer(target.state, &target.limits);
        let chosen = if target.own_socket { None } else { sockets.choose(peer, id, now) };
        let (key, dialed) = match chosen {
            Some(key) => (key, None),
            None => {
                let opened = sockets::open(&target.endpoint)?;
                let dialed = now.elapsed();
                let key = sockets.add(peer, opened, now);
                let watched = sockets.get(key).map(|socket| self.registration.add(&socket.socket, key.index));
                if let Some(Err(error)) = watched {
                    sockets.close(key);
                    return Err(target.endpoint.dial_error(Network::Udp, Cause::system("socket", &error)));
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
            if target.own_socket {
                socket.retire();
            }
        }
        Ok((exchange, dialed))
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
