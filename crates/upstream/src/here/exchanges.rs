//! Queries that wait for their answers on this thread, with their deadlines in order.

use std::io;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::Way;
use super::slots::{Key, Slots};

/// How an exchange ended.
#[derive(Debug)]
pub(super) enum End {
    /// A reply under its id.
    Packet(Vec<u8>),
    /// Nothing came in time.
    TimedOut,
    /// The socket said so, to the query itself or to one that shares the socket.
    NotRead(io::Error),
    NotSent(io::Error),
    /// The kernel has no room for the query now.
    NoRoom,
}

struct Exchange {
    way: Way,
    deadline: Instant,
    queue: usize,
    /// Those of its queue that began before and after it, for as long as it waits.
    before: Option<Key>,
    after: Option<Key>,
    waker: Option<Waker>,
    end: Option<End>,
}

/// The exchanges that wait equally long, in the order they began, which is the order of their deadlines.
struct Queue {
    patience: Duration,
    first: Option<Key>,
    last: Option<Key>,
}

#[derive(Default)]
pub(super) struct Exchanges {
    all: Slots<Exchange>,
    /// One for each patience, which is one for each setting of it in the configuration.
    queues: Vec<Queue>,
    /// To be woken when nothing is borrowed any more.
    woken: Vec<Waker>,
}

impl Exchanges {
    pub fn begin(&mut self, way: Way, now: Instant, patience: Duration) -> Key {
        let known = self.queues.iter().position(|queue| queue.patience == patience);
        let queue = known.unwrap_or_else(|| {
            self.queues.push(Queue { patience, first: None, last: None });
            self.queues.len() - 1
        });
        let (deadline, before) = (now + patience, self.queues[queue].last);
        let key =
            self.all.insert(Exchange { way, deadline, queue, before, after: None, waker: None, end: None });
        self.join(queue, before, Some(key));
        self.queues[queue].last = Some(key);
        key
    }

    /// Ends the waiting and has the one who waits woken. Nothing happens if it has ended before.
    pub fn end(&mut self, key: Key, end: End) {
        let Some(exchange) = self.all.get(key).filter(|exchange| exchange.end.is_none()) else { return };
        exchange.end = Some(end);
        self.woken.extend(exchange.waker.take());
        self.unlink(key);
    }

    /// Takes what came of an exchange and forgets it. If nothing has come, `waker` is kept.
    pub fn poll(&mut self, key: Key, waker: &Waker) -> Polled {
        let Some(exchange) = self.all.get(key) else { return Polled::Unknown };
        let Some(end) = exchange.end.take() else {
            if !exchange.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                exchange.waker = Some(waker.clone());
            }
            return Polled::Waits;
        };
        let way = exchange.way;
        self.all.remove(key);
        Polled::Ended(end, way)
    }

    /// Forgets one that nobody waits for any more. Gives its socket if it was under way.
    pub fn abandon(&mut self, key: Key) -> Option<Key> {
        if self.all.get(key)?.end.is_none() {
            self.unlink(key);
        }
        self.all.remove(key).filter(|exchange| exchange.end.is_none()).map(|exchange| exchange.way.socket)
    }

    /// The next one whose time is over by now, with its socket.
    pub fn overdue(&mut self, now: Instant) -> Option<(Key, Key)> {
        let Exchanges { all, queues, .. } = self;
        queues.iter().filter_map(|queue| queue.first).find_map(|key| {
            let exchange = all.get(key).filter(|exchange| exchange.deadline <= now)?;
            Some((key, exchange.way.socket))
        })
    }

    /// The first deadline of all.
    pub fn deadline(&mut self) -> Option<Instant> {
        let Exchanges { all, queues, .. } = self;
        let firsts = queues.iter().filter_map(|queue| queue.first);
        firsts.filter_map(|key| all.get(key).map(|exchange| exchange.deadline)).min()
    }

    pub fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Gives the room of [`Exchanges::take_woken`] back, unless it is needed already.
    pub fn reuse_woken(&mut self, room: Vec<Waker>) {
        if self.woken.is_empty() {
            self.woken = room;
        }
    }

    fn unlink(&mut self, key: Key) {
        let Some(exchange) = self.all.get(key) else { return };
        let (queue, before, after) = (exchange.queue, exchange.before.take(), exchange.after.take());
        self.join(queue, before, after);
    }

    /// Makes neighbours of two, or ends of a queue where there is only one.
    fn join(&mut self, queue: usize, before: Option<Key>, after: Option<Key>) {
        match before.and_then(|before| self.all.get(before)) {
            Some(before) => before.after = after,
            None => self.queues[queue].first = after,
        }
        match after.and_then(|after| self.all.get(after)) {
            Some(after) => after.before = before,
            None => self.queues[queue].last = before,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.len()
    }
}

/// What a look at an exchange gives.
#[derive(Debug)]
pub(super) enum Polled {
    Waits,
    Ended(End, Way),
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_stay_in_order_whoever_leaves() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let socket = Slots::default().insert(());
        let way = Way { socket, local: None };
        for leaving in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            for gives_up in [false, true] {
                let mut exchanges = Exchanges::default();
                let keys: Vec<Key> =
                    (0..3).map(|i| exchanges.begin(way, start + i * second, second)).collect();
                let mut left = vec![0, 1, 2];
                for gone in leaving {
                    assert_eq!(exchanges.deadline(), Some(start + (left[0] + 1) * second));
                    if gives_up {
                        assert_eq!(exchanges.abandon(keys[gone as usize]), Some(socket));
                    } else {
                        exchanges.end(keys[gone as usize], End::TimedOut);
                        exchanges.end(keys[gone as usize], End::NoRoom);
                        let polled = exchanges.poll(keys[gone as usize], Waker::noop());
                        assert!(matches!(polled, Polled::Ended(End::TimedOut, _)), "{polled:?}");
                    }
                    left.retain(|&i| i != gone);
                }
                assert_eq!((exchanges.deadline(), exchanges.len()), (None, 0));
            }
        }
    }

    #[test]
    fn each_patience_has_its_own_order() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let socket = Slots::default().insert(());
        let way = Way { socket, local: None };
        let mut exchanges = Exchanges::default();
        let patient = exchanges.begin(way, start, 9 * second);
        let hasty = exchanges.begin(way, start, second);
        assert_eq!(exchanges.overdue(start), None);
        assert_eq!(exchanges.overdue(start + second), Some((hasty, socket)));
        exchanges.end(hasty, End::TimedOut);
        assert_eq!(exchanges.overdue(start + second), None);
        assert_eq!(exchanges.overdue(start + 9 * second), Some((patient, socket)));
    }
}
