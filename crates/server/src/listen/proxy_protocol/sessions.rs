//! Clients by the proxy that announced them, for proxies that send a header once and then only queries.
//!
//! Each socket has its own sessions, used only by its worker: the kernel delivers all packets of one sender to one
//! socket, so no lock is needed.

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
    /// Every use of every session, oldest first. Only the last use of each is current.
    uses: VecDeque<(SocketAddr, u64)>,
    used: u64,
}

struct Entry {
    session: Session,
    /// Its last use.
    used: u64,
    expires: Instant,
}

impl Sessions {
    /// Stores the client that this sender announced.
    pub fn insert(&mut self, sender: SocketAddr, session: Session, now: Instant, limits: SessionLimits) {
        let expires = now + limits.time;
        self.by_sender.insert(sender, Entry { session, used: 0, expires });
        self.touch(sender);
        while self.by_sender.len() > limits.count || self.is_oldest_expired(now) {
            self.evict_oldest();
        }
    }

    /// The client that this sender announced, unless that has expired; restarts its time.
    pub fn find(&mut self, sender: SocketAddr, now: Instant, limits: SessionLimits) -> Option<&Session> {
        let entry = self.by_sender.get_mut(&sender)?;
        if entry.expires <= now {
            self.by_sender.remove(&sender);
            return None;
        }
        entry.expires = now + limits.time;
        self.touch(sender);
        self.by_sender.get(&sender).map(|entry| &entry.session)
    }

    /// Marks the session as used now.
    fn touch(&mut self, sender: SocketAddr) {
        self.used += 1;
        if let Some(entry) = self.by_sender.get_mut(&sender) {
            entry.used = self.used;
        }
        self.uses.push_back((sender, self.used));
        // Outdated uses are removed all at once, before they outnumber the current ones.
        if self.uses.len() > 2 * self.by_sender.len() + 64 {
            let by_sender = &self.by_sender;
            self.uses.retain(|(sender, used)| by_sender.get(sender).is_some_and(|entry| entry.used == *used));
        }
    }

    fn is_oldest_expired(&self, now: Instant) -> bool {
        self.uses.front().is_some_and(|(sender, used)| match self.by_sender.get(sender) {
            Some(entry) if entry.used == *used => entry.expires <= now,
            _ => true,
        })
    }

    fn evict_oldest(&mut self) {
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
    fn the_least_recently_used_is_evicted() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for number in 1..=3 {
            sessions.insert(at(number), session(number), now, LIMITS);
        }
        assert!(sessions.find(at(1), now, LIMITS).is_some());
        sessions.insert(at(4), session(4), now, LIMITS);
        let known: Vec<bool> =
            (1..=4).map(|number| sessions.find(at(number), now, LIMITS).is_some()).collect();
        assert_eq!(known, [true, false, true, true]);
    }

    #[test]
    fn a_use_restarts_the_time() {
        let (mut sessions, start) = (Sessions::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        sessions.insert(at(1), session(7), start, LIMITS);
        assert_eq!(sessions.find(at(1), after(9), LIMITS), Some(&session(7)));
        assert_eq!(sessions.find(at(1), after(18), LIMITS), Some(&session(7)));
        sessions.insert(at(1), session(8), after(20), LIMITS);
        assert_eq!(sessions.find(at(1), after(29), LIMITS), Some(&session(8)));
        assert_eq!(sessions.find(at(1), after(39), LIMITS), None);
        assert_eq!(sessions.find(at(2), after(39), LIMITS), None);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for round in 0..10_000u32 {
            let number = (round % 5) as u16;
            sessions.insert(at(number), session(number), now, LIMITS);
            sessions.find(at(number / 2), now, LIMITS);
            assert!(sessions.by_sender.len() <= LIMITS.count && sessions.uses.len() <= 80);
        }
        // Expired sessions are removed when another is added.
        sessions.insert(at(9), session(9), now + Duration::from_secs(11), LIMITS);
        assert_eq!(sessions.by_sender.len(), 1);
    }
}
