//! Fetching again behind the clients' backs: popular entries before they end, stale ones after.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Instant;

use server::{Below, Client, Found, Outcome, Transport, Visit};
use wire::Flags;

use super::Inner;
use super::counters::Series;
use super::entry::{Entry, Refresh};
use super::memory::Memory;
use super::stale::Weight;

/// A refresh that panics counts as failed.
pub(super) const TASK: &str = "cache-refresh";

const NOWHERE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

/// Nobody asks, and so nobody limits the size of the reply: over TCP nothing is truncated.
static NOBODY: Client = Client { remote: NOWHERE, local: NOWHERE, transport: Transport::Tcp };

impl Inner {
    /// Counts a query for the entry; true if it is popular and its time nearly over.
    pub fn is_due(&self, entry: &Entry, left: i64, now: Instant) -> bool {
        let prefetch = &self.options.prefetch;
        if prefetch.amount == 0 {
            return false;
        }
        let hits = entry.count(now, prefetch.pause);
        let threshold = (f64::from(prefetch.percentage) / 100.0 * f64::from(entry.ttl)).ceil();
        u64::from(hits) >= prefetch.amount && left as f64 <= threshold
    }

    /// Has the plugins below asked again, unless that is being done already. `now` is when the entry was last
    /// asked for; `stale`: only what takes the place of a stale entry will do.
    pub fn refresh_behind(
        self: &Arc<Inner>,
        visit: &mut Visit<'_>,
        entry: &Arc<Entry>,
        now: Instant,
        stale: bool,
        series: &Arc<Series>,
    ) {
        let recheck = if stale { self.options.stale.recheck } else { std::time::Duration::ZERO };
        let Some(refresh) = Refresh::begin(entry, &self.clock, recheck) else { return };
        series.prefetches.inc();
        let client = std::mem::replace(&mut visit.client, &NOBODY);
        let below = below(visit);
        visit.client = client;
        let (inner, old, series) = (self.clone(), entry.clone(), series.clone());
        let refreshing = async move {
            let found = below.await;
            let refreshed = if stale {
                inner.take_in(&found, &series).is_some()
            } else {
                inner.keep_found(&found, &series);
                true
            };
            if refreshed {
                inner.inherit_hits(&old, now);
            }
            refresh.end(refreshed);
        };
        server::runtime::handle().spawn(supervise::step_async(TASK, refreshing));
    }

    /// Keeps whatever was found.
    fn keep_found(&self, found: &Found, series: &Series) {
        if found.outcome() == Outcome::Records {
            self.keep(found.query(), &mut found.reply().clone(), true, None, series);
        }
    }

    /// Keeps what was found as far as it is worth keeping beside a stale entry; the entry that takes its place.
    pub fn take_in(&self, found: &Found, series: &Series) -> Option<Arc<Entry>> {
        if found.outcome() != Outcome::Records {
            return None;
        }
        let (query, mut reply) = (found.query(), found.reply().clone());
        match self.weigh(query, &reply) {
            Weight::Nothing => None,
            Weight::KeptOnly => {
                self.keep(query, &mut reply, true, None, series);
                None
            }
            Weight::Refreshes => {
                let kept = self.keep(query, &mut reply, true, None, series);
                Some(self.shareable(kept, query, &reply))
            }
        }
    }

    /// A new entry is as popular as the one it replaces.
    fn inherit_hits(&self, old: &Entry, now: Instant) {
        let Memory { denial, success, .. } = &*self.memory;
        let new = denial.get(old.hash).or_else(|| success.get(old.hash));
        if let Some(new) = new.as_ref().and_then(|found| found.entry()) {
            new.inherit_hits(now, old.hits());
        }
    }
}

/// A walk below the cache that asks the source to say whether it checked the data.
pub(super) fn below(visit: &mut Visit<'_>) -> Below {
    let flags = visit.query.flags;
    visit.query.flags.set(Flags::AD, true);
    let below = visit.below();
    visit.query.flags = flags;
    below
}
