//! Queries that wait for something on the worker's own thread.
//!
//! ```text
//! start ──poll──→ done
//!          │ └──→ waits for a handler of this thread ──→ parked ──woken──→ poll …
//!          └────→ waits for anything else ──→ tokio, for good
//! ```
//!
//! A future may be polled anywhere. Here it costs no other thread, as long as what it waits for comes in here too, as
//! the answers to plain forwarded queries do. Whatever else it waits for is tokio's, and so is the query from then on.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use net::Reactor;

use super::TASK;

/// A query on its way to its end `T`.
pub(super) type Finishing<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// So many places are not kept when nobody waits.
const MANY: usize = 256;

thread_local! {
    /// The number of the bell of this thread.
    static BELL: Cell<usize> = const { Cell::new(0) };
    /// Places that were woken on this thread.
    static RUNG: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// How parked queries are woken from anywhere.
pub(super) struct Bell {
    /// Tells the threads apart, from 1 on.
    number: usize,
    /// Places that were woken by other threads.
    rung: Mutex<Vec<u32>>,
    waker: Arc<net::Waker>,
}

impl Bell {
    pub fn new(waker: Arc<net::Waker>) -> Arc<Bell> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        Arc::new(Bell { number: COUNT.fetch_add(1, Ordering::Relaxed), rung: Mutex::default(), waker })
    }

    /// From the worker's own thread nobody needs to be woken: it looks before it waits.
    fn ring(&self, place: u32) {
        if BELL.get() == self.number {
            RUNG.with_borrow_mut(|rung| rung.push(place));
            return;
        }
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        self.waker.wake();
    }

    /// Takes over what other threads woke.
    pub fn collect(&self) {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        RUNG.with_borrow_mut(|ours| ours.append(&mut rung));
    }
}

struct Call {
    bell: Arc<Bell>,
    place: u32,
}

impl Wake for Call {
    fn wake(self: Arc<Call>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Call>) {
        self.bell.ring(self.place);
    }
}

/// The queries that wait on this thread.
pub(super) struct Parked<T> {
    bell: Arc<Bell>,
    /// Has a query waited for elsewhere.
    move_out: fn(Finishing<T>),
    places: Vec<Place<T>>,
    free: Vec<u32>,
    /// What is looked at now; kept for its room.
    turn: Vec<u32>,
}

struct Place<T> {
    waker: Waker,
    finishing: Option<Finishing<T>>,
}

impl<T> Parked<T> {
    /// For the thread that calls this.
    pub fn new(bell: Arc<Bell>, move_out: fn(Finishing<T>)) -> Parked<T> {
        BELL.set(bell.number);
        Parked { bell, move_out, places: Vec::new(), free: Vec::new(), turn: Vec::new() }
    }

    /// Begins to wait. The query comes back if there was nothing to wait for.
    pub fn start(&mut self, reactor: &Reactor, finishing: Finishing<T>) -> Option<T> {
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.places.len() as u32;
            let waker = Waker::from(Arc::new(Call { bell: Arc::clone(&self.bell), place }));
            self.places.push(Place { waker, finishing: None });
            place
        });
        self.places[place as usize].finishing = Some(finishing);
        self.look(reactor, place)
    }

    /// Whether somebody was woken who was not looked at yet.
    pub fn is_woken(&self) -> bool {
        RUNG.with_borrow(|rung| !rung.is_empty())
    }

    /// Looks at all that were woken and puts those that have ended into `ended`.
    pub fn take_turn(&mut self, reactor: &Reactor, ended: &mut Vec<T>) {
        let mut turn = std::mem::take(&mut self.turn);
        RUNG.with_borrow_mut(|rung| std::mem::swap(rung, &mut turn));
        ended.extend(turn.drain(..).filter_map(|place| self.look(reactor, place)));
        self.turn = turn;
    }

    /// Whoever wakes too often, or too late and so somebody else, does no harm.
    fn look(&mut self, reactor: &Reactor, place: u32) -> Option<T> {
        let Place { waker, finishing } = self.places.get_mut(place as usize)?;
        let future = finishing.as_mut()?;
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(waker));
        let (polled, waits_here) = reactor.track_local_wait(|| supervise::step(TASK, &mut poll));
        if waits_here && polled.as_ref().is_some_and(Poll::is_pending) {
            return None;
        }
        let finishing = finishing.take();
        self.free.push(place);
        if self.free.len() == self.places.len() && self.places.len() > MANY {
            // Each waker is a small piece of memory between what the queries had, and keeps it from being given back.
            (self.places, self.free) = Default::default();
        }
        match polled? {
            Poll::Ready(finished) => Some(finished),
            Poll::Pending => {
                finishing.into_iter().for_each(self.move_out);
                None
            }
        }
    }
}

impl<T> Drop for Parked<T> {
    /// The worker ends; its queries do not.
    fn drop(&mut self) {
        BELL.set(0);
        self.places.iter_mut().filter_map(|place| place.finishing.take()).for_each(self.move_out);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc;

    use net::{Epoll, Events};

    use super::*;

    thread_local! {
        static MOVED: RefCell<Vec<Finishing<u32>>> = const { RefCell::new(Vec::new()) };
    }

    struct Thread {
        reactor: Reactor,
        bell: Arc<Bell>,
        parked: Parked<u32>,
    }

    fn thread() -> Thread {
        let waker = Arc::new(net::Waker::new().expect("an eventfd"));
        let reactor = Reactor::open(Epoll::new().expect("an epoll"));
        reactor.add(waker.clone(), 0).expect("watched");
        let bell = Bell::new(waker);
        let parked =
            Parked::new(Arc::clone(&bell), |finishing| MOVED.with_borrow_mut(|all| all.push(finishing)));
        Thread { reactor, bell, parked }
    }

    /// Waits so many times, on this thread or for something else, and gives its waker away each time.
    fn waits(times: u32, here: bool, wakers: mpsc::Sender<Waker>) -> Finishing<u32> {
        let mut left = times;
        Box::pin(poll_fn(move |context| {
            if left == 0 {
                return Poll::Ready(times);
            }
            left -= 1;
            if here {
                net::mark_local_wait();
            }
            let _ = wakers.send(context.waker().clone());
            Poll::Pending
        }))
    }

    #[test]
    fn what_waits_here_stays_and_all_else_moves() {
        // Waits, on this thread: what comes back at once, how many are moved out, what comes when woken.
        let cases = [(0, true, Some(0), 0, vec![]), (1, true, None, 0, vec![1]), (1, false, None, 1, vec![])];
        for (times, here, at_once, moved, woken) in cases {
            let Thread { reactor, bell: _bell, mut parked } = thread();
            let (sender, wakers) = mpsc::channel();
            assert_eq!(parked.start(&reactor, waits(times, here, sender)), at_once);
            assert_eq!(MOVED.with_borrow_mut(|all| all.drain(..).count()), moved);
            wakers.try_iter().for_each(Waker::wake);
            let mut ended = Vec::new();
            parked.take_turn(&reactor, &mut ended);
            assert_eq!(ended, woken, "{times} {here}");
        }
    }

    #[test]
    fn other_threads_ring_the_bell() {
        let Thread { reactor, bell, mut parked } = thread();
        let (sender, wakers) = mpsc::channel();
        assert_eq!(parked.start(&reactor, waits(1, true, sender)), None);
        let waker = wakers.recv().expect("a waker");
        std::thread::spawn(move || waker.wake()).join().expect("woken");
        assert!(!parked.is_woken(), "not before the bell is heard");
        let mut events = Events::with_capacity(1);
        assert_eq!(reactor.wait(&mut events, None).expect("woken"), 1);
        bell.collect();
        let mut ended = Vec::new();
        parked.take_turn(&reactor, &mut ended);
        assert_eq!(ended, [1]);
    }

    #[test]
    fn a_place_is_used_again_and_old_wakers_do_no_harm() {
        let Thread { reactor, bell: _bell, mut parked } = thread();
        let (sender, wakers) = mpsc::channel();
        parked.start(&reactor, waits(1, true, sender.clone()));
        let first = wakers.recv().expect("a waker");
        first.wake_by_ref();
        first.wake_by_ref();
        let mut ended = Vec::new();
        parked.take_turn(&reactor, &mut ended);
        assert_eq!((ended.as_slice(), parked.places.len()), (&[1][..], 1));
        parked.start(&reactor, waits(2, true, sender));
        assert_eq!(parked.places.len(), 1);
        first.wake();
        parked.take_turn(&reactor, &mut ended);
        assert_eq!(ended, [1], "it is looked at, and waits on");
        wakers.try_iter().for_each(Waker::wake);
        parked.take_turn(&reactor, &mut ended);
        assert_eq!(ended, [1, 2]);
    }

    #[test]
    fn when_the_worker_ends_its_queries_go_on() {
        let Thread { reactor, bell: _bell, mut parked } = thread();
        let (sender, _wakers) = mpsc::channel();
        parked.start(&reactor, waits(1, true, sender.clone()));
        parked.start(&reactor, waits(2, true, sender));
        drop(parked);
        assert_eq!(MOVED.with_borrow(Vec::len), 2);
    }
}
