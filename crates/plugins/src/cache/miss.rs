//! Cache misses: one query goes to the plugins below, identical ones wait for it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use server::{Outcome, Step, Transport, Visit, task};
use wire::{Flags, Query, Rcode, Reply, Rtype};

use super::Inner;
use super::cacheability::is_common;
use super::coalesce::{FlightResult, Follower, FollowerEvent, Leader, Role};
use super::counters::Series;
use super::entry::{Entry, RefreshGuard};
use super::insert::hide_ad;

/// Slot flag: the query went to the plugins below.
const PASSED: u64 = 1;
/// Slot flag: the client set AD.
const HAD_AD: u64 = 2;
/// Slot flag: no reply for the name is ever cached.
pub(super) const UNCACHED: u64 = 4;

pub(super) const DISABLED: &str = "not cached: disabled for this zone";

/// A query to the plugins below that fills or refreshes the cache; stored in the slot until its reply arrives.
#[derive(Default)]
pub(super) struct Refresh {
    /// Set if followers may wait for the reply.
    pub leader: Option<Leader>,
    /// The entry being verified; served if the refresh fails.
    pub stale: Option<StaleEntry>,
}

/// A stale entry that is being verified.
pub(super) struct StaleEntry {
    pub entry: Arc<Entry>,
    pub guard: Option<RefreshGuard>,
}

impl Inner {
    pub fn miss(self: &Arc<Inner>, visit: &mut Visit<'_>, hash: u64, series: &Series) -> Step {
        if is_never_coalesced(visit.query.question.qtype) {
            series.misses.inc();
            return self.send_below(visit, Refresh::default());
        }
        match self.contents.flights.join(hash, visit.query) {
            Role::Leader(leader) => self.lead(visit, hash, leader, series),
            role => {
                series.misses.inc();
                self.lead_or_follow(visit, role, None)
            }
        }
    }

    fn lead(self: &Arc<Inner>, visit: &mut Visit<'_>, hash: u64, leader: Leader, series: &Series) -> Step {
        let now = self.clock.now();
        // A flight may have ended between the lookup and the join; then the entry is there.
        if let Some((store_type, found)) = self.find(hash, visit.query, now)
            && let Some(entry) = found.entry().filter(|entry| entry.left(now) > 0)
        {
            series.hits(store_type).inc();
            leader.end(|| FlightResult::Reply { entry: entry.clone(), limit: usize::MAX });
            return self.answer(visit, entry, entry.left(now));
        }
        series.misses.inc();
        visit.note(|_| "miss".to_owned());
        self.send_below(visit, Refresh { leader: Some(leader), stale: None })
    }

    /// Leads or follows. `stale` is served if that fails.
    pub fn lead_or_follow(
        self: &Arc<Inner>,
        visit: &mut Visit<'_>,
        role: Role,
        stale: Option<Arc<Entry>>,
    ) -> Step {
        let unguarded = |entry| StaleEntry { entry, guard: None };
        match role {
            Role::Leader(leader) => {
                self.send_below(visit, Refresh { leader: Some(leader), stale: stale.map(unguarded) })
            }
            // A lookup by a plugin below must not wait for a leader that may be waiting for it.
            Role::Follower(_) if visit.depth() > 0 => {
                self.send_below(visit, Refresh { leader: None, stale: stale.map(unguarded) })
            }
            Role::Follower(follower) => {
                visit.note(|_| "miss: joined an identical query already in flight".to_owned());
                self.follow(follower, stale)
            }
        }
    }

    fn follow(self: &Arc<Inner>, follower: Follower, stale: Option<Arc<Entry>>) -> Step {
        let inner = self.clone();
        Step::Wait(task(follower.wait(), move |event, visit| match event {
            FollowerEvent::Promoted(leader) => {
                visit.note(|_| {
                    "the joined query ended without a result; querying the plugins below".to_owned()
                });
                inner.lead_or_follow(visit, Role::Leader(leader), stale)
            }
            FollowerEvent::Ended(result) => inner.answer_shared(visit, &result, stale),
        }))
    }

    /// Answers with the result of the joined query.
    fn answer_shared(&self, visit: &mut Visit<'_>, result: &FlightResult, stale: Option<Arc<Entry>>) -> Step {
        let failed = match result {
            // This client accepts a larger reply than the leader's did.
            FlightResult::Reply { entry, limit } if entry.is_truncated() && *limit < reply_limit(visit) => {
                let stale = stale.map(|entry| StaleEntry { entry, guard: None });
                return self.send_below(visit, Refresh { leader: None, stale });
            }
            FlightResult::Reply { entry, .. } => {
                if stale.is_none() || matches!(entry.rcode(), Rcode::NOERROR | Rcode::NXDOMAIN) {
                    return self.answer(visit, entry, entry.left(self.clock.now()));
                }
                Step::Answer
            }
            FlightResult::Stale(entry) => return self.serve_stale(visit, entry),
            FlightResult::Failure { rcode, error } => Step::Fail { rcode: *rcode, error: error.clone() },
            FlightResult::Drop => Step::Drop,
        };
        match stale {
            Some(entry) => self.serve_stale(visit, &entry),
            None => failed,
        }
    }

    /// Sends the query to the plugins below.
    pub fn send_below(&self, visit: &mut Visit<'_>, refresh: Refresh) -> Step {
        let step = self.pass_below(visit, 0);
        if refresh.leader.is_some() || refresh.stale.is_some() {
            visit.slot().boxed = Some(Box::new(refresh));
        }
        step
    }

    /// Lets the query pass with these slot flags. AD is set because later clients of the entry may want to know
    /// whether the data was validated (RFC 6840 §5.7).
    pub fn pass_below(&self, visit: &mut Visit<'_>, flags: u64) -> Step {
        let had_ad = visit.query.flags.has(Flags::AD);
        visit.slot().words[0] = PASSED | flags | if had_ad { HAD_AD } else { 0 };
        visit.query.flags.set(Flags::AD, true);
        Step::Next
    }

    /// Handles the reply of the plugins below.
    pub fn handle_reply(&self, visit: &mut Visit<'_>) {
        let flags = visit.slot().words[0];
        if flags & PASSED == 0 {
            return;
        }
        visit.query.flags.set(Flags::AD, flags & HAD_AD != 0);
        if flags & UNCACHED != 0 && visit.outcome() == Outcome::Records && self.needs_no_change(visit) {
            visit.note(|_| DISABLED.to_owned());
            hide_ad(visit.query, visit.reply);
            return;
        }
        let refresh = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<Refresh>().ok());
        let Refresh { leader, stale } = refresh.map_or_else(Refresh::default, |refresh| *refresh);
        if !visit.is_served() {
            return self.explain_reply(visit, stale);
        }
        match stale {
            Some(stale) => self.finish_verify(visit, leader, stale),
            None => self.finish_miss(visit, leader),
        }
    }

    /// Whether [`Inner::insert`] would change nothing about a reply that is not cached. Replies from a
    /// cluster are of this kind, and there are many.
    fn needs_no_change(&self, visit: &Visit<'_>) -> bool {
        is_common(visit.query, visit.reply, &self.options)
            && self.counters.for_server(visit.server()).has_entries_series()
    }

    fn finish_miss(&self, visit: &mut Visit<'_>, leader: Option<Leader>) {
        match visit.outcome() {
            Outcome::Records => {
                let wildcard = visit.metadata("zone/wildcard").map(Into::into);
                self.insert_and_share(visit, leader, false, wildcard);
            }
            Outcome::Failure => {
                let rcode = visit.reply.rcode;
                let error = visit.error().map(|error| Cow::Owned(error.to_owned()));
                if rcode == Rcode::SERVFAIL && error.is_some() && is_before_deadline(visit.deadline()) {
                    self.insert_failure(visit);
                }
                if let Some(leader) = leader {
                    leader.end(|| FlightResult::Failure { rcode, error });
                }
            }
            Outcome::Drop => {
                if let Some(leader) = leader {
                    leader.end(|| FlightResult::Drop);
                }
            }
        }
    }

    /// Caches the reply and shares it with the followers.
    pub fn insert_and_share(
        &self,
        visit: &mut Visit<'_>,
        leader: Option<Leader>,
        refresh: bool,
        wildcard: Option<Box<str>>,
    ) {
        let series = self.counters.for_server(visit.server());
        let insertion = self.insert(visit.query, visit.reply, refresh, wildcard, series);
        match (insertion.cacheability.refusal, &insertion.entry) {
            (Some(why), _) => visit.note(|_| format!("not cached: {why}")),
            (None, None) => visit.note(|_| DISABLED.to_owned()),
            (None, Some(entry)) => {
                let ttl = entry.ttl;
                visit.note(|_| format!("cached for {ttl} s"));
            }
        }
        let limit = reply_limit(visit);
        let (query, reply): (&Query, &Reply) = (visit.query, visit.reply);
        if let Some(leader) = leader {
            leader.end(|| FlightResult::Reply { entry: self.shareable(insertion, query, reply), limit });
        }
        hide_ad(visit.query, visit.reply);
    }

    /// Caches a failure without a reply, so that retries do not reach an upstream that is down.
    fn insert_failure(&self, visit: &mut Visit<'_>) {
        let mut reply = Reply::new();
        reply.begin_error(visit.query, Rcode::SERVFAIL);
        let series = self.counters.for_server(visit.server());
        if let Some(entry) = self.insert(visit.query, &mut reply, false, None, series).entry {
            visit.note(|_| format!("failure cached for {} s", entry.ttl));
        }
    }
}

/// Transfers are series of messages, and the probe of `loop` must return to be detected.
fn is_never_coalesced(qtype: Rtype) -> bool {
    matches!(qtype, Rtype::AXFR | Rtype::IXFR | Rtype::HINFO)
}

/// A failure after the query's own deadline says nothing about the upstream.
fn is_before_deadline(deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|end| Instant::now() < end)
}

/// Maximum reply size for the client, in octets.
fn reply_limit(visit: &Visit<'_>) -> usize {
    match visit.client.transport {
        Transport::Udp => visit.query.udp_limit(),
        Transport::Tcp => usize::from(u16::MAX),
    }
}
