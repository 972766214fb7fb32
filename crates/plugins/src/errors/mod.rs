//! `errors`: logs the errors of queries, one by one or consolidated.

mod consolidate;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::log::{self, Logger};
use server::{Hooks, Lifecycle, Outcome, Plugin, Turn, Visit};
use wire::Rcode;

use consolidate::{Consolidate, Level};
pub(crate) use setup::setup;

const LOG: Logger = log::plugin("errors");

pub(crate) struct Errors {
    /// In the order of the Corefile; the first that matches counts the error.
    consolidate: Vec<Arc<Consolidate>>,
}

impl Plugin for Errors {
    fn name(&self) -> &'static str {
        "errors"
    }

    /// Any outcome may have an error: the reply of a misbehaving upstream is sent, and the error logged.
    fn hooks(&self) -> Hooks {
        Hooks::ANY_REPLY
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if let Some(error) = visit.error().filter(|_| visit.is_served()) {
            self.report(visit, error);
        }
        Turn::Up
    }
}

impl Lifecycle for Errors {
    /// Logs the pending summaries.
    fn stop(&self) {
        for consolidate in &self.consolidate {
            consolidate.stop();
        }
    }
}

impl Errors {
    fn report(&self, visit: &Visit<'_>, error: &str) {
        let level = match self.consolidate.iter().find(|consolidate| consolidate.matches(error)) {
            Some(consolidate) if consolidate.count() => return,
            Some(consolidate) => consolidate.level,
            None => Level::Error,
        };
        // CoreDNS logs a dropped query as NOERROR.
        let rcode = if visit.outcome() == Outcome::Drop { Rcode::NOERROR } else { visit.reply.rcode };
        let question = &visit.query.question;
        level.log(format_args!("{} {} {}: {error}", rcode.0, question.lower(), question.qtype));
    }
}
