//! How long to wait before the next try: longer each time, and never as long as the neighbours.

use std::time::Duration;

/// The limits, of times mostly, apart so that tests can have other ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Until the head of an answer, and between its pieces.
    pub answer: Duration,
    /// Between two events of a streamed list. A server that does not know them never sends the last one.
    pub list_silence: Duration,
    /// For all of a streamed list.
    pub list: Duration,
    /// Between two events of a watch. Bookmarks come every minute, so after a longer silence nothing will.
    pub watch_silence: Duration,
    /// How often a server is asked whether the watch misses something, and how long its answer may take. Both together
    /// are the longest that a server which is gone goes unnoticed.
    pub check: Duration,
    pub check_answer: Duration,
    /// How long what the server has may be on its way.
    pub grace: Duration,
    /// How long a watch may take to come to a version. While nothing happens only bookmarks bring it there, and where
    /// etcd is left as it comes these learn of the server's version every ten minutes, or twenty after an event.
    pub behind: Duration,
    /// How often everything is listed though nothing seems wrong: the longest that anything can be missed.
    pub relist: Duration,
    /// How long the kernel waits for a word from a peer, seconds at least, before it gives a connection up.
    pub vanished: Duration,
    /// A first answer that takes longer is worth a log line.
    pub first_answer: Duration,
    /// A watch that ends before this was none.
    pub steady: Duration,
    /// The first pause is between a quarter of this and all of it, each further one twice that.
    pub pause: Duration,
    pub longest_pause: Duration,
    /// Servers from this version on are listed in pages, those before it stream their lists.
    pub pages_since: (u32, u32),
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(30),
            list_silence: Duration::from_secs(30),
            list: Duration::from_secs(300),
            watch_silence: Duration::from_secs(75),
            check: Duration::from_secs(25),
            check_answer: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            behind: Duration::from_secs(1500),
            relist: Duration::from_secs(3600),
            vanished: Duration::from_secs(30),
            first_answer: Duration::from_secs(5),
            steady: Duration::from_secs(5),
            pause: Duration::from_millis(800),
            longest_pause: Duration::from_secs(10),
            pages_since: (1, 34),
        }
    }
}

impl Limits {
    /// How long a watch is asked to last; different for each, so that they do not all end at once.
    pub(super) fn lasts() -> Duration {
        Duration::from_secs(rand::random_range(300..=600))
    }
}

/// More or less so long, so that neither kinds nor replicas do it at the same time.
pub(super) fn jittered(about: Duration) -> Duration {
    about.mul_f64(rand::random_range(0.8..=1.2))
}

pub(super) struct Backoff {
    limits: Limits,
    tries: u32,
}

impl Backoff {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, tries: 0 }
    }

    pub(super) fn reset(&mut self) {
        self.tries = 0;
    }

    pub(super) fn next(&mut self) -> Duration {
        let doubled = self.limits.pause.saturating_mul(1 << self.tries.min(16));
        self.tries = self.tries.saturating_add(1);
        doubled.min(self.limits.longest_pause).mul_f64(rand::random_range(0.25..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let mut backoff = Backoff::new(Limits::default());
        let mut check = |from: f64, to: f64| {
            let pause = backoff.next().as_secs_f64();
            assert!((from..=to).contains(&pause), "{pause} is not in {from}..={to}");
        };
        check(0.2, 0.8);
        check(0.4, 1.6);
        check(0.8, 3.2);
        (0..100).for_each(|_| check(0.2, 10.0));
        check(2.5, 10.0);
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(800));
    }
}
