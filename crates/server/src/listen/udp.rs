//! UDP workers: threads that receive, answer and send in batches. A query that does not wait takes no lock and no
//! allocation.
//!
//! ```text
//! wait ─→ packets of clients ─→ walk ─→ reply ──────────────────────────────────────→ sendmmsg
//!   │                             └─ Wait ─→ parked (or tokio) ←─┐                        ↑
//!   └───→ events of handlers (answers of upstreams) ─── wakes ───┴→ walk resumes ─→ reply ┘
//! ```

mod batch_server;
mod deferred;
mod parked;

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use net::{Epoll, Events, Reactor, UdpSocket, Waker};

use crate::listen::endpoint::Endpoint;
use crate::listen::proxy_protocol::sessions::Sessions;
use crate::{log, runtime};
use batch_server::BatchServer;
use deferred::FinishedQuery;
use parked::{ParkedQueries, Wakeup};

/// The task name under which panics of workers are counted.
const TASK: &str = "udp-worker";
/// How long a closing socket may go on answering queued packets: longer than it takes to answer a full receive buffer.
/// A longer flood is cut off.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How much longer the workers may take to report that they are done.
const SLACK: Duration = Duration::from_millis(500);
/// The pause after a worker failed to wait for packets.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Batches received from one socket before the others get a turn.
const MAX_ROUNDS: usize = 8;
/// The epoll token of the waker; sockets count from zero.
const WAKE: u64 = u64::MAX;

/// All worker threads.
pub(crate) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    inbox: Arc<Inbox>,
    thread: JoinHandle<()>,
}

struct Inbox {
    waker: Arc<Waker>,
    commands: Mutex<Vec<Command>>,
    wakeup: Arc<Wakeup>,
}

enum Command {
    Serve(Arc<UdpSocket>, Arc<Endpoint>),
    /// Answer the packets queued on the endpoint's sockets until a deadline, close the sockets and drop the sender.
    Close(Arc<Endpoint>, Instant, mpsc::Sender<()>),
    Stop,
}

impl Workers {
    pub fn start(count: usize) -> io::Result<Workers> {
        let mut workers = Workers { workers: Vec::new() };
        workers.grow(count.max(1))?;
        Ok(workers)
    }

    /// Starts workers until there are `count`.
    pub fn grow(&mut self, count: usize) -> io::Result<()> {
        for number in self.workers.len()..count {
            let waker = Arc::new(Waker::new()?);
            let wakeup = Wakeup::new(Arc::clone(&waker));
            let inbox = Arc::new(Inbox { waker, commands: Mutex::default(), wakeup });
            // Created here, so that the caller gets the error when file descriptors run out.
            let mut epoll = Some(inbox.epoll()?);
            let worker_inbox = inbox.clone();
            // A worker that is restarted after a panic serves the sockets it had.
            let mut sockets: Vec<Option<ServedSocket>> = Vec::new();
            let thread = supervise::thread(TASK, format!("rhumb-udp-{number}"), move || {
                metrics::set_shard(number);
                // Plugins create timers and tasks on this thread, before the walk moves to tokio.
                let _entered = runtime::handle().enter();
                log::attach();
                loop {
                    let worked = epoll.take().map_or_else(|| worker_inbox.epoll(), Ok);
                    match worked.and_then(|epoll| work(&worker_inbox, &Reactor::open(epoll), &mut sockets)) {
                        Ok(()) => return,
                        Err(error) => log::error(None, format_args!("{TASK}: waiting for packets: {error}")),
                    }
                    thread::sleep(RETRY_DELAY);
                }
            })?;
            self.workers.push(Worker { inbox, thread });
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Distributes the sockets of an endpoint over the workers.
    pub fn serve(&self, endpoint: &Arc<Endpoint>, sockets: Vec<Arc<UdpSocket>>) {
        for (worker, socket) in self.workers.iter().cycle().zip(sockets) {
            worker.command(Command::Serve(socket, endpoint.clone()));
        }
    }

    /// Closes endpoints after their queued packets are answered. Returns when all workers are done, or at a deadline.
    pub fn close(&self, endpoints: &[Arc<Endpoint>]) {
        let (done, all_done) = mpsc::channel();
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        for (worker, endpoint) in self.workers.iter().flat_map(|w| endpoints.iter().map(move |e| (w, e))) {
            worker.command(Command::Close(endpoint.clone(), deadline, done.clone()));
        }
        drop(done);
        // Ends once every worker has dropped its senders.
        let timeout = (deadline + SLACK).saturating_duration_since(Instant::now());
        if all_done.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
            log::warning(None, format_args!("{TASK}: sockets still open after {:?}", DRAIN_TIMEOUT + SLACK));
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &self.workers {
            worker.command(Command::Stop);
        }
        let end = Instant::now() + SLACK;
        while self.workers.iter().any(|worker| !worker.thread.is_finished()) {
            if Instant::now() >= end {
                log::warning(None, format_args!("{TASK}: threads still running after {SLACK:?}"));
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Worker {
    fn command(&self, command: Command) {
        self.inbox.commands().push(command);
        self.inbox.waker.wake();
    }
}

impl Inbox {
    /// An epoll instance that the waker can wake.
    fn epoll(&self) -> io::Result<Epoll> {
        let epoll = Epoll::new()?;
        epoll.add(&self.waker, WAKE)?;
        Ok(epoll)
    }

    fn commands(&self) -> MutexGuard<'_, Vec<Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that a worker serves.
struct ServedSocket {
    socket: Arc<UdpSocket>,
    endpoint: Arc<Endpoint>,
    /// Clients by the proxy that announced them; empty without the PROXY protocol.
    sessions: Sessions,
    /// Set once the socket is to be closed: the deadline, and the sender whose drop reports the close.
    closing: Option<(Instant, mpsc::Sender<()>)>,
}

/// Serves until it receives `Stop`. Every action is a supervised step of its own: a panic costs only that one.
fn work(inbox: &Inbox, reactor: &Reactor, sockets: &mut Vec<Option<ServedSocket>>) -> io::Result<()> {
    for (token, served) in sockets.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
        reactor.add(served.socket.clone(), token as u32)?;
    }
    // Picks up commands and wakeups that arrived while no worker was running.
    inbox.waker.wake();
    let mut events = Events::with_capacity(64);
    let parked = ParkedQueries::new(Arc::clone(&inbox.wakeup), FinishedQuery::move_to_tokio);
    let mut batch_server = BatchServer::new(reactor, parked);
    let mut next_deadline: Option<Instant> = None;
    loop {
        supervise::fail_point("udp-loop");
        let is_closing = sockets.iter().flatten().any(|served| served.closing.is_some());
        let timeout = match next_deadline {
            _ if is_closing || batch_server.parked.is_woken() => Some(Duration::ZERO),
            deadline => deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        };
        reactor.wait(&mut events, timeout)?;
        let mut commands = Vec::new();
        for token in events.tokens() {
            let Some(token) = supervise::step(TASK, || reactor.dispatch(token)).flatten() else { continue };
            if token == WAKE {
                inbox.waker.drain();
                inbox.wakeup.collect();
                commands.append(&mut inbox.commands());
            } else if let Some(Some(served)) = sockets.get_mut(token as usize) {
                batch_server.answer(served, MAX_ROUNDS);
            }
        }
        for command in commands {
            match command {
                Command::Serve(socket, endpoint) => serve(reactor, sockets, socket, endpoint),
                Command::Close(endpoint, deadline, done) => {
                    let of_endpoint = |served: &&mut ServedSocket| Arc::ptr_eq(&served.endpoint, &endpoint);
                    for served in sockets.iter_mut().flatten().filter(of_endpoint) {
                        served.closing = Some((deadline, done.clone()));
                    }
                }
                Command::Stop => return Ok(()),
            }
        }
        if is_closing {
            close_drained(reactor, sockets, &mut batch_server);
        }
        batch_server.resume_woken();
        next_deadline = supervise::step(TASK, || reactor.before_wait()).flatten();
    }
}

fn serve(
    reactor: &Reactor,
    sockets: &mut Vec<Option<ServedSocket>>,
    socket: Arc<UdpSocket>,
    endpoint: Arc<Endpoint>,
) {
    let free = sockets.iter().position(Option::is_none).unwrap_or_else(|| {
        sockets.push(None);
        sockets.len() - 1
    });
    match reactor.add(socket.clone(), free as u32) {
        Ok(()) => {
            let sessions = Sessions::default();
            sockets[free] = Some(ServedSocket { socket, endpoint, sessions, closing: None });
        }
        Err(error) => log::error(
            None,
            format_args!("{}: adding the UDP socket to epoll failed: {error}", endpoint.address),
        ),
    }
}

/// Closes the sockets whose queue is empty or whose deadline has passed.
fn close_drained(
    reactor: &Reactor,
    sockets: &mut [Option<ServedSocket>],
    batch_server: &mut BatchServer<'_>,
) {
    for slot in sockets {
        let Some(served) = slot else { continue };
        let Some((deadline, _)) = served.closing else { continue };
        if batch_server.answer(served, MAX_ROUNDS) || Instant::now() >= deadline {
            let _ = reactor.remove(&*served.socket);
            *slot = None;
        }
    }
}
