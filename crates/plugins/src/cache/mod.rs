//! Remembers replies: successes in one store, denials and server failures in another.
//!
//! ```text
//! query()  look up ──→ fresh ──→ answer (and fetch again behind it, if popular and nearly over: refresh.rs)
//!             │   └──→ stale ──→ answer, or ask the source first                              (stale.rs)
//!             └──────→ miss ───→ lead, or follow one that asks already              (miss.rs, coalesce.rs)
//! reply()  judge ──→ keep, with the same time to live on all records                 (judge.rs, keep.rs)
//! ```
//!
//! A hit takes no lock and allocates nothing: it reads an immutable entry and copies it into the worker's reply.

mod clock;
mod coalesce;
mod counters;
mod entry;
mod judge;
mod keep;
mod memory;
mod miss;
mod options;
mod refresh;
mod setup;
mod stale;
mod store;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use server::{Hooks, Link, Metadata, MetadataView, Plugin, Step, Turn, Visit};
use wire::{Flags, Name, NameBuf, Opcode, Query};

use crate::parse::is_under_any;
use clock::Clock;
use counters::{Counters, Series, Side};
use entry::Entry;
use memory::Memory;
use options::Options;
pub(crate) use setup::setup;
use store::Found;

struct Cache {
    inner: Arc<Inner>,
    /// The plugins of the block that keep queries away from caches.
    bypasses: OnceLock<Vec<Arc<dyn Plugin>>>,
}

/// What a cache is; shared with the work it has done behind the clients' backs.
struct Inner {
    zones: Vec<NameBuf>,
    /// The zones as metrics show them.
    label: String,
    options: Options,
    /// The zones of which neither successes nor denials are kept.
    never_kept: Vec<NameBuf>,
    memory: Arc<Memory>,
    counters: Counters,
    clock: Clock,
}

/// An entry that was found for a query, fresh or not.
struct Hit<'a> {
    entry: &'a Arc<Entry>,
    /// Seconds; zero or less if its time is over.
    left: i64,
    now: Instant,
    series: &'a Arc<Series>,
}

/// The wildcard behind a cached answer, for metadata.
struct Wildcard(Box<str>);

impl Cache {
    fn new(zones: Vec<NameBuf>, label: String, options: Options, memory: Arc<Memory>) -> Cache {
        let (counters, clock) = (Counters::default(), Clock::new());
        let (no_success, no_denial) = (&options.no_success, &options.no_denial);
        let both = |zones: &[NameBuf], others: &[NameBuf]| {
            zones.iter().filter(|zone| is_under_any(zone.as_name(), others)).cloned().collect::<Vec<_>>()
        };
        let mut never_kept = both(no_success, no_denial);
        never_kept.extend(both(no_denial, no_success).into_iter().filter(|zone| !no_success.contains(zone)));
        let inner = Inner { zones, label, options, never_kept, memory, counters, clock };
        Cache { inner: Arc::new(inner), bypasses: OnceLock::new() }
    }

    fn is_bypassed(&self, query: &Query) -> bool {
        let bypasses = self.bypasses.get().map_or(&[][..], Vec::as_slice);
        bypasses.iter().filter_map(|plugin| plugin.as_cache_bypass()).any(|it| it.bypasses_cache(query))
    }
}

impl Plugin for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn hooks(&self) -> Hooks {
        // Drops too, because others may wait for what comes of them.
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
        self.inner.look_up(visit)
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        self.inner.settle(visit);
        Turn::Up
    }

    fn link(&self, link: &Link<'_>) {
        let view = link.block().view_name().unwrap_or_default();
        let servers = link.served().iter().map(|(server, _)| server.as_str());
        self.inner.counters.link(servers, &self.inner.label, view);
        let chain = link.block().chain().iter();
        let bypasses = chain.filter(|plugin| plugin.as_cache_bypass().is_some()).cloned();
        let _ = self.bypasses.set(bypasses.collect());
    }

    fn as_metadata(&self) -> Option<&dyn Metadata> {
        Some(self)
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
        let series = self.counters.of(visit.server());
        series.requests.inc();
        if self.never_keeps(visit.query.question.lower()) {
            series.misses.inc();
            visit.note(|_| "miss".to_owned());
            return self.pass(visit, miss::NEVER_KEPT);
        }
        let now = self.clock.at(visit.time());
        let hash = self.hash(visit.query);
        if let Some((side, found)) = self.find(hash, visit.query, now)
            && let Some(entry) = found.entry()
        {
            series.hits(side).inc();
            let hit = Hit { entry, left: entry.left(now), now, series };
            return if hit.left > 0 { self.hit(visit, &hit) } else { self.stale_hit(visit, &hit) };
        }
        self.miss(visit, hash, series)
    }

    /// Nothing about the name is ever here. Queries for it do not wait for each other either: as a rule somebody below
    /// knows the zone by heart, and that is why it is left out.
    fn never_keeps(&self, name: Name<'_>) -> bool {
        is_under_any(name, &self.never_kept)
    }

    /// Everything that makes two questions different.
    fn hash(&self, query: &Query) -> u64 {
        let question = &query.question;
        let mut state = self.memory.hasher.build_hasher();
        state.write(question.lower().wire());
        let flags = u64::from(query.dnssec_ok()) << 1 | u64::from(query.flags.has(Flags::CD));
        state.write_u64(flags << 32 | u64::from(question.qtype.0) << 16 | u64::from(question.qclass.0));
        state.finish()
    }

    /// The entry to serve, fresh or not too stale. Denials come first, but a failure never hides an answer.
    fn find(&self, hash: u64, query: &Query, now: Instant) -> Option<(Side, Found)> {
        let stale = &self.options.stale;
        let serves = |entry: &Arc<Entry>| stale.allows(entry.left(now));
        if stale.prefer_positive
            && !stale.up_to.is_zero()
            && let Some(found) = self.answering(hash, query)
            && found.entry().is_some_and(serves)
        {
            return Some((Side::Success, found));
        }
        let usable = |found: &Found| found.entry().is_some_and(|entry| entry.matches(query) && serves(entry));
        let success = || self.memory.success.get(hash).filter(usable).map(|found| (Side::Success, found));
        match self.memory.denial.get(hash).filter(usable) {
            Some(denial) if denial.entry().is_some_and(|entry| entry.is_failure()) => {
                success().or(Some((Side::Denial, denial)))
            }
            Some(denial) => Some((Side::Denial, denial)),
            None => success(),
        }
    }

    /// The success that answers this question, if need be the last one that did.
    fn answering(&self, hash: u64, query: &Query) -> Option<Found> {
        let found = self.memory.success.get(hash)?;
        let answering = found.entry()?.answering_for(query);
        found.choose(answering)
    }

    fn hit(self: &Arc<Inner>, visit: &mut Visit<'_>, hit: &Hit<'_>) -> Step {
        let &Hit { entry, left, now, series } = hit;
        if self.is_due(entry, left, now) {
            visit.note(|_| "popular and nearly over: fetched again behind this answer".to_owned());
            self.refresh_behind(visit, entry, now, false, series);
        }
        visit.note(|_| {
            let age = now.saturating_duration_since(entry.stored).as_secs();
            format!("hit: kept {age} s ago, {left} s left")
        });
        self.answer(visit, entry, left)
    }

    /// Answers with an entry that has so many seconds left.
    fn answer(&self, visit: &mut Visit<'_>, entry: &Entry, left: i64) -> Step {
        let left = u32::try_from(left).unwrap_or(0);
        let ttl = if self.options.keep_ttl { entry.ttl } else { left };
        entry.fill(visit.query, visit.reply, ttl);
        remember_wildcard(visit, entry);
        Step::Answer
    }
}

fn remember_wildcard(visit: &mut Visit<'_>, entry: &Entry) {
    if let Some(wildcard) = &entry.wildcard {
        visit.slot().boxed = Some(Box::new(Wildcard(wildcard.clone())));
    }
}
