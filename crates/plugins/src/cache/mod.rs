//! Caches replies: successes in one store, denials and server failures in another.
//!
//! ```text
//! query()  look up ──→ fresh ──→ answer; prefetch if popular and about to expire               (refresh.rs)
//!             │   └──→ stale ──→ answer, or query the plugins below first                       (stale.rs)
//!             └──────→ miss ───→ query below, or join an identical query in flight (miss.rs, coalesce.rs)
//! explain() reads the stores and changes nothing                                                (explain.rs)
//! reply()  cacheable? ──→ insert, with one TTL on all records                   (cacheability.rs, insert.rs)
//! ```
//!
//! A hit takes no lock and allocates nothing: it reads an immutable entry and copies it into the worker's reply.

mod cacheability;
mod clock;
mod coalesce;
mod contents;
mod counters;
mod entry;
mod explain;
mod insert;
mod miss;
mod options;
mod refresh;
mod setup;
mod stale;
mod store;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Instant;

use server::{CacheBypass, Hooks, Link, Metadata, MetadataView, Plugin, Step, Turn, Visit};
use wire::{Flags, Name, NameBuf, Opcode, Query};

use crate::options::is_under_any;
use clock::Clock;
use contents::Contents;
use counters::{Counters, Series, StoreType};
use entry::Entry;
use options::Options;
pub(crate) use setup::setup;
use store::EntryRef;

const NAME: &str = "cache";

struct Cache {
    inner: Arc<Inner>,
    /// What plugins of the block offer to exclude queries from caches.
    bypasses: Vec<Arc<dyn CacheBypass>>,
}

/// Shared between the plugin and its background refreshes.
struct Inner {
    zones: Vec<NameBuf>,
    options: Options,
    /// Zones in which `disable` covers successes and denials.
    uncached: Vec<NameBuf>,
    contents: Arc<Contents>,
    counters: Counters,
    clock: Clock,
}

/// A lookup that found an entry, fresh or stale.
struct Hit<'a> {
    entry: &'a Arc<Entry>,
    /// Seconds until the entry expires; zero or less if it has.
    left: i64,
    now: Instant,
    series: &'a Arc<Series>,
}

/// The wildcard that made a cached answer, for the metadata `zone/wildcard`.
struct Wildcard(Box<str>);

impl Cache {
    /// `label` is the value of the metric label `zones`.
    fn new(
        zones: Vec<NameBuf>,
        label: &str,
        options: Options,
        contents: Arc<Contents>,
        link: &Link<'_>,
    ) -> Cache {
        let (counters, clock) = (Counters::new(link, label), Clock::new());
        let (no_success, no_denial) = (&options.no_success, &options.no_denial);
        let both = |zones: &[NameBuf], others: &[NameBuf]| {
            zones.iter().filter(|zone| is_under_any(zone.as_name(), others)).cloned().collect::<Vec<_>>()
        };
        let mut uncached = both(no_success, no_denial);
        uncached.extend(both(no_denial, no_success).into_iter().filter(|zone| !no_success.contains(zone)));
        let inner = Inner { zones, options, uncached, contents, counters, clock };
        let bypasses = link.offers::<dyn CacheBypass>().into_iter().map(|offered| offered.value).collect();
        Cache { inner: Arc::new(inner), bypasses }
    }

    fn is_bypassed(&self, query: &Query) -> bool {
        self.bypasses.iter().any(|it| it.bypasses_cache(query))
    }
}

impl Plugin for Cache {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        // Drops too: followers may wait for the outcome.
        Hooks::QUERY | Hooks::ANY_REPLY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let query = &visit.query;
        if query.opcode != Opcode::QUERY
            || !is_under_any(query.question.lower(), &self.inner.zones)
            || self.is_bypassed(query)
        {
            return Step::Next;
        }
        if visit.is_served() { self.inner.look_up(visit) } else { self.inner.explain(visit) }
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        self.inner.handle_reply(visit);
        Turn::Up
    }
}

impl Metadata for Cache {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        if label != "zone/wildcard" {
            return None;
        }
        let Wildcard(name) = view.slot()?.boxed.as_ref()?.downcast_ref()?;
        Some(name.to_string())
    }
}

impl Inner {
    fn look_up(self: &Arc<Inner>, visit: &mut Visit<'_>) -> Step {
        let series = self.counters.for_server(visit.server());
        series.requests.inc();
        if self.is_uncached(visit.query.question.lower()) {
            series.misses.inc();
            visit.note(|_| "miss".to_owned());
            return self.pass_below(visit, miss::UNCACHED);
        }
        let now = self.clock.at(visit.time());
        let hash = self.hash(visit.query);
        if let Some((store_type, found)) = self.find(hash, visit.query, now)
            && let Some(entry) = found.entry()
        {
            series.hits(store_type).inc();
            let hit = Hit { entry, left: entry.left(now), now, series };
            return if hit.left > 0 { self.hit(visit, &hit) } else { self.stale_hit(visit, &hit) };
        }
        self.miss(visit, hash, series)
    }

    /// Whether no reply for the name is ever cached. Such queries are not coalesced either: usually a plugin
    /// below has the zone in memory.
    fn is_uncached(&self, name: Name<'_>) -> bool {
        is_under_any(name, &self.uncached)
    }

    /// The cache key: name, type, class, DO and CD.
    fn hash(&self, query: &Query) -> u64 {
        let question = &query.question;
        let mut state = self.contents.hasher.build_hasher();
        state.write(question.lower().wire());
        let flags = u64::from(query.dnssec_ok()) << 1 | u64::from(query.flags.has(Flags::CD));
        state.write_u64(flags << 32 | u64::from(question.qtype.0) << 16 | u64::from(question.qclass.0));
        state.finish()
    }

    /// The entry to serve, fresh or within the stale limit. Denials come first, but SERVFAIL never hides a success.
    fn find(&self, hash: u64, query: &Query, now: Instant) -> Option<(StoreType, EntryRef)> {
        let stale = &self.options.stale;
        let serves = |entry: &Arc<Entry>| stale.allows(entry.left(now));
        if stale.prefer_positive
            && !stale.max_stale.is_zero()
            && let Some(found) = self.answering(hash, query)
            && found.entry().is_some_and(serves)
        {
            return Some((StoreType::Success, found));
        }
        let usable =
            |found: &EntryRef| found.entry().is_some_and(|entry| entry.matches(query) && serves(entry));
        let success =
            || self.contents.success.get(hash).filter(usable).map(|found| (StoreType::Success, found));
        match self.contents.denial.get(hash).filter(usable) {
            Some(denial) if denial.entry().is_some_and(|entry| entry.is_failure()) => {
                success().or(Some((StoreType::Denial, denial)))
            }
            Some(denial) => Some((StoreType::Denial, denial)),
            None => success(),
        }
    }

    /// The cached success that answers this question: the current entry, else its last good one.
    fn answering(&self, hash: u64, query: &Query) -> Option<EntryRef> {
        let found = self.contents.success.get(hash)?;
        let answering = found.entry()?.answering_for(query);
        found.choose(answering)
    }

    fn hit(self: &Arc<Inner>, visit: &mut Visit<'_>, hit: &Hit<'_>) -> Step {
        let &Hit { entry, left, now, series } = hit;
        if self.is_prefetch_due(entry, left, now) {
            visit.note(|_| "popular and about to expire: prefetching".to_owned());
            self.refresh_in_background(visit, entry, now, false, series);
        }
        note_hit(visit, entry, left, now);
        self.answer(visit, entry, left)
    }

    /// Answers from an entry that expires in `left` seconds.
    fn answer(&self, visit: &mut Visit<'_>, entry: &Entry, left: i64) -> Step {
        let left = u32::try_from(left).unwrap_or(0);
        let ttl = if self.options.keep_ttl { entry.ttl } else { left };
        entry.fill(visit.query, visit.reply, ttl);
        store_wildcard(visit, entry);
        Step::Answer
    }
}

fn note_hit(visit: &mut Visit<'_>, entry: &Entry, left: i64, now: Instant) {
    visit.note(|_| {
        let age = now.saturating_duration_since(entry.stored).as_secs();
        format!("hit: cached {age} s ago, {left} s left")
    });
}

fn store_wildcard(visit: &mut Visit<'_>, entry: &Entry) {
    if let Some(wildcard) = &entry.wildcard {
        visit.slot().boxed = Some(Box::new(Wildcard(wildcard.clone())));
    }
}
