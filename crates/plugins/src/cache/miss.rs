//! Nothing in the cache: one query asks below, the others wait for it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use server::{Outcome, Step, Transport, Visit, task};
use wire::{Flags, Query, Rcode, Reply, Rtype};

use super::Inner;
use super::coalesce::{Ending, Follower, Joined, Landed, Leader};
use super::counters::Series;
use super::entry::{Entry, Refresh};
use super::judge::is_usual;
use super::keep::hide_ad;

/// In the slot: the query went down through here.
const PASSED: u64 = 1;
/// In the slot: the client had set AD.
const HAD_AD: u64 = 2;
/// In the slot: nothing about the name is ever kept.
pub(super) const NEVER_KEPT: u64 = 4;

const NOT_HERE: &str = "not kept: disabled for this zone";

/// What a query that goes down has to do when it comes back.
#[derive(Default)]
pub(super) struct Errand {
    /// Others wait for it.
    pub leader: Option<Leader>,
    /// It verifies this entry, which is served if nothing better comes.
    pub old: Option<Old>,
}

/// A stale entry that is being verified.
pub(super) struct Old {
    pub entry: Arc<Entry>,
    pub refresh: Option<Refresh>,
}

impl Inner {
    pub fn miss(self: &Arc<Inner>, visit: &mut Visit<'_>, hash: u64, series: &Series) -> Step {
        if is_alone(visit.query.question.qtype) {
            series.misses.inc();
            return self.descend(visit, Errand::default());
        }
        match self.memory.flights.join(hash, visit.query) {
            Joined::Leads(leader) => self.lead(visit, hash, leader, series),
            joined => {
                series.misses.inc();
                self.go_with(visit, joined, None)
            }
        }
    }

    fn lead(self: &Arc<Inner>, visit: &mut Visit<'_>, hash: u64, leader: Leader, series: &Series) -> Step {
        let now = self.clock.now();
        // A flight may have ended after we looked and before we joined; then the entry is there.
        if let Some((side, found)) = self.find(hash, visit.query, now)
            && let Some(entry) = found.entry().filter(|entry| entry.left(now) > 0)
        {
            series.hits(side).inc();
            leader.end(|| Ending::Reply { entry: entry.clone(), limit: usize::MAX });
            return self.answer(visit, entry, entry.left(now));
        }
        series.misses.inc();
        visit.note(|_| "miss".to_owned());
        self.descend(visit, Errand { leader: Some(leader), old: None })
    }

    /// Leads or follows. `old` is what to serve if that comes to nothing.
    pub fn go_with(
        self: &Arc<Inner>,
        visit: &mut Visit<'_>,
        joined: Joined,
        old: Option<Arc<Entry>>,
    ) -> Step {
        let old_one = |entry| Old { entry, refresh: None };
        match joined {
            Joined::Leads(leader) => {
                self.descend(visit, Errand { leader: Some(leader), old: old.map(old_one) })
            }
            // A look-up of a plugin below must not wait for a leader that may be waiting for it.
            Joined::Follows(_) if visit.depth() > 0 => {
                self.descend(visit, Errand { leader: None, old: old.map(old_one) })
            }
            Joined::Follows(follower) => {
                visit.note(|_| "miss: another query asks already, its answer will do".to_owned());
                self.follow(follower, old)
            }
        }
    }

    fn follow(self: &Arc<Inner>, follower: Follower, old: Option<Arc<Entry>>) -> Step {
        let inner = self.clone();
        Step::Wait(task(follower.land(), move |landed, visit| match landed {
            Landed::Promoted(leader) => {
                visit.note(|_| "the other query is gone, this one asks now".to_owned());
                inner.go_with(visit, Joined::Leads(leader), old)
            }
            Landed::Ended(ending) => inner.share(visit, &ending, old),
        }))
    }

    /// Answers with what another query brought.
    fn share(&self, visit: &mut Visit<'_>, ending: &Ending, old: Option<Arc<Entry>>) -> Step {
        let failed = match ending {
            // It would have fitted this client's size.
            Ending::Reply { entry, limit } if entry.is_truncated() && *limit < size(visit) => {
                let old = old.map(|entry| Old { entry, refresh: None });
                return self.descend(visit, Errand { leader: None, old });
            }
            Ending::Reply { entry, .. } => {
                if old.is_none() || matches!(entry.rcode(), Rcode::NOERROR | Rcode::NXDOMAIN) {
                    return self.answer(visit, entry, entry.left(self.clock.now()));
                }
                Step::Answer
            }
            Ending::Stale(entry) => return self.serve_stale(visit, entry),
            Ending::Failure { rcode, error } => Step::Fail { rcode: *rcode, error: error.clone() },
            Ending::Drop => Step::Drop,
        };
        match old {
            Some(old) => self.serve_stale(visit, &old),
            None => failed,
        }
    }

    /// Sends the query on. AD asks the source to say whether it checked the data (RFC 6840 §5.7); the cache must
    /// know it for those who want to.
    pub fn descend(&self, visit: &mut Visit<'_>, errand: Errand) -> Step {
        let step = self.pass(visit, 0);
        if errand.leader.is_some() || errand.old.is_some() {
            visit.slot().boxed = Some(Box::new(errand));
        }
        step
    }

    /// The same without an errand; `memory` is for the way back.
    pub fn pass(&self, visit: &mut Visit<'_>, memory: u64) -> Step {
        let had_ad = visit.query.flags.has(Flags::AD);
        visit.slot().words[0] = PASSED | memory | if had_ad { HAD_AD } else { 0 };
        visit.query.flags.set(Flags::AD, true);
        Step::Next
    }

    /// The query is back.
    pub fn settle(&self, visit: &mut Visit<'_>) {
        let memory = visit.slot().words[0];
        if memory & PASSED == 0 {
            return;
        }
        visit.query.flags.set(Flags::AD, memory & HAD_AD != 0);
        if memory & NEVER_KEPT != 0 && visit.outcome() == Outcome::Records && self.leaves(visit) {
            visit.note(|_| NOT_HERE.to_owned());
            hide_ad(visit.query, visit.reply);
            return;
        }
        let errand = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<Errand>().ok());
        let Errand { leader, old } = errand.map_or_else(Errand::default, |errand| *errand);
        match old {
            Some(old) => self.settle_verified(visit, leader, old),
            None => self.settle_miss(visit, leader),
        }
    }

    /// Whether a reply that is not kept is one that [`Inner::keep`] would change nothing about. That of a cluster is,
    /// and there are many of them.
    fn leaves(&self, visit: &Visit<'_>) -> bool {
        is_usual(visit.query, visit.reply, &self.options)
            && self.counters.of(visit.server()).has_entries_shown()
    }

    fn settle_miss(&self, visit: &mut Visit<'_>, leader: Option<Leader>) {
        match visit.outcome() {
            Outcome::Records => {
                let wildcard = visit.metadata("zone/wildcard").map(Into::into);
                self.keep_and_tell(visit, leader, false, wildcard);
            }
            Outcome::Failure => {
                let rcode = visit.reply.rcode;
                let error = visit.error().map(|error| Cow::Owned(error.to_owned()));
                if rcode == Rcode::SERVFAIL && error.is_some() && is_in_time(visit.deadline()) {
                    self.keep_failure(visit);
                }
                if let Some(leader) = leader {
                    leader.end(|| Ending::Failure { rcode, error });
                }
            }
            Outcome::Drop => {
                if let Some(leader) = leader {
                    leader.end(|| Ending::Drop);
                }
            }
        }
    }

    /// Keeps the reply and tells those who wait for it.
    pub fn keep_and_tell(
        &self,
        visit: &mut Visit<'_>,
        leader: Option<Leader>,
        refresh: bool,
        wildcard: Option<Box<str>>,
    ) {
        let series = self.counters.of(visit.server());
        let kept = self.keep(visit.query, visit.reply, refresh, wildcard, series);
        match (kept.verdict.refusal, &kept.entry) {
            (Some(why), _) => visit.note(|_| format!("not kept: {why}")),
            (None, None) => visit.note(|_| NOT_HERE.to_owned()),
            (None, Some(entry)) => {
                let ttl = entry.ttl;
                visit.note(|_| format!("kept for {ttl} s"));
            }
        }
        let limit = size(visit);
        let (query, reply): (&Query, &Reply) = (visit.query, visit.reply);
        if let Some(leader) = leader {
            leader.end(|| Ending::Reply { entry: self.shareable(kept, query, reply), limit });
        }
        hide_ad(visit.query, visit.reply);
    }

    /// Keeps a failure for which nobody wrote a reply, so that retries do not go to a source that is down.
    fn keep_failure(&self, visit: &mut Visit<'_>) {
        let mut reply = Reply::new();
        reply.begin_error(visit.query, Rcode::SERVFAIL);
        let series = self.counters.of(visit.server());
        if let Some(entry) = self.keep(visit.query, &mut reply, false, None, series).entry {
            visit.note(|_| format!("the failure is kept for {} s", entry.ttl));
        }
    }
}

/// Transfers are series of messages, and the probe of `loop` must come round to be found.
fn is_alone(qtype: Rtype) -> bool {
    matches!(qtype, Rtype::AXFR | Rtype::IXFR | Rtype::HINFO)
}

/// A query that ran out of its own time says nothing about the source.
fn is_in_time(deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|end| Instant::now() < end)
}

/// The most octets the client can take.
fn size(visit: &Visit<'_>) -> usize {
    match visit.client.transport {
        Transport::Udp => visit.query.udp_limit(),
        Transport::Tcp => usize::from(u16::MAX),
    }
}
