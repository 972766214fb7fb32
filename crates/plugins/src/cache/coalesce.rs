//! Many queries for the same thing at once, and only one of them asks.
//!
//! ```text
//! first miss ──→ Leader ───────── asks below ─────────→ end ──┐ what came of it, shared
//! next miss  ──→ Follower ── waits ───────────────────────────┴─→ answers with it
//!                    └── the leader is gone without an end: one follower leads on
//! ```
//!
//! The lock is taken by misses only. There are never more flights than queries under way.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use tokio::sync::Notify;
use wire::{Class, Flags, Query, Rcode, Rtype};

use super::entry::Entry;

const SHARDS: usize = 16;

/// How a flight ended.
pub(super) enum Ending {
    /// A reply, kept or not. `limit` is the size its first client could take, should it be truncated.
    Reply {
        entry: Arc<Entry>,
        limit: usize,
    },
    /// The source could not tell; this old entry stands in.
    Stale(Arc<Entry>),
    Failure {
        rcode: Rcode,
        error: Option<Cow<'static, str>>,
    },
    Drop,
}

/// What a query is to a flight.
pub(super) enum Joined {
    Leads(Leader),
    Follows(Follower),
}

/// What a follower gets in the end.
pub(super) enum Landed {
    Ended(Arc<Ending>),
    Promoted(Leader),
}

/// The flights under way.
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
    /// The leader is gone; the first follower to look takes over.
    Orphaned,
    Ended(Arc<Ending>),
}

impl Default for Flights {
    fn default() -> Flights {
        Flights { shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Flights {
    /// Follows the flight that asks the same, or leads a new one.
    pub fn join(self: &Arc<Flights>, hash: u64, query: &Query) -> Joined {
        let mut shard = self.shard(hash);
        if let Some(flight) = shard.find(hash, |flight| flight.is_for(hash, query)) {
            let mut state = lock(&flight.state);
            if matches!(state.phase, Phase::Orphaned) {
                state.phase = Phase::Led;
                return Joined::Leads(self.leader(flight));
            }
            state.followers += 1;
            return Joined::Follows(Follower { flights: self.clone(), flight: flight.clone() });
        }
        let flight = Arc::new(Flight::new(hash, query));
        shard.insert_unique(hash, flight.clone(), |flight| flight.hash);
        Joined::Leads(self.leader(&flight))
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

/// The one that asks. Dropped without an end, it leaves that to a follower.
pub(super) struct Leader {
    flights: Arc<Flights>,
    /// None when it has ended.
    flight: Option<Arc<Flight>>,
}

impl Leader {
    /// Tells the followers, if there are any; only then is the ending made.
    pub fn end(mut self, ending: impl FnOnce() -> Ending) {
        let Some(flight) = self.flight.clone() else { return };
        // From here on nobody can join any more.
        forget(&mut self.flights.shard(flight.hash), &flight);
        if lock(&flight.state).followers > 0 {
            // Should this panic, the leader is dropped and a follower leads on.
            let ending = Arc::new(ending());
            lock(&flight.state).phase = Phase::Ended(ending);
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

/// One that waits for what the leader brings.
pub(super) struct Follower {
    flights: Arc<Flights>,
    flight: Arc<Flight>,
}

impl Follower {
    pub async fn land(self) -> Landed {
        loop {
            let mut changed = std::pin::pin!(self.flight.changed.notified());
            // Told from now on; what happened before is seen by looking.
            changed.as_mut().enable();
            if let Some(landed) = self.look() {
                return landed;
            }
            changed.await;
        }
    }

    fn look(&self) -> Option<Landed> {
        let mut state = lock(&self.flight.state);
        match &state.phase {
            Phase::Led => None,
            Phase::Ended(ending) => Some(Landed::Ended(ending.clone())),
            Phase::Orphaned => {
                state.phase = Phase::Led;
                Some(Landed::Promoted(self.flights.leader(&self.flight)))
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut shard = self.flights.shard(self.flight.hash);
        let mut state = lock(&self.flight.state);
        state.followers -= 1;
        // The last one of an orphaned flight turns off the light.
        if state.followers == 0 && matches!(state.phase, Phase::Orphaned) {
            forget(&mut shard, &self.flight);
        }
    }
}
