//! A thread that waits for packets, and whoever else has sockets on it.
//!
//! ```text
//!           ┌─ token below 2^32, or WAKE ─→ the worker's own, mostly by poll (`poll.rs`)
//! wait ─────┤
//!           └─ (number of the handler, its key) ─→ Handler::ready
//! before the next wait ─→ Handler::settle: sends what has gathered, gives up what took too long
//! ```
//!
//! Whatever is done for a query by handlers of its own thread costs no other thread and no wake-up.

use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{future, io, task};

use crate::poll::Poll;
use crate::{Epoll, Events};

/// Somebody with sockets of their own on the thread of a worker.
pub trait Handler {
    /// Something came in on the descriptor with this key; all of it is to be read now.
    fn ready(&self, key: u32);

    /// The thread is about to wait. Says until when at the latest.
    fn settle(&self) -> Option<Instant>;
}

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
    /// Somebody was told to wait for a handler of this thread.
    static WAITS_HERE: Cell<bool> = const { Cell::new(false) };
}

struct Here {
    epoll: Rc<Epoll>,
    handlers: Vec<Rc<dyn Handler>>,
}

/// What the thread waits for. Handlers may register for as long as it is there.
pub struct Reactor {
    epoll: Rc<Epoll>,
    own: RefCell<Poll>,
}

impl Reactor {
    /// Makes a reactor of this thread.
    pub fn open(epoll: Epoll) -> Reactor {
        let epoll = Rc::new(epoll);
        HERE.set(Some(Here { epoll: Rc::clone(&epoll), handlers: Vec::new() }));
        Reactor { epoll, own: RefCell::default() }
    }

    /// Watches a descriptor of the worker's own, by a token below 2^32. It stays open until it is removed.
    pub fn add(&self, fd: impl AsFd + Clone + 'static, token: u32) -> io::Result<()> {
        let token = u64::from(token);
        if self.own.borrow_mut().add(fd.clone(), token) { Ok(()) } else { self.epoll.add(fd, token) }
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        if self.own.borrow_mut().remove(&fd) { Ok(()) } else { self.epoll.remove(fd) }
    }

    /// Waits until something can be read; how many are ready. `None` waits for ever. A signal ends the wait with 0.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        self.own.borrow().wait(&self.epoll, events, timeout)
    }

    /// Gives a handler what is theirs; the token back if it is the worker's own.
    pub fn pass_on(&self, token: u64) -> Option<u64> {
        let Some(number) = (token >> 32).checked_sub(1) else { return Some(token) };
        let handler =
            HERE.with_borrow(|here| here.as_ref()?.handlers.get(usize::try_from(number).ok()?).cloned());
        let Some(handler) = handler else { return Some(token) };
        handler.ready(token as u32);
        None
    }

    /// Asks all handlers to settle, and until when the thread may wait.
    pub fn settle(&self) -> Option<Instant> {
        let count = HERE.with_borrow(|here| here.as_ref().map_or(0, |here| here.handlers.len()));
        let handler = |i| HERE.with_borrow(|here| here.as_ref()?.handlers.get(i).cloned());
        (0..count).filter_map(|i| handler(i)?.settle()).min()
    }

    /// Runs this and says whether it left anything waiting for a handler.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        WAITS_HERE.set(false);
        let result = work();
        (result, WAITS_HERE.get())
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // Handlers may look around while they go.
        let handlers = HERE.take();
        drop(handlers);
    }
}

/// A handler's right to be told of its descriptors.
pub struct Registration {
    epoll: Rc<Epoll>,
    number: u64,
}

impl Registration {
    /// Registers on this thread; None if it is no reactor.
    pub fn take<R: Handler + 'static>(make: impl FnOnce(Registration) -> Rc<R>) -> Option<Rc<R>> {
        let registration = HERE.with_borrow(|here| {
            let here = here.as_ref()?;
            Some(Registration { epoll: Rc::clone(&here.epoll), number: here.handlers.len() as u64 + 1 })
        })?;
        let handler = make(registration);
        HERE.with_borrow_mut(|here| here.as_mut().map(|here| here.handlers.push(handler.clone())));
        Some(handler)
    }

    /// Has the handler told, under this key, when something comes. It is forgotten when the descriptor is closed.
    pub fn add(&self, fd: impl AsFd, key: u32) -> io::Result<()> {
        self.epoll.add_edge(fd, self.number << 32 | u64::from(key))
    }
}

/// Says that what was begun just now waits for a handler of this thread, and so must stay on it.
pub fn wait_here() {
    WAITS_HERE.set(true);
}

/// Lets others of this thread go first, wherever that is, without leaving it.
pub async fn yield_here() {
    let mut yielded = false;
    future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return task::Poll::Ready(());
        }
        wait_here();
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
    struct Guest {
        told: RefCell<Vec<u32>>,
        until: Cell<Option<Instant>>,
        registration: RefCell<Option<Registration>>,
    }

    impl Handler for Guest {
        fn ready(&self, key: u32) {
            self.told.borrow_mut().push(key);
        }

        fn settle(&self) -> Option<Instant> {
            self.until.get()
        }
    }

    fn register() -> Option<Rc<Guest>> {
        Registration::take(|registration| {
            Rc::new(Guest { registration: RefCell::new(Some(registration)), ..Guest::default() })
        })
    }

    #[test]
    fn a_resident_is_told_once_for_each_arrival() {
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
            own_tokens.extend(events.tokens().filter_map(|token| reactor.pass_on(token)));
        }
        reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
        own_tokens.extend(events.tokens().filter_map(|token| reactor.pass_on(token)));
        assert_eq!((own_tokens, second.told.take(), first.told.take()), (vec![3, 3, 3], vec![7, 7], vec![]));
        drop(reactor);
        assert!(register().is_none());
    }

    #[test]
    fn waits_until_the_first_resident_has_something_to_do() {
        let reactor = Reactor::open(Epoll::new().unwrap());
        assert_eq!(reactor.settle(), None);
        let (early, late) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        for (until, all) in [(None, None), (Some(late), Some(late)), (Some(early), Some(early))] {
            register().unwrap().until.set(until);
            assert_eq!(reactor.settle(), all);
        }
    }

    #[test]
    fn knows_what_must_stay() {
        let reactor = Reactor::open(Epoll::new().unwrap());
        assert_eq!(reactor.watch(|| 1), (1, false));
        assert_eq!(reactor.watch(wait_here), ((), true));
        assert_eq!(reactor.watch(|| 2), (2, false));
    }
}
