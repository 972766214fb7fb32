//! Plain UDP without leaving the thread: what a worker forwards it sends and receives itself.
//!
//! ```text
//! ask ──→ peer ──→ socket (shared by a few queries) ──→ outbox ── settle: one sendmmsg per socket ──→ upstream
//!   │                 └ (id, exchange)…                             deadlines, sweeping
//!   └→ Waiting ←─ woken ── exchange ←── by id ── ready: one recvmmsg per socket ←──────────────────── upstream
//! ```
//!
//! All of it is memory of one thread: no lock, no other thread. A thread without a [`net::Reactor`] has none of this,
//! and [`ask`] says so. The future may be moved to another thread nevertheless; there it ends as
//! [`Landed::Elsewhere`], and the query is asked again in the other way.

mod exchanges;
mod slots;
mod sockets;
mod traffic;
mod waiting;

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
use slots::Key;
use traffic::{LARGEST, Traffic};
pub(crate) use waiting::{Landed, Waiting};

/// What the threads that ask an upstream have in common.
#[derive(Default)]
pub(crate) struct Gate {
    stopped: AtomicBool,
    /// Idle sockets of all threads; counted only where they are bounded.
    idle: AtomicUsize,
}

impl Gate {
    /// From now on nothing is asked here; threads close what is idle when they get to it.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Whom to ask, and how.
pub(crate) struct To<'a> {
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) addr: SocketAddr,
    pub(crate) source: Option<IpAddr>,
    pub(crate) limits: Limits,
    pub(crate) read_timeout: Duration,
}

/// A query that was taken.
pub(crate) struct Taken {
    pub(crate) waiting: Waiting,
    /// How long a new socket took to open; none if one was open.
    pub(crate) dialed: Option<Duration>,
}

/// The socket a query went by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    socket: Key,
    pub(crate) local: Option<SocketAddr>,
}

/// Takes a query that is sent when the thread settles. None if the thread, the size or the upstream is not for that.
pub(crate) fn ask(to: &To<'_>, packet: &[u8], size: usize) -> Option<Result<Taken, Error>> {
    let id = id(packet)?;
    if size > LARGEST || to.gate.is_stopped() {
        return None;
    }
    Some(Client::here()?.ask(to, id, packet))
}

/// The reply that came this way was none: no further query goes there.
pub(crate) fn distrust(way: Way) {
    if let Some(client) = Client::known() {
        client.traffic.borrow_mut().sockets.retire(way.socket, Instant::now());
    }
}

fn id(packet: &[u8]) -> Option<u16> {
    packet.first_chunk().map(|id| u16::from_be_bytes(*id))
}

/// All that this thread asks.
struct Client {
    /// Tells threads apart; none has the number of another.
    number: u64,
    registration: Registration,
    traffic: RefCell<Traffic>,
}

thread_local! {
    static CLIENT: RefCell<Weak<Client>> = const { RefCell::new(Weak::new()) };
}

impl Client {
    fn known() -> Option<Rc<Client>> {
        CLIENT.with_borrow(Weak::upgrade)
    }

    fn here() -> Option<Rc<Client>> {
        Client::known().or_else(|| {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let client = Registration::register(|registration| {
                let number = COUNT.fetch_add(1, Ordering::Relaxed);
                Rc::new(Client { number, registration, traffic: RefCell::new(Traffic::new()) })
            })?;
            CLIENT.set(Rc::downgrade(&client));
            Some(client)
        })
    }

    fn ask(&self, to: &To<'_>, id: u16, packet: &[u8]) -> Result<Taken, Error> {
        let now = Instant::now();
        let Traffic { sockets, exchanges, unsent, .. } = &mut *self.traffic.borrow_mut();
        let peer = sockets.peer(to.gate, &to.limits);
        let (key, dialed) = match sockets.choose(peer, id, now) {
            Some(key) => (key, None),
            None => {
                let opened = udp::open(to.addr, to.source)?;
                let dialed = now.elapsed();
                let key = sockets.add(peer, opened, now);
                let watched = sockets.get(key).map(|socket| self.registration.add(&socket.socket, key.index));
                if let Some(Err(error)) = watched {
                    sockets.close(key);
                    return Err(udp::dial_error(to.addr, to.source, "socket", &error));
                }
                (key, Some(dialed))
            }
        };
        let local = sockets.get(key).and_then(|socket| socket.local);
        let exchange = exchanges.begin(Way { socket: key, local }, now, to.read_timeout);
        if let Some(socket) = sockets.get(key) {
            if socket.unsent.is_empty() {
                unsent.push(key);
            }
            socket.load(id, exchange, packet);
        }
        Ok(Taken { waiting: Waiting::new(self.number, exchange), dialed })
    }

    /// Wakes whom it may concern. Nothing is borrowed then: they may come back at once.
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
            traffic.tend()
        };
        self.wake();
        next
    }
}
