//! Putting a reply into its store.

use std::sync::Arc;

use wire::{Flags, Query, Reply};

use super::counters::{Series, Side};
use super::entry::{About, Entry, set_ttl};
use super::judge::{Verdict, is_reply};
use super::{Inner, is_under_any};

/// What became of a reply.
pub(super) struct Kept {
    pub verdict: Verdict,
    /// None if it was not kept.
    pub entry: Option<Arc<Entry>>,
}

impl Inner {
    /// Gives all records of a reply the time to live they will have in the cache, and keeps it if it may be kept.
    /// `refresh`: it comes in the place of an entry that was there.
    pub fn keep(
        &self,
        query: &Query,
        reply: &mut Reply,
        refresh: bool,
        wildcard: Option<Box<str>>,
        series: &Series,
    ) -> Kept {
        let mut verdict = Verdict::of(query, reply, &self.options);
        // On the first answer too, or clients would see it jump.
        set_ttl(reply, verdict.ttl());
        // EDNS goes from hop to hop.
        reply.opt = None;
        if verdict.refusal.is_none() && !is_reply(reply) {
            series.drops.inc();
            verdict.refusal = Some("it is no reply");
        }
        if verdict.refusal.is_some() {
            return Kept { verdict, entry: None };
        }
        let side = if verdict.is_success() { Side::Success } else { Side::Denial };
        let (store, disabled) = match side {
            Side::Success => (&self.memory.success, &self.options.no_success),
            Side::Denial => (&self.memory.denial, &self.options.no_denial),
        };
        let entry = if is_under_any(query.question.lower(), disabled) {
            None
        } else {
            let entry = Arc::new(self.entry(query, reply, &verdict, wildcard));
            if store.insert(entry.clone()) {
                series.evictions(side).inc();
            }
            let supersedes = if self.options.stale.prefer_positive { verdict.answering } else { refresh };
            if side == Side::Success && supersedes {
                self.memory.denial.remove(entry.hash);
            }
            Some(entry)
        };
        series.set_entries(Side::Success, self.memory.success.len());
        series.set_entries(Side::Denial, self.memory.denial.len());
        Kept { verdict, entry }
    }

    /// A reply as an entry, not stored anywhere.
    fn entry(&self, query: &Query, reply: &Reply, verdict: &Verdict, wildcard: Option<Box<str>>) -> Entry {
        let hash = self.hash(query);
        let keeps_good = self.options.stale.prefer_positive && verdict.is_success() && !verdict.answering;
        let last_good = if keeps_good {
            self.answering(hash, query).and_then(|good| good.entry().cloned())
        } else {
            None
        };
        let about = About { answering: verdict.answering, last_good, wildcard };
        Entry::new(hash, query, reply, verdict.ttl(), self.clock.now(), about)
    }

    /// The entry of a reply that was kept; for one that was not, an entry of its own to be handed around.
    pub fn shareable(&self, kept: Kept, query: &Query, reply: &Reply) -> Arc<Entry> {
        let Kept { verdict, entry } = kept;
        entry.unwrap_or_else(|| Arc::new(self.entry(query, reply, &verdict, None)))
    }
}

/// Takes AD away from clients that asked for neither DNSSEC nor AD (RFC 6840 §5.7). What is kept keeps it.
pub(super) fn hide_ad(query: &Query, reply: &mut Reply) {
    if !query.dnssec_ok() && !query.flags.has(Flags::AD) {
        reply.flags.set(Flags::AD, false);
    }
}
