//! The event loop of a worker's thread, shared with handlers that have their own sockets on it.
//!
//! ```text
//!           ┌─ token below 2^32, or WAKE ─→ the worker's own sockets, mostly by poll (`poll.rs`)
//! wait ─────┤
//!           └─ (number of the handler, its key) ─→ Handler::ready
//! before the next wait ─→ Handler::before_wait: sends queued datagrams, ends requests that timed out
//! ```
//!
//! A query served by handlers of its own thread needs no other thread and no wake-up.

use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{future, io, task};

use crate::poll::Poll;
use crate::{Epoll, Events};

/// A component with its own sockets on a worker's thread, such as a DNS client.
pub trait Handler {
    /// The descriptor with this key is readable; the handler must read all of it.
    fn ready(&self, key: u32);

    /// Called before the thread waits. Returns the latest time to wake up.
    fn before_wait(&self) -> Option<Instant>;
}

thread_local! {
    static REACTOR: RefCell<Option<ThreadReactor>> = const { RefCell::new(None) };
    /// A future polled on this thread waits for one of its handlers.
    static LOCAL_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// The reactor's part that handlers register with.
struct ThreadReactor {
    epoll: Rc<Epoll>,
    handlers: Vec<Rc<dyn Handler>>,
}

/// The event loop of one thread. Handlers may register while it exists.
pub struct Reactor {
    epoll: Rc<Epoll>,
    own: RefCell<Poll>,
}

impl Reactor {
    /// Creates the reactor of this thread.
    pub fn open(epoll: Epoll) -> Reactor {
        let epoll = Rc::new(epoll);
        REACTOR.set(Some(ThreadReactor { epoll: Rc::clone(&epoll), handlers: Vec::new() }));
        Reactor { epoll, own: RefCell::default() }
    }

    /// Watches a descriptor of the worker under a token below 2^32, and keeps it open until it is removed.
    pub fn add(&self, fd: impl AsFd + Clone + 'static, token: u32) -> io::Result<()> {
        let token = u64::from(token);
        if self.own.borrow_mut().add(fd.clone(), token) { Ok(()) } else { self.epoll.add(fd, token) }
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        if self.own.borrow_mut().remove(&fd) { Ok(()) } else { self.epoll.remove(fd) }
    }

    /// Waits until a descriptor is readable; returns how many are. `None` waits forever. A signal ends the wait with 0.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        self.own.borrow().wait(&self.epoll, events, timeout)
    }

    /// Calls the handler that owns the token; returns the token if it is the worker's own.
    pub fn dispatch(&self, token: u64) -> Option<u64> {
        let Some(number) = (token >> 32).checked_sub(1) else { return Some(token) };
        let handler = REACTOR
            .with_borrow(|reactor| reactor.as_ref()?.handlers.get(usize::try_from(number).ok()?).cloned());
        let Some(handler) = handler else { return Some(token) };
        handler.ready(token as u32);
        None
    }

    /// Calls [`Handler::before_wait`] of all handlers; returns the latest time to wake up.
    pub fn before_wait(&self) -> Option<Instant> {
        let count =
            REACTOR.with_borrow(|reactor| reactor.as_ref().map_or(0, |reactor| reactor.handlers.len()));
        let handler = |i| REACTOR.with_borrow(|reactor| reactor.as_ref()?.handlers.get(i).cloned());
        (0..count).filter_map(|i| handler(i)?.before_wait()).min()
    }

    /// Runs `work`; returns its result and whether it called [`mark_local_wait`].
    pub fn track_local_wait<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        LOCAL_WAIT.set(false);
        let result = work();
        (result, LOCAL_WAIT.get())
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // Taken first, since handlers may access it while they are dropped.
        let handlers = REACTOR.take();
        drop(handlers);
    }
}

/// The registration of a handler, with which it adds descriptors.
pub struct Registration {
    epoll: Rc<Epoll>,
    number: u64,
}

impl Registration {
    /// Registers a handler on this thread; `None` if it has no reactor.
    pub fn register<R: Handler + 'static>(make: impl FnOnce(Registration) -> Rc<R>) -> Option<Rc<R>> {
        let registration = REACTOR.with_borrow(|reactor| {
            let reactor = reactor.as_ref()?;
            Some(Registration { epoll: Rc::clone(&reactor.epoll), number: reactor.handlers.len() as u64 + 1 })
        })?;
        let handler = make(registration);
        REACTOR.with_borrow_mut(|reactor| {
            reactor.as_mut().map(|reactor| reactor.handlers.push(handler.clone()))
        });
        Some(handler)
    }

    /// Calls [`Handler::ready`] with `key` when the descriptor becomes readable, until it is closed.
    pub fn add(&self, fd: impl AsFd, key: u32) -> io::Result<()> {
        self.epoll.add_edge(fd, self.number << 32 | u64::from(key))
    }
}

/// Marks the future being polled as waiting for a handler of this thread, so that it must stay on the thread.
pub fn mark_local_wait() {
    LOCAL_WAIT.set(true);
}

/// Yields once to other work of this thread, and stays on it.
pub async fn yield_local() {
    let mut yielded = false;
    future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return task::Poll::Ready(());
        }
        mark_local_wait();
        context.waker().wake_by_ref();
        task::Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[derive(Default)]
    struct TestHandler {
        keys: RefCell<Vec<u32>>,
        until: Cell<Option<Instant>>,
        registration: RefCell<Option<Registration>>,
    }

    impl Handler for TestHandler {
        fn ready(&self, key: u32) {
            self.keys.borrow_mut().push(key);
        }

        fn before_wait(&self) -> Option<Instant> {
            self.until.get()
        }
    }

    fn register() -> Option<Rc<TestHandler>> {
        Registration::register(|registration| {
            Rc::new(TestHandler { registration: RefCell::new(Some(registration)), ..TestHandler::default() })
        })
    }

    #[test]
    fn a_handler_is_called_once_per_datagram() {
        assert!(register().is_none(), "no reactor, no registration");
        let reactor = Reactor::open(Epoll::new().unwrap());
        let (first, second) = (register().unwrap(), register().unwrap());
        let [socket, own] = [0; 2].map(|_| Rc::new(UdpSocket::bind("127.0.0.1:0").unwrap()));
        second.registration.borrow().as_ref().unwrap().add(&socket, 7).unwrap();
        reactor.add(own.clone(), 3).unwrap();
        let mut events = Events::with_capacity(8);
        let mut own_tokens = Vec::new();
        for _ in 0..2 {
            socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
            own.send_to(b"x", own.local_addr().unwrap()).unwrap();
            reactor.wait(&mut events, None).unwrap();
            own_tokens.extend(events.tokens().filter_map(|token| reactor.dispatch(token)));
        }
        reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
        own_tokens.extend(events.tokens().filter_map(|token| reactor.dispatch(token)));
        assert_eq!((own_tokens, second.keys.take(), first.keys.take()), (vec![3, 3, 3], vec![7, 7], vec![]));
        drop(reactor);
        assert!(register().is_none());
    }

    #[test]
    fn waits_until_the_earliest_deadline_of_a_handler() {
        let reactor = Reactor::open(Epoll::new().unwrap());
        assert_eq!(reactor.before_wait(), None);
        let (early, late) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        for (until, all) in [(None, None), (Some(late), Some(late)), (Some(early), Some(early))] {
            register().unwrap().until.set(until);
            assert_eq!(reactor.before_wait(), all);
        }
    }

    #[test]
    fn local_waits_are_tracked() {
        let reactor = Reactor::open(Epoll::new().unwrap());
        assert_eq!(reactor.track_local_wait(|| 1), (1, false));
        assert_eq!(reactor.track_local_wait(mark_local_wait), ((), true));
        assert_eq!(reactor.track_local_wait(|| 2), (2, false));
    }
}
