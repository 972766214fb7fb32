//! The UDP thread: the client for tasks of tokio, which have no reactor. It starts at its first use.
//!
//! ```text
//! task ── Command ──→ queue, waker ──→ thread: begin ──→ … (as on a worker)
//!   ↑                                             exchange ends
//!   └──────────────── oneshot ←───────────────────────┘
//! ```
//!
//! A query has a socket of its own while it is in flight: replies may be as large as a datagram.

use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use net::{Epoll, Events, Reactor, Waker};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Capacity, Client, SocketRef, Target, UdpReply, UdpState, id};
use crate::Network;
use crate::dial::Endpoint;
use crate::error::{Cause, Error, Op};
use crate::pool::Limits;

/// The task name under which panics are counted: a panic in a command costs that query, one outside the whole thread.
const TASK: &str = "udp-upstream";
const LOOP: &str = "udp-upstream-loop";
const CAPACITY: Capacity = Capacity { max_reply: 65_535, max_in_flight: 1 };
/// The token of the waker.
const WAKE: u32 = 0;
/// How much longer than the read timeout a task waits for the thread.
const SLACK: Duration = Duration::from_secs(2);

/// The end of a query, and how long its socket took to open if it was new.
pub(crate) struct Finished {
    pub(crate) dialed: Option<Duration>,
    pub(crate) reply: UdpReply,
}

pub(super) type Outcome = Result<Finished, Error>;

enum Command {
    Send(Box<Request>),
    Retire(SocketRef),
}

/// A query to be sent.
struct Request {
    state: Arc<UdpState>,
    endpoint: Endpoint,
    limits: Limits,
    read_timeout: Duration,
    own_socket: bool,
    packet: Vec<u8>,
    reply: oneshot::Sender<Outcome>,
}

/// What the thread has to do.
struct Inbox {
    waker: Arc<Waker>,
    commands: Mutex<Vec<Command>>,
}

/// Sends a query and waits for a reply with its id.
pub(crate) async fn exchange(target: &Target<'_>, packet: &[u8]) -> Outcome {
    let Target { endpoint, limits, read_timeout, own_socket, .. } = *target;
    let failed = |op, cause| Error::Net { op, network: Network::Udp, from: None, to: endpoint.addr, cause };
    let inbox = Inbox::get().map_err(|error| failed(Op::Dial, Cause::system("thread", &error)))?;
    let (reply, finished) = oneshot::channel();
    let (state, packet) = (Arc::clone(target.state), packet.to_vec());
    let request = Request { state, endpoint, limits, read_timeout, own_socket, packet, reply };
    inbox.push(Command::Send(Box::new(request)));
    match timeout(read_timeout + SLACK, finished).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(failed(Op::Read, Cause::System("thread", "the UDP client panicked".into()))),
        Err(_) => Err(failed(Op::Read, Cause::Timeout)),
    }
}

/// Retires a socket that received an invalid reply: no further query uses it.
pub(crate) fn retire(socket: SocketRef) {
    if let Ok(inbox) = Inbox::get() {
        inbox.push(Command::Retire(socket));
    }
}

impl Inbox {
    /// That of the thread, which starts now if it does not run.
    fn get() -> io::Result<Arc<Inbox>> {
        static INBOX: Mutex<Option<Arc<Inbox>>> = Mutex::new(None);
        let mut running = INBOX.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inbox) = &*running {
            return Ok(Arc::clone(inbox));
        }
        let inbox = Arc::new(Inbox { waker: Arc::new(Waker::new()?), commands: Mutex::default() });
        let of_thread = Arc::clone(&inbox);
        supervise::thread(LOOP, "rhumb-udp-upstream".into(), move || {
            // The supervisor logs it and restarts the thread after a pause.
            run(&of_thread).unwrap_or_else(|error| panic!("waiting for packets: {error}"));
        })?;
        Ok(Arc::clone(running.insert(inbox)))
    }

    fn push(&self, command: Command) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(command);
        self.waker.wake();
    }

    fn take(&self) -> Vec<Command> {
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Drops the commands that wait when the thread panics, so that their tasks get an error at once.
struct DropCommands<'a>(&'a Inbox);

impl Drop for DropCommands<'_> {
    fn drop(&mut self) {
        self.0.take();
    }
}

fn run(inbox: &Inbox) -> io::Result<()> {
    let _drop_commands = DropCommands(inbox);
    let reactor = Reactor::open(Epoll::new()?);
    reactor.add(Arc::clone(&inbox.waker), WAKE)?;
    let Some(client) = Client::register(CAPACITY) else { return Ok(()) };
    let mut events = Events::with_capacity(64);
    loop {
        let deadline = reactor.before_wait();
        let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        reactor.wait(&mut events, wait)?;
        supervise::fail_point(LOOP);
        for _own in events.tokens().filter_map(|token| reactor.dispatch(token)) {
            inbox.waker.drain();
        }
        for command in inbox.take() {
            supervise::step(TASK, || client.execute(command));
        }
    }
}

impl Client {
    fn execute(self: &Rc<Client>, command: Command) {
        let request = match command {
            Command::Retire(socket) => return super::retire(socket),
            Command::Send(request) => *request,
        };
        let Request { ref state, endpoint, limits, read_timeout, own_socket, ref packet, .. } = request;
        let target = Target { state, endpoint, limits, read_timeout, own_socket };
        let Some(id) = id(packet).filter(|_| !request.reply.is_closed()) else { return };
        match self.begin(&target, id, packet) {
            Ok((exchange, dialed)) => {
                self.traffic.borrow_mut().exchanges.notify(exchange, request.reply, dialed);
            }
            Err(error) => {
                let _ = request.reply.send(Err(error));
            }
        }
    }
}
