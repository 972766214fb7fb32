//! Exchanges in flight on this thread, ordered by deadline.

use std::io;
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::SocketRef;
use super::reply::UdpReply;
use super::slots::{Key, Slots};
use super::thread::{Finished, Outcome};

/// How an exchange ended.
#[derive(Debug)]
pub(super) enum ExchangeEnd {
    /// A reply with its id.
    Packet(Vec<u8>),
    /// No reply in time.
    TimedOut,
    /// The socket reported an error, for this query or for another one on the same socket.
    ReadFailed(io::Error),
    SendFailed(io::Error),
    /// The query was not sent: the send buffer is full, or its socket failed before.
    Unsent,
}

struct Exchange {
    socket_ref: SocketRef,
    deadline: Instant,
    queue: usize,
    /// Its neighbours in the queue, while it is in flight.
    previous: Option<Key>,
    next: Option<Key>,
    waiter: Waiter,
    end: Option<ExchangeEnd>,
}

/// Who waits for the end of an exchange.
#[derive(Default)]
enum Waiter {
    #[default]
    Nobody,
    /// A future of this thread.
    Future(Waker),
    /// A task on another thread, which receives the whole result; also how long its socket took to open.
    Task(oneshot::Sender<Outcome>, Option<Duration>),
}

/// The exchanges with the same timeout, in the order they began, which is the order of their deadlines.
struct Queue {
    timeout: Duration,
    first: Option<Key>,
    last: Option<Key>,
}

#[derive(Default)]
pub(super) struct Exchanges {
    all: Slots<Exchange>,
    /// One for each timeout in the configuration.
    queues: Vec<Queue>,
    /// Wakers to be called when nothing is borrowed any more.
    woken: Vec<Waker>,
}

impl Exchanges {
    pub fn begin(&mut self, socket_ref: SocketRef, now: Instant, timeout: Duration) -> Key {
        let known = self.queues.iter().position(|queue| queue.timeout == timeout);
        let queue = known.unwrap_or_else(|| {
            self.queues.push(Queue { timeout, first: None, last: None });
            self.queues.len() - 1
        });
        let (deadline, previous) = (now + timeout, self.queues[queue].last);
        let key = self.all.insert(Exchange {
            socket_ref,
            deadline,
            queue,
            previous,
            next: None,
            waiter: Waiter::Nobody,
            end: None,
        });
        self.join(queue, previous, Some(key));
        self.queues[queue].last = Some(key);
        key
    }

    /// Ends an exchange and schedules its waker. No effect if it has ended before.
    pub fn end(&mut self, key: Key, end: ExchangeEnd) {
        let Some(exchange) = self.all.get(key).filter(|exchange| exchange.end.is_none()) else { return };
        match std::mem::take(&mut exchange.waiter) {
            Waiter::Nobody => {}
            Waiter::Future(waker) => self.woken.push(waker),
            Waiter::Task(sender, dialed) => {
                let reply = UdpReply::new(end, exchange.socket_ref);
                self.unlink(key);
                self.all.remove(key);
                // A task that was dropped needs no reply.
                let _ = sender.send(Ok(Finished { dialed, reply }));
                return;
            }
        }
        exchange.end = Some(end);
        self.unlink(key);
    }

    /// Sends the end of an exchange to a task.
    pub fn notify(&mut self, key: Key, sender: oneshot::Sender<Outcome>, dialed: Option<Duration>) {
        if let Some(exchange) = self.all.get(key) {
            exchange.waiter = Waiter::Task(sender, dialed);
        }
    }

    /// Removes an exchange that has ended and returns its end; otherwise stores `waker`.
    pub fn poll(&mut self, key: Key, waker: &Waker) -> Polled {
        let Some(exchange) = self.all.get(key) else { return Polled::Unknown };
        let Some(end) = exchange.end.take() else {
            if !matches!(&exchange.waiter, Waiter::Future(known) if known.will_wake(waker)) {
                exchange.waiter = Waiter::Future(waker.clone());
            }
            return Polled::Pending;
        };
        let socket_ref = exchange.socket_ref;
        self.all.remove(key);
        Polled::Ended(end, socket_ref)
    }

    /// Removes an exchange whose future was dropped. Returns its socket if it was in flight.
    pub fn abandon(&mut self, key: Key) -> Option<Key> {
        if self.all.get(key)?.end.is_none() {
            self.unlink(key);
        }
        self.all.remove(key).filter(|exchange| exchange.end.is_none()).map(|exchange| exchange.socket_ref.key)
    }

    /// The next exchange whose deadline has passed, with its socket.
    pub fn overdue(&mut self, now: Instant) -> Option<(Key, Key)> {
        let Exchanges { all, queues, .. } = self;
        queues.iter().filter_map(|queue| queue.first).find_map(|key| {
            let exchange = all.get(key).filter(|exchange| exchange.deadline <= now)?;
            Some((key, exchange.socket_ref.key))
        })
    }

    /// The earliest deadline.
    pub fn deadline(&mut self) -> Option<Instant> {
        let Exchanges { all, queues, .. } = self;
        let firsts = queues.iter().filter_map(|queue| queue.first);
        firsts.filter_map(|key| all.get(key).map(|exchange| exchange.deadline)).min()
    }

    pub fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Reuses the allocation of [`Exchanges::take_woken`], unless there are new wakers already.
    pub fn reuse_woken(&mut self, empty: Vec<Waker>) {
        if self.woken.is_empty() {
            self.woken = empty;
        }
    }

    fn unlink(&mut self, key: Key) {
        let Some(exchange) = self.all.get(key) else { return };
        let (queue, previous, next) = (exchange.queue, exchange.previous.take(), exchange.next.take());
        self.join(queue, previous, next);
    }

    /// Links two neighbours; with only one, makes it the first or last of the queue.
    fn join(&mut self, queue: usize, previous: Option<Key>, next: Option<Key>) {
        match previous.and_then(|previous| self.all.get(previous)) {
            Some(previous) => previous.next = next,
            None => self.queues[queue].first = next,
        }
        match next.and_then(|next| self.all.get(next)) {
            Some(next) => next.previous = previous,
            None => self.queues[queue].last = previous,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.len()
    }
}

/// The result of polling an exchange.
#[derive(Debug)]
pub(super) enum Polled {
    Pending,
    Ended(ExchangeEnd, SocketRef),
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_stay_in_order_whichever_exchange_ends() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let socket = Slots::default().insert(());
        let socket_ref = SocketRef { key: socket, local: None };
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            for abandons in [false, true] {
                let mut exchanges = Exchanges::default();
                let keys: Vec<Key> =
                    (0..3).map(|i| exchanges.begin(socket_ref, start + i * second, second)).collect();
                let mut left = vec![0, 1, 2];
                for gone in order {
                    assert_eq!(exchanges.deadline(), Some(start + (left[0] + 1) * second));
                    if abandons {
                        assert_eq!(exchanges.abandon(keys[gone as usize]), Some(socket));
                    } else {
                        exchanges.end(keys[gone as usize], ExchangeEnd::TimedOut);
                        exchanges.end(keys[gone as usize], ExchangeEnd::Unsent);
                        let polled = exchanges.poll(keys[gone as usize], Waker::noop());
                        assert!(matches!(polled, Polled::Ended(ExchangeEnd::TimedOut, _)), "{polled:?}");
                    }
                    left.retain(|&i| i != gone);
                }
                assert_eq!((exchanges.deadline(), exchanges.len()), (None, 0));
            }
        }
    }

    #[test]
    fn each_timeout_has_its_own_order() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let socket = Slots::default().insert(());
        let socket_ref = SocketRef { key: socket, local: None };
        let mut exchanges = Exchanges::default();
        let slow = exchanges.begin(socket_ref, start, 9 * second);
        let quick = exchanges.begin(socket_ref, start, second);
        assert_eq!(exchanges.overdue(start), None);
        assert_eq!(exchanges.overdue(start + second), Some((quick, socket)));
        exchanges.end(quick, ExchangeEnd::TimedOut);
        assert_eq!(exchanges.overdue(start + second), None);
        assert_eq!(exchanges.overdue(start + 9 * second), Some((slow, socket)));
    }
}
