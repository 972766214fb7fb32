//! Coalesces identical queries: of many at once only one goes to the plugins below.
//!
//! ```text
//! first miss ──→ Leader ──────── queries below ───────→ end ──┐ shared result
//! next miss  ──→ Follower ── waits ───────────────────────────┴─→ answers with it
//!                    └── the leader was dropped without a result: one follower takes over
//! ```
//!
//! Only misses take the lock. There are never more flights than queries in flight.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use tokio::sync::Notify;
use wire::{Class, Flags, Query, Rcode, Rtype};

use super::entry::Entry;

const SHARDS: usize = 16;

/// The result of a flight.
pub(super) enum FlightResult {
    /// A reply, cached or not. `limit` is the maximum size for the leader's client, in case the reply is truncated.
    Reply {
        entry: Arc<Entry>,
        limit: usize,
    },
    /// The query failed; this stale entry is served instead.
    Stale(Arc<Entry>),
    Failure {
        rcode: Rcode,
        error: Option<Cow<'static, str>>,
    },
    Drop,
}

/// The role of a query in its flight.
pub(super) enum Role {
    Leader(Leader),
    Follower(Follower),
}

/// The end of a follower's wait.
pub(super) enum FollowerEvent {
    Ended(Arc<FlightResult>),
    Promoted(Leader),
}

/// The queries in flight.
pub(super) struct Flights {
    shards: [Mutex<HashTable<Arc<Flight>>>; SHARDS],
}

struct Flight {
    hash: u64,
    lower: Box<[u8]>,
    qtype: Rtype,
    qclass: Class,
    dnssec_ok: bool,
    checking_disabled: bool,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    followers: usize,
    phase: Phase,
}

enum Phase {
    Led,
    /// The leader was dropped; the first follower to notice takes over.
    Orphaned,
    Ended(Arc<FlightResult>),
}

impl Default for Flights {
    fn default() -> Flights {
        Flights { shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Flights {
    /// Joins the flight of an identical query, or starts a new one.
    pub fn join(self: &Arc<Flights>, hash: u64, query: &Query) -> Role {
        let mut shard = self.shard(hash);
        if let Some(flight) = shard.find(hash, |flight| flight.is_for(hash, query)) {
            let mut state = lock(&flight.state);
            if matches!(state.phase, Phase::Orphaned) {
                state.phase = Phase::Led;
                return Role::Leader(self.leader(flight));
            }
            state.followers += 1;
            return Role::Follower(Follower { flights: self.clone(), flight: flight.clone() });
        }
        let flight = Arc::new(Flight::new(hash, query));
        shard.insert_unique(hash, flight.clone(), |flight| flight.hash);
        Role::Leader(self.leader(&flight))
    }

    fn leader(self: &Arc<Flights>, flight: &Arc<Flight>) -> Leader {
        Leader { flights: self.clone(), flight: Some(flight.clone()) }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, HashTable<Arc<Flight>>> {
        lock(&self.shards[(hash >> 32) as usize % SHARDS])
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}

impl Flight {
    fn new(hash: u64, query: &Query) -> Flight {
        let question = &query.question;
        Flight {
            hash,
            lower: question.lower().wire().into(),
            qtype: question.qtype,
            qclass: question.qclass,
            dnssec_ok: query.dnssec_ok(),
            checking_disabled: query.flags.has(Flags::CD),
            state: Mutex::new(State { followers: 0, phase: Phase::Led }),
            changed: Notify::new(),
        }
    }

    fn is_for(&self, hash: u64, query: &Query) -> bool {
        let question = &query.question;
        self.hash == hash
            && self.qtype == question.qtype
            && self.qclass == question.qclass
            && self.dnssec_ok == query.dnssec_ok()
            && self.checking_disabled == query.flags.has(Flags::CD)
            && *self.lower == *question.lower().wire()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(shard: &mut HashTable<Arc<Flight>>, flight: &Arc<Flight>) {
    if let Ok(found) = shard.find_entry(flight.hash, |other| Arc::ptr_eq(other, flight)) {
        found.remove();
    }
}

/// The query that goes to the plugins below. If it is dropped before [`Leader::end`], a follower takes over.
pub(super) struct Leader {
    flights: Arc<Flights>,
    /// None once it has ended.
    flight: Option<Arc<Flight>>,
}

impl Leader {
    /// Ends the flight. Calls `result` only if there are followers to wake.
    pub fn end(mut self, result: impl FnOnce() -> FlightResult) {
        let Some(flight) = self.flight.clone() else { return };
        // From here on no query can join.
        forget(&mut self.flights.shard(flight.hash), &flight);
        if lock(&flight.state).followers > 0 {
            // If this panics, the leader is dropped and a follower takes over.
            let result = Arc::new(result());
            lock(&flight.state).phase = Phase::Ended(result);
            flight.changed.notify_waiters();
        }
        self.flight = None;
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let Some(flight) = self.flight.take() else { return };
        let mut shard = self.flights.shard(flight.hash);
        let mut state = lock(&flight.state);
        if state.followers == 0 {
            forget(&mut shard, &flight);
            return;
        }
        state.phase = Phase::Orphaned;
        flight.changed.notify_one();
    }
}

/// A query that waits for the leader's result.
pub(super) struct Follower {
    flights: Arc<Flights>,
    flight: Arc<Flight>,
}

impl Follower {
    pub async fn wait(self) -> FollowerEvent {
        loop {
            let mut changed = std::pin::pin!(self.flight.changed.notified());
            // Registers for later changes; earlier ones show in the state.
            changed.as_mut().enable();
            if let Some(event) = self.event() {
                return event;
            }
            changed.await;
        }
    }

    fn event(&self) -> Option<FollowerEvent> {
        let mut state = lock(&self.flight.state);
        match &state.phase {
            Phase::Led => None,
            Phase::Ended(result) => Some(FollowerEvent::Ended(result.clone())),
            Phase::Orphaned => {
                state.phase = Phase::Led;
                Some(FollowerEvent::Promoted(self.flights.leader(&self.flight)))
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut shard = self.flights.shard(self.flight.hash);
        let mut state = lock(&self.flight.state);
        state.followers -= 1;
        // The last follower of an orphaned flight removes it.
        if state.followers == 0 && matches!(state.phase, Phase::Orphaned) {
            forget(&mut shard, &self.flight);
        }
    }
}
