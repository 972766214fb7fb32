//! One cached reply. The reply is immutable; the counters around it are atomic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wire::{Class, Flags, Name, Query, Rcode, Reply, Rtype};

use super::clock::Clock;

/// Flags taken from the cached reply; all others come from the current query.
const CACHED_FLAGS: u16 = Flags::AA.0 | Flags::TC.0 | Flags::RA.0 | Flags::AD.0;

/// A reply and its question.
pub(super) struct Entry {
    pub hash: u64,
    /// In the spelling of the client whose query filled the cache; owner names keep that spelling.
    name: Box<[u8]>,
    qtype: Rtype,
    qclass: Class,
    dnssec_ok: bool,
    checking_disabled: bool,
    reply: Reply,
    /// Seconds from `stored` on.
    pub ttl: u32,
    pub stored: Instant,
    /// The records answer the question, after aliases.
    pub answering: bool,
    /// The last entry that did, if this one does not; with `prefer_positive` only.
    pub last_good: Option<Arc<Entry>>,
    /// The wildcard that made the records, from metadata.
    pub wildcard: Option<Box<str>>,
    popularity: Popularity,
    refresh: RefreshState,
}

/// Parts of an entry that are not in query or reply.
#[derive(Default)]
pub(super) struct Details {
    pub answering: bool,
    pub last_good: Option<Arc<Entry>>,
    pub wildcard: Option<Box<str>>,
}

impl Entry {
    pub fn new(
        hash: u64,
        query: &Query,
        reply: &Reply,
        ttl: u32,
        stored: Instant,
        details: Details,
    ) -> Entry {
        let question = &query.question;
        Entry {
            hash,
            name: question.name().wire().into(),
            qtype: question.qtype,
            qclass: question.qclass,
            dnssec_ok: query.dnssec_ok(),
            checking_disabled: query.flags.has(Flags::CD),
            reply: reply.clone(),
            ttl,
            stored,
            answering: details.answering,
            last_good: details.last_good,
            wildcard: details.wildcard,
            popularity: Popularity::default(),
            refresh: RefreshState::default(),
        }
    }

    /// A copy in new memory. An entry in use is returned unchanged: a refresh ends on the entry it began with.
    pub fn relocated(self: &Arc<Entry>) -> Arc<Entry> {
        if Arc::strong_count(self) > 1 {
            return self.clone();
        }
        let copy = |number: &AtomicU64| AtomicU64::new(number.load(Ordering::Acquire));
        Arc::new(Entry {
            name: self.name.clone(),
            reply: self.reply.clone(),
            last_good: self.last_good.clone(),
            wildcard: self.wildcard.clone(),
            popularity: Popularity { last: copy(&self.popularity.last), hits: AtomicU32::new(self.hits()) },
            refresh: RefreshState {
                running: AtomicBool::new(false),
                not_before: copy(&self.refresh.not_before),
            },
            ..**self
        })
    }

    /// Whether the entry is for this question; hashes may collide.
    pub fn matches(&self, query: &Query) -> bool {
        let question = &query.question;
        self.qtype == question.qtype
            && self.qclass == question.qclass
            && self.dnssec_ok == query.dnssec_ok()
            && self.checking_disabled == query.flags.has(Flags::CD)
            // Length octets are below 64, so none is a letter.
            && self.name.eq_ignore_ascii_case(question.name().wire())
    }

    /// The entry to prefer over denials: itself if it answers the question, else the last one that did.
    pub fn answering_for(&self, query: &Query) -> AnsweringEntry {
        if self.answering && self.matches(query) {
            return AnsweringEntry::Current;
        }
        match &self.last_good {
            Some(good) if good.answering && good.matches(query) => AnsweringEntry::LastGood,
            _ => AnsweringEntry::None,
        }
    }

    /// Seconds until it expires; negative once it has.
    pub fn left(&self, now: Instant) -> i64 {
        i64::from(self.ttl) - now.saturating_duration_since(self.stored).as_secs() as i64
    }

    /// SERVFAIL is transient and never hides an answer.
    pub fn is_failure(&self) -> bool {
        self.reply.rcode == Rcode::SERVFAIL
    }

    pub fn rcode(&self) -> Rcode {
        self.reply.rcode
    }

    pub fn is_truncated(&self) -> bool {
        self.reply.flags.has(Flags::TC)
    }

    /// Copies the entry into `reply`, with the flags of `query` and `ttl` on every record. Allocates nothing once the
    /// reply's buffers are large enough.
    pub fn fill(&self, query: &Query, reply: &mut Reply, ttl: u32) {
        reply.begin(query);
        let flags = reply.flags;
        reply.copy_from(&self.reply);
        reply.opcode = query.opcode;
        reply.flags = Flags(flags.0 | self.reply.flags.0 & CACHED_FLAGS);
        // AD is only for clients that set DO or AD (RFC 6840 §5.7).
        if !query.dnssec_ok() && !query.flags.has(Flags::AD) {
            reply.flags.set(Flags::AD, false);
        }
        set_ttl(reply, ttl);
        if *self.name != *query.question.name().wire()
            && let Some(name) = Name::from_wire(&self.name)
        {
            reply.pin_owners(name);
        }
    }

    /// Counts a query; returns how many came in a row without a gap longer than `pause`. Without one it is always 1.
    pub fn count(&self, now: Instant, pause: Option<Duration>) -> u32 {
        self.popularity.count(self.age(now), pause)
    }

    pub fn hits(&self) -> u32 {
        self.popularity.hits.load(Ordering::Relaxed)
    }

    /// Takes over the query count of the entry it replaces.
    pub fn inherit_hits(&self, now: Instant, hits: u32) {
        self.popularity.last.store(self.age(now) + 1, Ordering::Relaxed);
        self.popularity.hits.store(hits, Ordering::Relaxed);
    }

    /// Nanoseconds since it was stored.
    fn age(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.stored).as_nanos() as u64
    }
}

/// The entry that answers a question; see [`Entry::answering_for`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnsweringEntry {
    Current,
    LastGood,
    None,
}

pub(super) fn set_ttl(reply: &mut Reply, ttl: u32) {
    for record in reply.records_mut() {
        record.ttl = ttl;
    }
}

/// How often an entry was queried. The two numbers do not change atomically together; an error of one is harmless.
#[derive(Default)]
struct Popularity {
    /// Time of the last query: nanoseconds after `stored`, plus one; 0 is never.
    last: AtomicU64,
    hits: AtomicU32,
}

impl Popularity {
    fn count(&self, now: u64, pause: Option<Duration>) -> u32 {
        let last = self.last.swap(now + 1, Ordering::Relaxed);
        let continues = last > 0
            && pause.is_some_and(|pause| u128::from(now + 1 - last.min(now + 1)) <= pause.as_nanos());
        if continues {
            return self.hits.fetch_add(1, Ordering::Relaxed) + 1;
        }
        self.hits.store(1, Ordering::Relaxed);
        1
    }
}

#[derive(Default)]
struct RefreshState {
    running: AtomicBool,
    /// Earliest time for the next refresh after a failed one: nanoseconds after `stored`.
    not_before: AtomicU64,
}

/// Held by the one refresh of an entry. Dropped without [`RefreshGuard::release`], the refresh counts as failed.
pub(super) struct RefreshGuard {
    entry: Arc<Entry>,
    clock: Clock,
    recheck: Duration,
}

impl RefreshGuard {
    /// None if a refresh is running, or if the last one failed less than `recheck` ago.
    pub fn acquire(entry: &Arc<Entry>, clock: &Clock, recheck: Duration) -> Option<RefreshGuard> {
        let state = &entry.refresh;
        if !recheck.is_zero() && entry.age(clock.now()) < state.not_before.load(Ordering::Acquire) {
            return None;
        }
        state.running.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).ok()?;
        Some(RefreshGuard { entry: entry.clone(), clock: clock.clone(), recheck })
    }

    pub fn release(mut self, refreshed: bool) {
        if refreshed {
            self.recheck = Duration::ZERO;
        }
    }
}

impl Drop for RefreshGuard {
    fn drop(&mut self) {
        let state = &self.entry.refresh;
        let wait = self.recheck.as_nanos() as u64;
        let not_before = if wait == 0 { 0 } else { self.entry.age(self.clock.now()).saturating_add(wait) };
        state.not_before.store(not_before, Ordering::Release);
        state.running.store(false, Ordering::Release);
    }
}
