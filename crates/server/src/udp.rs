//! UDP workers: threads that receive, answer and send in batches. No lock and no allocation for what is answered at
//! once.
//!
//! ```text
//! wait ─→ packets of clients ─→ walk ─→ reply ──────────────────────────────────────→ sendmmsg
//!   │                             └─ Wait ─→ parked (or tokio) ←─┐                        ↑
//!   └───→ what handlers wait for (answers of upstreams) ─ wakes ┴─→ walk goes on ─→ reply ┘
//! ```

mod desk;
mod later;
mod parked;

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use net::{Epoll, Events, Reactor, UdpSocket, Waker};

use crate::endpoint::Endpoint;
use crate::proxied::sessions::Sessions;
use crate::{log, runtime};
use desk::Desk;
use later::Finished;
use parked::{Bell, Parked};

/// How long workers may take before somebody looks whether they are still there.
const PATIENCE: Duration = Duration::from_secs(1);
/// Batches taken from one socket before looking at the others.
const ROUNDS: usize = 8;
/// The epoll token of the waker; sockets count from zero.
const WAKE: u64 = u64::MAX;

/// All worker threads.
pub(crate) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

struct Inbox {
    waker: Arc<Waker>,
    orders: Mutex<Vec<Order>>,
    bell: Arc<Bell>,
}

enum Order {
    Serve(Arc<UdpSocket>, Arc<Endpoint>),
    /// Answer what is queued on the endpoint's socket, close it and say so.
    Close(Arc<Endpoint>, mpsc::Sender<()>),
    Stop,
}

impl Workers {
    pub fn start(count: usize) -> io::Result<Workers> {
        let mut workers = Workers { workers: Vec::new() };
        workers.grow(count.max(1))?;
        Ok(workers)
    }

    /// Starts more workers, until there are so many.
    pub fn grow(&mut self, count: usize) -> io::Result<()> {
        for number in self.workers.len()..count {
            let waker = Arc::new(Waker::new()?);
            let epoll = Epoll::new()?;
            epoll.add(&waker, WAKE)?;
            let bell = Bell::new(Arc::clone(&waker));
            let inbox = Arc::new(Inbox { waker, orders: Mutex::new(Vec::new()), bell });
            let theirs = inbox.clone();
            let thread = thread::Builder::new().name(format!("rhumb-udp-{number}")).spawn(move || {
                metrics::set_shard(number);
                // Plugins make their timers and tasks here, before the walk moves to tokio.
                let _entered = runtime::handle().enter();
                log::attach();
                work(&theirs, &Reactor::open(epoll));
            })?;
            self.workers.push(Worker { inbox, thread: Some(thread) });
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Deals the sockets of an endpoint out to the workers.
    pub fn serve(&self, endpoint: &Arc<Endpoint>, sockets: Vec<Arc<UdpSocket>>) {
        for (worker, socket) in self.workers.iter().cycle().zip(sockets) {
            worker.order(Order::Serve(socket, endpoint.clone()));
        }
    }

    /// Gives up an endpoint: what has arrived is still answered. Returns when all workers are through.
    pub fn close(&self, endpoint: &Arc<Endpoint>) {
        let (done, all_done) = mpsc::channel();
        for worker in &self.workers {
            worker.order(Order::Close(endpoint.clone(), done.clone()));
        }
        drop(done);
        // Ends once every worker has dropped its sender. One whose thread is gone never does.
        while all_done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Disconnected) {
            self.workers.iter().filter(|worker| worker.is_gone()).for_each(Worker::forget_orders);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &self.workers {
            worker.order(Order::Stop);
        }
        for thread in self.workers.iter_mut().filter_map(|worker| worker.thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn forget_orders(&self) {
        if let Ok(mut orders) = self.inbox.orders.lock() {
            orders.clear();
        }
    }

    fn order(&self, order: Order) {
        if let Ok(mut orders) = self.inbox.orders.lock() {
            orders.push(order);
        }
        self.inbox.waker.wake();
    }
}

/// A socket in a worker's hands.
struct Served {
    socket: Arc<UdpSocket>,
    endpoint: Arc<Endpoint>,
    /// Whom senders spoke for; empty unless clients come through proxies.
    sessions: Sessions,
}

fn work(inbox: &Inbox, reactor: &Reactor) {
    let mut sockets: Vec<Option<Served>> = Vec::new();
    let mut events = Events::with_capacity(64);
    let parked = Parked::new(Arc::clone(&inbox.bell), Finished::await_elsewhere);
    let mut desk = Desk::new(reactor, parked);
    let mut until: Option<Instant> = None;
    loop {
        let timeout = match until {
            _ if desk.parked.is_woken() => Some(Duration::ZERO),
            until => until.map(|until| until.saturating_duration_since(Instant::now())),
        };
        if let Err(error) = reactor.wait(&mut events, timeout) {
            log::error(None, format_args!("waiting for packets: {error}"));
            return;
        }
        let mut orders = Vec::new();
        for token in events.tokens().filter_map(|token| reactor.pass_on(token)) {
            if token == WAKE {
                inbox.waker.drain();
                inbox.bell.collect();
                if let Ok(mut waiting) = inbox.orders.lock() {
                    orders.append(&mut waiting);
                }
            } else if let Some(Some(served)) = sockets.get_mut(token as usize) {
                desk.answer(served, ROUNDS);
            }
        }
        for order in orders {
            match order {
                Order::Serve(socket, endpoint) => {
                    let free = sockets.iter().position(Option::is_none).unwrap_or(sockets.len());
                    if free == sockets.len() {
                        sockets.push(None);
                    }
                    if let Err(error) = reactor.add(&*socket, free as u32) {
                        log::error(None, format_args!("watching {}: {error}", endpoint.address));
                        continue;
                    }
                    sockets[free] = Some(Served { socket, endpoint, sessions: Sessions::default() });
                }
                Order::Close(endpoint, done) => {
                    for place in &mut sockets {
                        if place.as_ref().is_some_and(|served| Arc::ptr_eq(&served.endpoint, &endpoint))
                            && let Some(mut served) = place.take()
                        {
                            desk.answer(&mut served, usize::MAX);
                            let _ = reactor.remove(&*served.socket);
                        }
                    }
                    let _ = done.send(());
                }
                Order::Stop => return,
            }
        }
        desk.go_on();
        until = reactor.settle();
    }
}
