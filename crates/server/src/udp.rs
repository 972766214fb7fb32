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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
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

/// The task that panics on a worker's thread are counted under.
const TASK: &str = "udp-worker";
/// How long a socket that is closed may go on answering what has arrived: longer than it takes to answer a full receive
/// buffer. A flood that goes on longer is cut off.
const DRAIN: Duration = Duration::from_millis(500);
/// How much longer the workers may take to say that they are done.
const SLACK: Duration = Duration::from_millis(500);
/// The pause after a worker could not wait for packets.
const PAUSE: Duration = Duration::from_millis(100);
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
    thread: JoinHandle<()>,
}

struct Inbox {
    waker: Arc<Waker>,
    commands: Mutex<Vec<Command>>,
    bell: Arc<Bell>,
}

enum Command {
    Serve(Arc<UdpSocket>, Arc<Endpoint>),
    /// Answer what is queued on the endpoint's sockets until a deadline, close them and drop the sender.
    Close(Arc<Endpoint>, Instant, mpsc::Sender<()>),
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
            let bell = Bell::new(Arc::clone(&waker));
            let inbox = Arc::new(Inbox { waker, commands: Mutex::default(), bell });
            // Made here, so that a lack of descriptors is the caller's to know.
            let mut epoll = Some(inbox.epoll()?);
            let theirs = inbox.clone();
            // A worker that is started again serves the sockets it had.
            let mut sockets: Vec<Option<Served>> = Vec::new();
            let thread = supervise::thread(TASK, format!("rhumb-udp-{number}"), move || {
                metrics::set_shard(number);
                // Plugins make their timers and tasks here, before the walk moves to tokio.
                let _entered = runtime::handle().enter();
                log::attach();
                loop {
                    let worked = epoll.take().map_or_else(|| theirs.epoll(), Ok);
                    match worked.and_then(|epoll| work(&theirs, &Reactor::open(epoll), &mut sockets)) {
                        Ok(()) => return,
                        Err(error) => log::error(None, format_args!("{TASK}: waiting for packets: {error}")),
                    }
                    thread::sleep(PAUSE);
                }
            })?;
            self.workers.push(Worker { inbox, thread });
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Deals the sockets of an endpoint out to the workers.
    pub fn serve(&self, endpoint: &Arc<Endpoint>, sockets: Vec<Arc<UdpSocket>>) {
        for (worker, socket) in self.workers.iter().cycle().zip(sockets) {
            worker.command(Command::Serve(socket, endpoint.clone()));
        }
    }

    /// Gives up endpoints: what has arrived is still answered. Returns when all workers are through, or at a deadline.
    pub fn close(&self, endpoints: &[Arc<Endpoint>]) {
        let (done, all_done) = mpsc::channel();
        let deadline = Instant::now() + DRAIN;
        for (worker, endpoint) in self.workers.iter().flat_map(|w| endpoints.iter().map(move |e| (w, e))) {
            worker.command(Command::Close(endpoint.clone(), deadline, done.clone()));
        }
        drop(done);
        // Ends once every worker has dropped its senders.
        let patience = (deadline + SLACK).saturating_duration_since(Instant::now());
        if all_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            log::warning(None, format_args!("{TASK}: sockets are not closed after {:?}", DRAIN + SLACK));
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
                log::warning(None, format_args!("{TASK}: threads have not ended after {SLACK:?}"));
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
    /// An epoll that the waker wakes.
    fn epoll(&self) -> io::Result<Epoll> {
        let epoll = Epoll::new()?;
        epoll.add(&self.waker, WAKE)?;
        Ok(epoll)
    }

    fn commands(&self) -> MutexGuard<'_, Vec<Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket in a worker's hands.
struct Served {
    socket: Arc<UdpSocket>,
    endpoint: Arc<Endpoint>,
    /// Whom senders spoke for; empty unless clients come through proxies.
    sessions: Sessions,
    /// Set once the socket is to be closed: until when it may go on, and who waits for that.
    closing: Option<(Instant, mpsc::Sender<()>)>,
}

/// Serves until told to stop. Each thing that is done is a step of its own: a panic costs that one.
fn work(inbox: &Inbox, reactor: &Reactor, sockets: &mut Vec<Option<Served>>) -> io::Result<()> {
    for (token, served) in sockets.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
        reactor.add(served.socket.clone(), token as u32)?;
    }
    // What came while nobody was here to be woken.
    inbox.waker.wake();
    let mut events = Events::with_capacity(64);
    let parked = Parked::new(Arc::clone(&inbox.bell), Finished::await_elsewhere);
    let mut desk = Desk::new(reactor, parked);
    let mut until: Option<Instant> = None;
    loop {
        supervise::fail_point("udp-loop");
        let is_closing = sockets.iter().flatten().any(|served| served.closing.is_some());
        let timeout = match until {
            _ if is_closing || desk.parked.is_woken() => Some(Duration::ZERO),
            until => until.map(|until| until.saturating_duration_since(Instant::now())),
        };
        reactor.wait(&mut events, timeout)?;
        let mut commands = Vec::new();
        for token in events.tokens() {
            let Some(token) = supervise::step(TASK, || reactor.dispatch(token)).flatten() else { continue };
            if token == WAKE {
                inbox.waker.drain();
                inbox.bell.collect();
                commands.append(&mut inbox.commands());
            } else if let Some(Some(served)) = sockets.get_mut(token as usize) {
                desk.answer(served, ROUNDS);
            }
        }
        for command in commands {
            match command {
                Command::Serve(socket, endpoint) => serve(reactor, sockets, socket, endpoint),
                Command::Close(endpoint, deadline, done) => {
                    let of_endpoint = |served: &&mut Served| Arc::ptr_eq(&served.endpoint, &endpoint);
                    for served in sockets.iter_mut().flatten().filter(of_endpoint) {
                        served.closing = Some((deadline, done.clone()));
                    }
                }
                Command::Stop => return Ok(()),
            }
        }
        if is_closing {
            close_drained(reactor, sockets, &mut desk);
        }
        desk.go_on();
        until = supervise::step(TASK, || reactor.before_wait()).flatten();
    }
}

fn serve(
    reactor: &Reactor,
    sockets: &mut Vec<Option<Served>>,
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
            sockets[free] = Some(Served { socket, endpoint, sessions, closing: None });
        }
        Err(error) => log::error(None, format_args!("watching {}: {error}", endpoint.address)),
    }
}

/// Closes the sockets whose queue was found empty, or whose time is over.
fn close_drained(reactor: &Reactor, sockets: &mut [Option<Served>], desk: &mut Desk<'_>) {
    for place in sockets {
        let Some(served) = place else { continue };
        let Some((deadline, _)) = served.closing else { continue };
        if desk.answer(served, ROUNDS) || Instant::now() >= deadline {
            let _ = reactor.remove(&*served.socket);
            *place = None;
        }
    }
}
