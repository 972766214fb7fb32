//! UDP workers: threads that receive, answer and send in batches. No async, no lock, no allocation here.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use std::{io, thread};

use net::{Epoll, Events, RecvBatch, ReplyTo, SendBatch, UdpSocket, Waker};

use crate::endpoint::Endpoint;
use crate::exchange::{self, Handled};
use crate::permit::Permit;
use crate::proxied::sessions::Sessions;
use crate::walk::{Pending, Walk};
use crate::{Block, Client, Messages, Service, Transport, log, proxied, runtime};

/// Packets per system call.
const BATCH: usize = 32;
/// The largest query taken; larger ones are cut and fail to parse.
const QUERY_BYTES: usize = 4096;
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
    waker: Waker,
    orders: Mutex<Vec<Order>>,
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
            let inbox = Arc::new(Inbox { waker: Waker::new()?, orders: Mutex::new(Vec::new()) });
            let epoll = Epoll::new()?;
            epoll.add(&inbox.waker, WAKE)?;
            let theirs = inbox.clone();
            let thread = thread::Builder::new().name(format!("rhumb-udp-{number}")).spawn(move || {
                metrics::set_shard(number);
                // Plugins make their timers and tasks here, before the walk moves to tokio.
                let _entered = runtime::handle().enter();
                log::attach();
                work(&theirs, &epoll);
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
        // Ends with an error once every worker has dropped its sender.
        while all_done.recv().is_ok() {}
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

fn work(inbox: &Inbox, epoll: &Epoll) {
    let mut sockets: Vec<Option<Served>> = Vec::new();
    let mut events = Events::with_capacity(64);
    let mut desk = Desk::new();
    loop {
        if let Err(error) = epoll.wait(&mut events, None) {
            log::error(None, format_args!("waiting for packets: {error}"));
            return;
        }
        let mut orders = Vec::new();
        for token in events.tokens() {
            if token == WAKE {
                inbox.waker.drain();
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
                    if let Err(error) = epoll.add(&*socket, free as u64) {
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
                            let _ = epoll.remove(&*served.socket);
                        }
                    }
                    let _ = done.send(());
                }
                Order::Stop => return,
            }
        }
    }
}

/// A worker's buffers and the walk it uses for one query after the other.
struct Desk {
    incoming: RecvBatch,
    outgoing: SendBatch,
    walk: Box<Walk>,
}

impl Desk {
    fn new() -> Desk {
        Desk {
            incoming: RecvBatch::new(BATCH, QUERY_BYTES),
            outgoing: SendBatch::new(BATCH),
            walk: Box::new(Walk::new()),
        }
    }

    /// Answers what is on a socket, at most so many batches.
    fn answer(&mut self, served: &mut Served, rounds: usize) {
        for _ in 0..rounds {
            let count = match self.incoming.recv(&served.socket) {
                Ok(0) => return,
                Ok(count) => count,
                // Errors of earlier replies, such as an unreachable peer, come back here and mean nothing.
                Err(_) => return,
            };
            // The service is held for this batch only, so that an old one goes as soon as it is replaced.
            let service = served.endpoint.service.load();
            for i in 0..count {
                self.answer_one(i, served, &service);
            }
            self.send(&served.socket, &service);
            if count < BATCH {
                return;
            }
        }
    }

    /// Has the batch leave.
    fn send(&mut self, socket: &Arc<UdpSocket>, service: &Service) {
        match &service.backlog {
            None => {
                self.outgoing.send(socket);
            }
            Some(backlog) => {
                let report = self.outgoing.offer(socket, |bytes, to| backlog.keep(socket, bytes, to));
                backlog.lose(report.failed);
            }
        }
    }

    fn answer_one(&mut self, i: usize, served: &mut Served, service: &Arc<Service>) {
        let packet = self.incoming.packet(i);
        let local = match packet.local {
            Some(ip) => SocketAddr::new(ip, served.endpoint.bound.port()),
            None => served.endpoint.bound,
        };
        let mut client = Client { remote: packet.remote, local, transport: Transport::Udp };
        let mut query = packet.bytes;
        if let Some(proxied) = &service.proxied {
            let now = Instant::now();
            match proxied.unwrap(packet.bytes, packet.remote, now, &mut served.sessions) {
                Ok(Some(unwrapped)) => {
                    client.remote = unwrapped.client.unwrap_or(packet.remote);
                    self.walk.announce(unwrapped.tlvs);
                    query = unwrapped.payload;
                }
                Ok(None) => return,
                Err(why) => return proxied::warn(packet.remote, why),
            }
        } else {
            self.walk.announce(&[]);
        }
        let out = self.outgoing.buffer();
        match exchange::handle(service, &mut self.walk, client, query, out) {
            Handled::Reply => self.outgoing.commit(&packet.reply_to),
            Handled::Nothing => {}
            Handled::Waiting(pending, block) => match Permit::take() {
                Some(permit) => {
                    let walk = std::mem::take(&mut self.walk);
                    let later = Later {
                        walk,
                        block,
                        service: service.clone(),
                        socket: served.socket.clone(),
                        to: packet.reply_to,
                    };
                    runtime::handle().spawn(later.finish(pending, permit));
                }
                None => {
                    self.walk.recover();
                    if self.walk.encode(None, out) {
                        self.outgoing.commit(&packet.reply_to);
                    }
                }
            },
            Handled::Streaming(messages, block) => {
                let walk = std::mem::take(&mut self.walk);
                let mut later = Later {
                    walk,
                    block,
                    service: service.clone(),
                    socket: served.socket.clone(),
                    to: packet.reply_to,
                };
                later.stream(messages);
                self.walk = later.walk;
            }
        }
    }
}

/// A query that is answered outside its batch.
struct Later {
    walk: Box<Walk>,
    block: Arc<Block>,
    service: Arc<Service>,
    socket: Arc<UdpSocket>,
    to: ReplyTo,
}

impl Later {
    async fn finish(mut self, pending: Pending, permit: Permit) {
        let mut out = Vec::with_capacity(512);
        match exchange::complete(&self.service, &mut self.walk, pending, &self.block, &mut out).await {
            Handled::Reply => self.send(&out),
            Handled::Streaming(messages, _) => self.stream(messages),
            Handled::Nothing | Handled::Waiting(..) => {}
        }
        drop(permit);
    }

    fn send(&self, bytes: &[u8]) {
        match &self.service.backlog {
            Some(backlog) => backlog.send(&self.socket, bytes, &self.to),
            None => {
                let _ = self.socket.send_to(bytes, &self.to);
            }
        }
    }

    fn stream(&mut self, mut messages: Box<dyn Messages>) {
        let mut out = Vec::new();
        while self.walk.stream_next(messages.as_mut(), &self.block, &self.service) {
            if self.walk.encode(Some(&self.block), &mut out) {
                self.send(&out);
            }
        }
    }
}
