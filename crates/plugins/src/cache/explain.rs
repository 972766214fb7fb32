//! Explained queries: read the stores and leave them as they are. They start no refresh, and neither join a query in
//! flight nor start one that others could join.

use std::sync::Arc;

use server::{Outcome, Step, Visit};

use super::cacheability::Cacheability;
use super::entry::set_ttl;
use super::insert::hide_ad;
use super::miss::{Refresh, StaleEntry};
use super::stale::RefreshAction;
use super::{Inner, is_under_any, note_hit};

impl Inner {
    /// Looks a query up as [`Inner::look_up`] does.
    pub fn explain(self: &Arc<Inner>, visit: &mut Visit<'_>) -> Step {
        let now = self.clock.at(visit.time());
        let is_uncached = self.is_uncached(visit.query.question.lower());
        let found = if is_uncached { None } else { self.find(self.hash(visit.query), visit.query, now) };
        let Some(entry) = found.as_ref().and_then(|(_, found)| found.entry()) else {
            visit.note(|_| "miss".to_owned());
            return self.send_below(visit, Refresh::default());
        };
        let left = entry.left(now);
        if left > 0 {
            note_hit(visit, entry, left, now);
            return self.answer(visit, entry, left);
        }
        if self.options.stale.verify.is_none() {
            return self.serve_stale(visit, entry);
        }
        visit.note(|_| format!("stale: expired {} s ago; querying the plugins below first", -left));
        let stale = StaleEntry { entry: entry.clone(), guard: None };
        self.send_below(visit, Refresh { leader: None, stale: Some(stale) })
    }

    /// Treats the reply of the plugins below as if it were cached.
    pub fn explain_reply(&self, visit: &mut Visit<'_>, stale: Option<StaleEntry>) {
        let has_records = visit.outcome() == Outcome::Records;
        if let Some(stale) = stale
            && !(has_records && self.refresh_action(visit.query, visit.reply) == RefreshAction::Replace)
        {
            self.serve_stale(visit, &stale.entry);
            visit.set_outcome(Outcome::Records);
            visit.clear_error();
            return;
        }
        if !has_records {
            return;
        }
        let cacheability = Cacheability::of(visit.query, visit.reply, &self.options);
        set_ttl(visit.reply, cacheability.ttl());
        visit.reply.opt = None;
        hide_ad(visit.query, visit.reply);
        let disabled = match cacheability.is_success() {
            true => &self.options.no_success,
            false => &self.options.no_denial,
        };
        let is_disabled = is_under_any(visit.query.question.lower(), disabled);
        visit.note(|_| match cacheability.refusal {
            Some(why) => format!("not cached: {why}"),
            None if is_disabled => super::miss::DISABLED.to_owned(),
            None => format!("would be cached for {} s", cacheability.ttl()),
        });
    }
}
