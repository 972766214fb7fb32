//! Clients by the sender that spoke for them, for proxies that send a header once and then only queries.
//!
//! Each socket has its own, in the hands of its worker: the kernel gives all packets of one sender to one socket, so
//! that no lock is needed.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use super::SessionLimits;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub client: SocketAddr,
    pub tlvs: Box<[u8]>,
}

#[derive(Default)]
pub(crate) struct Sessions {
    by_sender: HashMap<SocketAddr, Entry>,
    /// Every use of every session, oldest first. Only the last use of each counts.
    uses: VecDeque<(SocketAddr, u64)>,
    used: u64,
}

struct Entry {
    session: Session,
    /// Its last use.
    used: u64,
    until: Instant,
}

impl Sessions {
    /// From now on this sender speaks for this client.
    pub fn remember(&mut self, sender: SocketAddr, session: Session, now: Instant, limits: SessionLimits) {
        let until = now + limits.time;
        self.by_sender.insert(sender, Entry { session, used: 0, until });
        self.mark(sender);
        while self.by_sender.len() > limits.count || self.oldest_is_over(now) {
            self.forget_oldest();
        }
    }

    /// The client this sender spoke for, if that was not too long ago. It counts on from now.
    pub fn find(&mut self, sender: SocketAddr, now: Instant, limits: SessionLimits) -> Option<&Session> {
        let entry = self.by_sender.get_mut(&sender)?;
        if entry.until <= now {
            self.by_sender.remove(&sender);
            return None;
        }
        entry.until = now + limits.time;
        self.mark(sender);
        self.by_sender.get(&sender).map(|entry| &entry.session)
    }

    /// Notes a use.
    fn mark(&mut self, sender: SocketAddr) {
        self.used += 1;
        if let Some(entry) = self.by_sender.get_mut(&sender) {
            entry.used = self.used;
        }
        self.uses.push_back((sender, self.used));
        // Uses that do not count any more go all at once, before they are more than those that do.
        if self.uses.len() > 2 * self.by_sender.len() + 64 {
            let by_sender = &self.by_sender;
            self.uses.retain(|(sender, used)| by_sender.get(sender).is_some_and(|entry| entry.used == *used));
        }
    }

    fn oldest_is_over(&self, now: Instant) -> bool {
        self.uses.front().is_some_and(|(sender, used)| match self.by_sender.get(sender) {
            Some(entry) if entry.used == *used => entry.until <= now,
            _ => true,
        })
    }

    fn forget_oldest(&mut self) {
        let Some((sender, used)) = self.uses.pop_front() else { return };
        if self.by_sender.get(&sender).is_some_and(|entry| entry.used == used) {
            self.by_sender.remove(&sender);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: SessionLimits = SessionLimits { time: Duration::from_secs(10), count: 3 };

    fn at(number: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], number))
    }

    fn session(number: u16) -> Session {
        Session { client: at(number), tlvs: Box::default() }
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for number in 1..=3 {
            sessions.remember(at(number), session(number), now, LIMITS);
        }
        assert!(sessions.find(at(1), now, LIMITS).is_some());
        sessions.remember(at(4), session(4), now, LIMITS);
        let known: Vec<bool> =
            (1..=4).map(|number| sessions.find(at(number), now, LIMITS).is_some()).collect();
        assert_eq!(known, [true, false, true, true]);
    }

    #[test]
    fn a_use_gives_more_time() {
        let (mut sessions, start) = (Sessions::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        sessions.remember(at(1), session(7), start, LIMITS);
        assert_eq!(sessions.find(at(1), after(9), LIMITS), Some(&session(7)));
        assert_eq!(sessions.find(at(1), after(18), LIMITS), Some(&session(7)));
        sessions.remember(at(1), session(8), after(20), LIMITS);
        assert_eq!(sessions.find(at(1), after(29), LIMITS), Some(&session(8)));
        assert_eq!(sessions.find(at(1), after(39), LIMITS), None);
        assert_eq!(sessions.find(at(2), after(39), LIMITS), None);
    }

    #[test]
    fn memory_is_bounded_whatever_is_used() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for round in 0..10_000u32 {
            let number = (round % 5) as u16;
            sessions.remember(at(number), session(number), now, LIMITS);
            sessions.find(at(number / 2), now, LIMITS);
            assert!(sessions.by_sender.len() <= LIMITS.count && sessions.uses.len() <= 80);
        }
        // Those that are over go when another comes.
        sessions.remember(at(9), session(9), now + Duration::from_secs(11), LIMITS);
        assert_eq!(sessions.by_sender.len(), 1);
    }
}
