//! One remembered reply. The reply never changes; only the counts around it do, and those are atomic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wire::{Class, Flags, Name, Query, Rcode, Reply, Rtype};

use super::clock::Clock;

/// The flags a reply keeps in the cache; all others are the present query's.
const KEPT: u16 = Flags::AA.0 | Flags::TC.0 | Flags::RA.0 | Flags::AD.0;

/// A reply and what it answers.
pub(super) struct Entry {
    pub hash: u64,
    /// As the client wrote it whose query brought the reply: the owners of the records keep that spelling.
    name: Box<[u8]>,
    qtype: Rtype,
    qclass: Class,
    dnssec_ok: bool,
    checking_disabled: bool,
    reply: Reply,
    /// Seconds from `stored` on.
    pub ttl: u32,
    pub stored: Instant,
    /// The records really answer the question.
    pub answering: bool,
    /// The last entry that did, if this one does not; kept with `prefer_positive` only.
    pub last_good: Option<Arc<Entry>>,
    /// The wildcard the records were made from, as metadata told.
    pub wildcard: Option<Box<str>>,
    popularity: Popularity,
    refresh: RefreshState,
}

/// Everything about an entry that is not in the messages.
#[derive(Default)]
pub(super) struct About {
    pub answering: bool,
    pub last_good: Option<Arc<Entry>>,
    pub wildcard: Option<Box<str>>,
}

impl Entry {
    pub fn new(hash: u64, query: &Query, reply: &Reply, ttl: u32, stored: Instant, about: About) -> Entry {
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
            answering: about.answering,
            last_good: about.last_good,
            wildcard: about.wildcard,
            popularity: Popularity::default(),
            refresh: RefreshState::default(),
        }
    }

    /// A copy in new memory. An entry that is in use is returned as it is: a refresh ends on the entry it began with.
    pub fn moved(self: &Arc<Entry>) -> Arc<Entry> {
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

    /// Whether this is the question it answers; two may have the same hash.
    pub fn matches(&self, query: &Query) -> bool {
        let question = &query.question;
        self.qtype == question.qtype
            && self.qclass == question.qclass
            && self.dnssec_ok == query.dnssec_ok()
            && self.checking_disabled == query.flags.has(Flags::CD)
            // Length octets are below 64 and so never look like letters.
            && self.name.eq_ignore_ascii_case(question.name().wire())
    }

    /// The entry to prefer over denials: itself if it answers the question, else the last one that did.
    pub fn answering_for(&self, query: &Query) -> Answering {
        if self.answering && self.matches(query) {
            return Answering::Itself;
        }
        match &self.last_good {
            Some(good) if good.answering && good.matches(query) => Answering::LastGood,
            _ => Answering::None,
        }
    }

    /// Seconds left; below zero the time since it ran out.
    pub fn left(&self, now: Instant) -> i64 {
        i64::from(self.ttl) - now.saturating_duration_since(self.stored).as_secs() as i64
    }

    /// SERVFAIL comes and goes, and so gives way to answers.
    pub fn is_failure(&self) -> bool {
        self.reply.rcode == Rcode::SERVFAIL
    }

    pub fn rcode(&self) -> Rcode {
        self.reply.rcode
    }

    pub fn is_truncated(&self) -> bool {
        self.reply.flags.has(Flags::TC)
    }

    /// Makes `reply` this reply, tailored to `query`, with `ttl` on every record. Allocates nothing once the
    /// reply's buffers are large enough.
    pub fn fill(&self, query: &Query, reply: &mut Reply, ttl: u32) {
        reply.begin(query);
        let flags = reply.flags;
        reply.copy_from(&self.reply);
        reply.opcode = query.opcode;
        reply.flags = Flags(flags.0 | self.reply.flags.0 & KEPT);
        // Whoever asked for neither DNSSEC nor AD is not told (RFC 6840 §5.7).
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

    /// Counts a query: for how many in a row there was no pause of `pause`. Without one every query is the first.
    pub fn count(&self, now: Instant, pause: Option<Duration>) -> u32 {
        self.popularity.count(self.age(now), pause)
    }

    pub fn hits(&self) -> u32 {
        self.popularity.hits.load(Ordering::Relaxed)
    }

    /// Takes over the count of the entry it replaces.
    pub fn inherit_hits(&self, now: Instant, hits: u32) {
        self.popularity.last.store(self.age(now) + 1, Ordering::Relaxed);
        self.popularity.hits.store(hits, Ordering::Relaxed);
    }

    /// Nanoseconds since it was stored.
    fn age(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.stored).as_nanos() as u64
    }
}

/// What [`Entry::answering_for`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answering {
    Itself,
    LastGood,
    None,
}

/// Sets the time to live of all records.
pub(super) fn set_ttl(reply: &mut Reply, ttl: u32) {
    for record in reply.records_mut() {
        record.ttl = ttl;
    }
}

/// How often an entry was asked for. The two numbers are not changed together; to be off by one under load does
/// no harm.
#[derive(Default)]
struct Popularity {
    /// Nanoseconds after `stored`, and one more; 0 is never.
    last: AtomicU64,
    hits: AtomicU32,
}

impl Popularity {
    fn count(&self, now: u64, pause: Option<Duration>) -> u32 {
        let last = self.last.swap(now + 1, Ordering::Relaxed);
        let goes_on = last > 0
            && pause.is_some_and(|pause| u128::from(now + 1 - last.min(now + 1)) <= pause.as_nanos());
        if goes_on {
            return self.hits.fetch_add(1, Ordering::Relaxed) + 1;
        }
        self.hits.store(1, Ordering::Relaxed);
        1
    }
}

#[derive(Default)]
struct RefreshState {
    running: AtomicBool,
    /// Nanoseconds after `stored` before which a refresh that failed is not tried again.
    not_before: AtomicU64,
}

/// The right to refresh an entry; there is one at a time. Dropped without [`Refresh::end`] it counts as failed.
pub(super) struct Refresh {
    entry: Arc<Entry>,
    clock: Clock,
    recheck: Duration,
}

impl Refresh {
    /// None if a refresh is on its way, or if the last one failed less than `recheck` ago.
    pub fn begin(entry: &Arc<Entry>, clock: &Clock, recheck: Duration) -> Option<Refresh> {
        let state = &entry.refresh;
        if !recheck.is_zero() && entry.age(clock.now()) < state.not_before.load(Ordering::Acquire) {
            return None;
        }
        state.running.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).ok()?;
        Some(Refresh { entry: entry.clone(), clock: clock.clone(), recheck })
    }

    pub fn end(mut self, refreshed: bool) {
        if refreshed {
            self.recheck = Duration::ZERO;
        }
    }
}

impl Drop for Refresh {
    fn drop(&mut self) {
        let state = &self.entry.refresh;
        let wait = self.recheck.as_nanos() as u64;
        let not_before = if wait == 0 { 0 } else { self.entry.age(self.clock.now()).saturating_add(wait) };
        state.not_before.store(not_before, Ordering::Release);
        state.running.store(false, Ordering::Release);
    }
}
