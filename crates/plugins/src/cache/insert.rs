//! Inserting replies into the stores.

use std::sync::Arc;

use wire::{Flags, Query, Reply};

use super::cacheability::{Cacheability, is_reply};
use super::counters::{Series, StoreType};
use super::entry::{Details, Entry, set_ttl};
use super::{Inner, is_under_any};

/// The result of [`Inner::insert`].
pub(super) struct Insertion {
    pub cacheability: Cacheability,
    /// None if the reply was not cached.
    pub entry: Option<Arc<Entry>>,
}

impl Inner {
    /// Gives all records the TTL they have in the cache, and caches the reply if that is allowed. `refresh`: it replaces
    /// an earlier entry.
    pub fn insert(
        &self,
        query: &Query,
        reply: &mut Reply,
        refresh: bool,
        wildcard: Option<Box<str>>,
        series: &Series,
    ) -> Insertion {
        let mut cacheability = Cacheability::of(query, reply, &self.options);
        // The first client gets the same TTL as later ones.
        set_ttl(reply, cacheability.ttl());
        // EDNS is hop by hop.
        reply.opt = None;
        if cacheability.refusal.is_none() && !is_reply(reply) {
            series.drops.inc();
            cacheability.refusal = Some("QR is not set");
        }
        if cacheability.refusal.is_some() {
            return Insertion { cacheability, entry: None };
        }
        let store_type = if cacheability.is_success() { StoreType::Success } else { StoreType::Denial };
        let (store, disabled) = match store_type {
            StoreType::Success => (&self.contents.success, &self.options.no_success),
            StoreType::Denial => (&self.contents.denial, &self.options.no_denial),
        };
        let entry = if is_under_any(query.question.lower(), disabled) {
            None
        } else {
            let entry = Arc::new(self.entry(query, reply, &cacheability, wildcard));
            if store.insert(entry.clone()) {
                series.evictions(store_type).inc();
            }
            let supersedes =
                if self.options.stale.prefer_positive { cacheability.answering } else { refresh };
            if store_type == StoreType::Success && supersedes {
                self.contents.denial.remove(entry.hash);
            }
            Some(entry)
        };
        series.set_entries(StoreType::Success, self.contents.success.len());
        series.set_entries(StoreType::Denial, self.contents.denial.len());
        Insertion { cacheability, entry }
    }

    /// Makes an entry from a reply, without storing it.
    fn entry(
        &self,
        query: &Query,
        reply: &Reply,
        cacheability: &Cacheability,
        wildcard: Option<Box<str>>,
    ) -> Entry {
        let hash = self.hash(query);
        let keeps_good =
            self.options.stale.prefer_positive && cacheability.is_success() && !cacheability.answering;
        let last_good = if keeps_good {
            self.answering(hash, query).and_then(|good| good.entry().cloned())
        } else {
            None
        };
        let details = Details { answering: cacheability.answering, last_good, wildcard };
        Entry::new(hash, query, reply, cacheability.ttl(), self.clock.now(), details)
    }

    /// The entry to share with followers; a reply that was not cached gets one outside of the stores.
    pub fn shareable(&self, insertion: Insertion, query: &Query, reply: &Reply) -> Arc<Entry> {
        let Insertion { cacheability, entry } = insertion;
        entry.unwrap_or_else(|| Arc::new(self.entry(query, reply, &cacheability, None)))
    }
}

/// Clears AD for clients that set neither DO nor AD (RFC 6840 §5.7). Cached entries keep it.
pub(super) fn hide_ad(query: &Query, reply: &mut Reply) {
    if !query.dnssec_ok() && !query.flags.has(Flags::AD) {
        reply.flags.set(Flags::AD, false);
    }
}
