//! Background refreshes: of popular entries before they expire (prefetch), of stale ones afterwards.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Instant;

use server::{Client, LookupResult, NestedWalk, Outcome, Transport, Visit};
use wire::Flags;

use super::Inner;
use super::contents::Contents;
use super::counters::Series;
use super::entry::{Entry, RefreshGuard};
use super::stale::RefreshAction;

/// A refresh that panics counts as failed.
pub(super) const TASK: &str = "cache-refresh";

const UNSPECIFIED: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

/// The client of background refreshes. TCP, so that no reply is truncated.
static NO_CLIENT: Client = Client { remote: UNSPECIFIED, local: UNSPECIFIED, transport: Transport::Tcp };

impl Inner {
    /// Counts a query for the entry; true if it is popular and about to expire.
    pub fn is_prefetch_due(&self, entry: &Entry, left: i64, now: Instant) -> bool {
        let prefetch = &self.options.prefetch;
        if prefetch.amount == 0 {
            return false;
        }
        let hits = entry.count(now, prefetch.pause);
        let threshold = (f64::from(prefetch.percentage) / 100.0 * f64::from(entry.ttl)).ceil();
        u64::from(hits) >= prefetch.amount && left as f64 <= threshold
    }

    /// Queries the plugins below again, unless a refresh of the entry is running. `now` is the time of the entry's last
    /// query; `stale`: only a reply that may replace a stale entry counts as a success.
    pub fn refresh_in_background(
        self: &Arc<Inner>,
        visit: &mut Visit<'_>,
        entry: &Arc<Entry>,
        now: Instant,
        stale: bool,
        series: &Arc<Series>,
    ) {
        let recheck = if stale { self.options.stale.recheck } else { std::time::Duration::ZERO };
        let Some(guard) = RefreshGuard::acquire(entry, &self.clock, recheck) else { return };
        series.prefetches.inc();
        let client = std::mem::replace(&mut visit.client, &NO_CLIENT);
        let below = walk_below(visit);
        visit.client = client;
        let (inner, old, series) = (self.clone(), entry.clone(), series.clone());
        let task = async move {
            let found = below.await;
            let refreshed = if stale {
                inner.insert_refreshed(&found, &series).is_some()
            } else {
                inner.insert_found(&found, &series);
                true
            };
            if refreshed {
                inner.inherit_hits(&old, now);
            }
            guard.release(refreshed);
        };
        server::runtime::handle().spawn(supervise::step_async(TASK, task));
    }

    /// Caches any reply.
    fn insert_found(&self, found: &LookupResult, series: &Series) {
        if found.outcome() == Outcome::Records {
            self.insert(found.query(), &mut found.reply().clone(), true, None, series);
        }
    }

    /// Caches the reply to a refresh of a stale entry; returns the entry that replaces it.
    pub fn insert_refreshed(&self, found: &LookupResult, series: &Series) -> Option<Arc<Entry>> {
        if found.outcome() != Outcome::Records {
            return None;
        }
        let (query, mut reply) = (found.query(), found.reply().clone());
        match self.refresh_action(query, &reply) {
            RefreshAction::Discard => None,
            RefreshAction::CacheOnly => {
                self.insert(query, &mut reply, true, None, series);
                None
            }
            RefreshAction::Replace => {
                let insertion = self.insert(query, &mut reply, true, None, series);
                Some(self.shareable(insertion, query, &reply))
            }
        }
    }

    /// Gives the new entry the popularity of the one it replaces.
    fn inherit_hits(&self, old: &Entry, now: Instant) {
        let Contents { denial, success, .. } = &*self.contents;
        let new = denial.get(old.hash).or_else(|| success.get(old.hash));
        if let Some(new) = new.as_ref().and_then(|found| found.entry()) {
            new.inherit_hits(now, old.hits());
        }
    }
}

/// A walk through the plugins below, with AD set so that the reply shows whether the data was validated.
pub(super) fn walk_below(visit: &mut Visit<'_>) -> NestedWalk {
    let flags = visit.query.flags;
    visit.query.flags.set(Flags::AD, true);
    let below = visit.walk_below();
    visit.query.flags = flags;
    below
}
