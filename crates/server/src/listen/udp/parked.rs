//! Queries that wait for an event on the worker's own thread.
//!
//! ```text
//! start ──poll──→ done
//!          │ └──→ waits for a handler of this thread ──→ parked ──woken──→ poll …
//!          └────→ waits for anything else ──→ tokio, for good
//! ```
//!
//! Polling a future here involves no other thread, as long as its event arrives on this thread too, as the answers to
//! plain forwarded queries do. A query that waits for anything else moves to tokio for good.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use net::Reactor;

use super::TASK;

/// The future of a query; `T` is its result.
pub(super) type QueryFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// More slots than this are freed when no query is parked.
const MAX_IDLE_SLOTS: usize = 256;

thread_local! {
    /// The id of this thread's [`Wakeup`].
    static WAKEUP_ID: Cell<usize> = const { Cell::new(0) };
    /// Slots that were woken on this thread.
    static WOKEN: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Wakes the parked queries of one thread, from any thread.
pub(super) struct Wakeup {
    /// Identifies the thread, from 1 on.
    id: usize,
    /// Slots that were woken by other threads.
    woken: Mutex<Vec<u32>>,
    waker: Arc<net::Waker>,
}

impl Wakeup {
    pub fn new(waker: Arc<net::Waker>) -> Arc<Wakeup> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        Arc::new(Wakeup { id: COUNT.fetch_add(1, Ordering::Relaxed), woken: Mutex::default(), waker })
    }

    /// On the worker's own thread the waker is not needed: the worker checks `WOKEN` before it waits.
    fn wake(&self, slot: u32) {
        if WAKEUP_ID.get() == self.id {
            WOKEN.with_borrow_mut(|woken| woken.push(slot));
            return;
        }
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.waker.wake();
    }

    /// Moves the slots that other threads woke into this thread's list.
    pub fn collect(&self) {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        WOKEN.with_borrow_mut(|ours| ours.append(&mut woken));
    }
}

/// The waker of one slot.
struct SlotWaker {
    wakeup: Arc<Wakeup>,
    slot: u32,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<SlotWaker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<SlotWaker>) {
        self.wakeup.wake(self.slot);
    }
}

/// The queries parked on this thread.
pub(super) struct ParkedQueries<T> {
    wakeup: Arc<Wakeup>,
    /// Hands a query over to another executor.
    move_out: fn(QueryFuture<T>),
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// Slots being polled; kept for its capacity.
    polling: Vec<u32>,
}

struct Slot<T> {
    waker: Waker,
    query: Option<QueryFuture<T>>,
}

impl<T> ParkedQueries<T> {
    /// For the calling thread.
    pub fn new(wakeup: Arc<Wakeup>, move_out: fn(QueryFuture<T>)) -> ParkedQueries<T> {
        WAKEUP_ID.set(wakeup.id);
        ParkedQueries { wakeup, move_out, slots: Vec::new(), free: Vec::new(), polling: Vec::new() }
    }

    /// Polls a query, and parks it if it has to wait; otherwise returns its result.
    pub fn start(&mut self, reactor: &Reactor, query: QueryFuture<T>) -> Option<T> {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots.len() as u32;
            let waker = Waker::from(Arc::new(SlotWaker { wakeup: Arc::clone(&self.wakeup), slot }));
            self.slots.push(Slot { waker, query: None });
            slot
        });
        self.slots[slot as usize].query = Some(query);
        self.poll_slot(reactor, slot)
    }

    /// Whether a query was woken that was not polled yet.
    pub fn is_woken(&self) -> bool {
        WOKEN.with_borrow(|woken| !woken.is_empty())
    }

    /// Polls all woken queries and adds the results of the finished ones to `ended`.
    pub fn poll_woken(&mut self, reactor: &Reactor, ended: &mut Vec<T>) {
        let mut polling = std::mem::take(&mut self.polling);
        WOKEN.with_borrow_mut(|woken| std::mem::swap(woken, &mut polling));
        ended.extend(polling.drain(..).filter_map(|slot| self.poll_slot(reactor, slot)));
        self.polling = polling;
    }

    /// Polls one slot. A spurious wakeup, or a late one for a slot with another query by now, does no harm.
    fn poll_slot(&mut self, reactor: &Reactor, slot: u32) -> Option<T> {
        let Slot { waker, query } = self.slots.get_mut(slot as usize)?;
        let future = query.as_mut()?;
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(waker));
        let (polled, waits_here) = reactor.track_local_wait(|| supervise::step(TASK, &mut poll));
        if waits_here && polled.as_ref().is_some_and(Poll::is_pending) {
            return None;
        }
        let query = query.take();
        self.free.push(slot);
        if self.free.len() == self.slots.len() && self.slots.len() > MAX_IDLE_SLOTS {
            // The wakers are small allocations among those of the queries and keep the allocator from returning these.
            (self.slots, self.free) = Default::default();
        }
        match polled? {
            Poll::Ready(finished) => Some(finished),
            Poll::Pending => {
                query.into_iter().for_each(self.move_out);
                None
            }
        }
    }
}

impl<T> Drop for ParkedQueries<T> {
    /// When the worker ends, its queries continue elsewhere.
    fn drop(&mut self) {
        WAKEUP_ID.set(0);
        self.slots.iter_mut().filter_map(|slot| slot.query.take()).for_each(self.move_out);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc;

    use net::{Epoll, Events};

    use super::*;

    thread_local! {
        static MOVED: RefCell<Vec<QueryFuture<u32>>> = const { RefCell::new(Vec::new()) };
    }

    struct Thread {
        reactor: Reactor,
        wakeup: Arc<Wakeup>,
        parked: ParkedQueries<u32>,
    }

    fn thread() -> Thread {
        let waker = Arc::new(net::Waker::new().expect("an eventfd"));
        let reactor = Reactor::open(Epoll::new().expect("an epoll"));
        reactor.add(waker.clone(), 0).expect("watched");
        let wakeup = Wakeup::new(waker);
        let parked =
            ParkedQueries::new(Arc::clone(&wakeup), |query| MOVED.with_borrow_mut(|all| all.push(query)));
        Thread { reactor, wakeup, parked }
    }

    /// Waits `times` times, on this thread or for something else, and sends its waker each time.
    fn waits(times: u32, here: bool, wakers: mpsc::Sender<Waker>) -> QueryFuture<u32> {
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
    fn queries_that_wait_on_this_thread_stay_and_others_move() {
        // Waits, on this thread: the immediate result, the number moved out, the results after waking.
        let cases = [(0, true, Some(0), 0, vec![]), (1, true, None, 0, vec![1]), (1, false, None, 1, vec![])];
        for (times, here, at_once, moved, woken) in cases {
            let Thread { reactor, wakeup: _wakeup, mut parked } = thread();
            let (sender, wakers) = mpsc::channel();
            assert_eq!(parked.start(&reactor, waits(times, here, sender)), at_once);
            assert_eq!(MOVED.with_borrow_mut(|all| all.drain(..).count()), moved);
            wakers.try_iter().for_each(Waker::wake);
            let mut ended = Vec::new();
            parked.poll_woken(&reactor, &mut ended);
            assert_eq!(ended, woken, "{times} {here}");
        }
    }

    #[test]
    fn other_threads_wake_a_query() {
        let Thread { reactor, wakeup, mut parked } = thread();
        let (sender, wakers) = mpsc::channel();
        assert_eq!(parked.start(&reactor, waits(1, true, sender)), None);
        let waker = wakers.recv().expect("a waker");
        std::thread::spawn(move || waker.wake()).join().expect("woken");
        assert!(!parked.is_woken(), "not before the wakeup is collected");
        let mut events = Events::with_capacity(1);
        assert_eq!(reactor.wait(&mut events, None).expect("woken"), 1);
        wakeup.collect();
        let mut ended = Vec::new();
        parked.poll_woken(&reactor, &mut ended);
        assert_eq!(ended, [1]);
    }

    #[test]
    fn a_slot_is_reused_and_old_wakers_do_no_harm() {
        let Thread { reactor, wakeup: _wakeup, mut parked } = thread();
        let (sender, wakers) = mpsc::channel();
        parked.start(&reactor, waits(1, true, sender.clone()));
        let first = wakers.recv().expect("a waker");
        first.wake_by_ref();
        first.wake_by_ref();
        let mut ended = Vec::new();
        parked.poll_woken(&reactor, &mut ended);
        assert_eq!((ended.as_slice(), parked.slots.len()), (&[1][..], 1));
        parked.start(&reactor, waits(2, true, sender));
        assert_eq!(parked.slots.len(), 1);
        first.wake();
        parked.poll_woken(&reactor, &mut ended);
        assert_eq!(ended, [1], "it is polled and goes on waiting");
        wakers.try_iter().for_each(Waker::wake);
        parked.poll_woken(&reactor, &mut ended);
        assert_eq!(ended, [1, 2]);
    }

    #[test]
    fn when_the_worker_ends_its_queries_continue() {
        let Thread { reactor, wakeup: _wakeup, mut parked } = thread();
        let (sender, _wakers) = mpsc::channel();
        parked.start(&reactor, waits(1, true, sender.clone()));
        parked.start(&reactor, waits(2, true, sender));
        drop(parked);
        assert_eq!(MOVED.with_borrow(Vec::len), 2);
    }
}
