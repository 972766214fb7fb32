//! Serves expired entries while they cannot be refreshed (RFC 8767).

use std::sync::Arc;
use std::time::Duration;

use server::{Outcome, Step, Visit, task};
use wire::{Flags, Query, Reply};

use super::cacheability::{Cacheability, is_reply, may_replace_stale};
use super::coalesce::{FlightResult, Leader};
use super::counters::Series;
use super::entry::{Entry, RefreshGuard};
use super::miss::{Refresh, StaleEntry};
use super::refresh::{TASK, walk_below};
use super::{Hit, Inner, store_wildcard};

/// What to do with the reply to a refresh of a stale entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefreshAction {
    /// Cache it and serve it in place of the entry.
    Replace,
    /// Cache it, but serve the entry.
    CacheOnly,
    Discard,
}

impl Inner {
    /// Answers a query whose entry has expired.
    pub fn stale_hit(self: &Arc<Inner>, visit: &mut Visit<'_>, hit: &Hit<'_>) -> Step {
        let &Hit { entry, left, now, series } = hit;
        let stale = &self.options.stale;
        let Some(timeout) = stale.verify else {
            let end = now.checked_sub(Duration::from_secs(left.unsigned_abs())).unwrap_or(now);
            self.refresh_in_background(visit, entry, end, true, series);
            return self.serve_stale(visit, entry);
        };
        if timeout.is_zero() && stale.recheck.is_zero() {
            let role = self.contents.flights.join(entry.hash, visit.query);
            return self.lead_or_follow(visit, role, Some(entry.clone()));
        }
        // One refresh at a time; other queries get the stale entry meanwhile.
        let Some(guard) = RefreshGuard::acquire(entry, &self.clock, stale.recheck) else {
            return self.serve_stale(visit, entry);
        };
        if timeout.is_zero() {
            let stale = StaleEntry { entry: entry.clone(), guard: Some(guard) };
            return self.send_below(visit, Refresh { leader: None, stale: Some(stale) });
        }
        self.verify_within(visit, entry.clone(), guard, timeout, series.clone())
    }

    /// Answers from an expired entry.
    pub fn serve_stale(&self, visit: &mut Visit<'_>, entry: &Entry) -> Step {
        if visit.is_served() {
            self.counters.for_server(visit.server()).served_stale.inc();
        }
        visit.note(|_| format!("stale: expired {} s ago", -entry.left(self.clock.now())));
        let ttl = match self.options.stale.ttl {
            0 if self.options.keep_ttl => entry.ttl,
            ttl => ttl,
        };
        entry.fill(visit.query, visit.reply, ttl);
        store_wildcard(visit, entry);
        Step::Answer
    }

    /// Handles the reply to the query that verifies an entry.
    pub fn finish_verify(&self, visit: &mut Visit<'_>, leader: Option<Leader>, stale: StaleEntry) {
        let action = match visit.outcome() {
            Outcome::Records => self.refresh_action(visit.query, visit.reply),
            Outcome::Failure | Outcome::Drop => RefreshAction::Discard,
        };
        if action == RefreshAction::Replace {
            self.insert_and_share(visit, leader, true, None);
            if let Some(guard) = stale.guard {
                guard.release(true);
            }
            return;
        }
        if action == RefreshAction::CacheOnly {
            let series = self.counters.for_server(visit.server());
            self.insert(visit.query, visit.reply, true, None, series);
        }
        self.serve_stale(visit, &stale.entry);
        visit.set_outcome(Outcome::Records);
        visit.clear_error();
        if let Some(leader) = leader {
            leader.end(|| FlightResult::Stale(stale.entry.clone()));
        }
    }

    /// Refreshes the entry and waits up to `timeout`; after that the refresh continues in the background.
    fn verify_within(
        self: &Arc<Inner>,
        visit: &mut Visit<'_>,
        stale: Arc<Entry>,
        guard: RefreshGuard,
        timeout: Duration,
        series: Arc<Series>,
    ) -> Step {
        let below = walk_below(visit);
        let inner = self.clone();
        let refresh = server::runtime::handle().spawn(supervise::step_async(TASK, async move {
            let fresh = inner.insert_refreshed(&below.await, &series);
            guard.release(fresh.is_some());
            fresh
        }));
        let inner = self.clone();
        let race = async move { tokio::time::timeout(timeout, refresh).await };
        Step::Wait(task(race, move |fresh, visit| match fresh {
            Ok(Ok(Some(Some(fresh)))) => inner.answer(visit, &fresh, fresh.left(inner.clock.now())),
            _ => inner.serve_stale(visit, &stale),
        }))
    }

    pub fn refresh_action(&self, query: &Query, reply: &Reply) -> RefreshAction {
        if !self.options.stale.prefer_positive {
            return if may_replace_stale(query, reply) {
                RefreshAction::Replace
            } else {
                RefreshAction::Discard
            };
        }
        if reply.flags.has(Flags::TC) || !is_reply(reply) {
            return RefreshAction::Discard;
        }
        let cacheability = Cacheability::of(query, reply, &self.options);
        if cacheability.is_usable_answer(reply) { RefreshAction::Replace } else { RefreshAction::CacheOnly }
    }
}
