//! Entries whose time is over, served when nothing better can be had (RFC 8767).

use std::sync::Arc;
use std::time::Duration;

use server::{Outcome, Step, Visit, task};
use wire::{Flags, Query, Reply};

use super::coalesce::{Ending, Leader};
use super::counters::Series;
use super::entry::{Entry, Refresh};
use super::judge::{Verdict, is_reply, refreshes};
use super::miss::{Errand, Old};
use super::refresh::{TASK, below};
use super::{Hit, Inner, remember_wildcard};

/// What a reply is to a stale entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// It takes the entry's place.
    Refreshes,
    /// It is worth keeping, but the entry is served.
    KeptOnly,
    Nothing,
}

impl Inner {
    /// Of an entry whose time is over.
    pub fn stale_hit(self: &Arc<Inner>, visit: &mut Visit<'_>, hit: &Hit<'_>) -> Step {
        let &Hit { entry, left, now, series } = hit;
        let stale = &self.options.stale;
        let Some(timeout) = stale.verify else {
            let end = now.checked_sub(Duration::from_secs(left.unsigned_abs())).unwrap_or(now);
            self.refresh_behind(visit, entry, end, true, series);
            return self.serve_stale(visit, entry);
        };
        if timeout.is_zero() && stale.recheck.is_zero() {
            let joined = self.memory.flights.join(entry.hash, visit.query);
            return self.go_with(visit, joined, Some(entry.clone()));
        }
        // One at a time; the others are served meanwhile.
        let Some(refresh) = Refresh::begin(entry, &self.clock, stale.recheck) else {
            return self.serve_stale(visit, entry);
        };
        if timeout.is_zero() {
            let old = Old { entry: entry.clone(), refresh: Some(refresh) };
            return self.descend(visit, Errand { leader: None, old: Some(old) });
        }
        self.verify_behind(visit, entry.clone(), refresh, timeout, series.clone())
    }

    /// Answers with an entry that is over.
    pub fn serve_stale(&self, visit: &mut Visit<'_>, entry: &Entry) -> Step {
        self.counters.of(visit.server()).served_stale.inc();
        visit.note(|_| format!("stale: over for {} s", -entry.left(self.clock.now())));
        let ttl = match self.options.stale.ttl {
            0 if self.options.keep_ttl => entry.ttl,
            ttl => ttl,
        };
        entry.fill(visit.query, visit.reply, ttl);
        remember_wildcard(visit, entry);
        Step::Answer
    }

    /// The query that went to verify an entry is back.
    pub fn settle_verified(&self, visit: &mut Visit<'_>, leader: Option<Leader>, old: Old) {
        let weight = match visit.outcome() {
            Outcome::Records => self.weigh(visit.query, visit.reply),
            Outcome::Failure | Outcome::Drop => Weight::Nothing,
        };
        if weight == Weight::Refreshes {
            self.keep_and_tell(visit, leader, true, None);
            if let Some(refresh) = old.refresh {
                refresh.end(true);
            }
            return;
        }
        if weight == Weight::KeptOnly {
            let series = self.counters.of(visit.server());
            self.keep(visit.query, visit.reply, true, None, series);
        }
        self.serve_stale(visit, &old.entry);
        visit.set_outcome(Outcome::Records);
        visit.clear_error();
        if let Some(leader) = leader {
            leader.end(|| Ending::Stale(old.entry.clone()));
        }
    }

    /// Asks the source and waits for it, but not too long; it may then go on without us.
    fn verify_behind(
        self: &Arc<Inner>,
        visit: &mut Visit<'_>,
        old: Arc<Entry>,
        refresh: Refresh,
        timeout: Duration,
        series: Arc<Series>,
    ) -> Step {
        let below = below(visit);
        let inner = self.clone();
        let asking = server::runtime::handle().spawn(supervise::step_async(TASK, async move {
            let fresh = inner.take_in(&below.await, &series);
            refresh.end(fresh.is_some());
            fresh
        }));
        let inner = self.clone();
        let race = async move { tokio::time::timeout(timeout, asking).await };
        Step::Wait(task(race, move |fresh, visit| match fresh {
            Ok(Ok(Some(Some(fresh)))) => inner.answer(visit, &fresh, fresh.left(inner.clock.now())),
            _ => inner.serve_stale(visit, &old),
        }))
    }

    pub fn weigh(&self, query: &Query, reply: &Reply) -> Weight {
        if !self.options.stale.prefer_positive {
            return if refreshes(query, reply) { Weight::Refreshes } else { Weight::Nothing };
        }
        if reply.flags.has(Flags::TC) || !is_reply(reply) {
            return Weight::Nothing;
        }
        let verdict = Verdict::of(query, reply, &self.options);
        if verdict.is_usable_answer(reply) { Weight::Refreshes } else { Weight::KeptOnly }
    }
}
