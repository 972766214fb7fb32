//! Runs the audit: sends each census and acts on its result.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::Instant;

use super::audit::{AuditStep, Mismatch, Position};
use super::{End, Reflector};
use crate::census::{Census, census};
use crate::log::{Level, log};
use crate::request::{Collection, Failure};
use crate::resource::Resource;

/// Whether the server responds to censuses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CensusHealth {
    Answered,
    /// The last census failed, and that was logged.
    Failing,
    /// The last census had no response at all; `logged`: an earlier failure was logged.
    Unanswered {
        logged: bool,
    },
}

/// The census that waits for its response, if any.
#[derive(Default)]
pub(super) struct PendingCensus(Option<(CensusFuture, Instant)>);

type CensusFuture = Pin<Box<dyn Future<Output = CensusResult> + Send>>;
type CensusResult = Result<Option<Census>, Failure>;

impl PendingCensus {
    /// The result and when the census was sent. Never completes without a census.
    pub(super) async fn result(&mut self) -> (CensusResult, Instant) {
        let Some((future, sent)) = &mut self.0 else { return pending().await };
        let result = (future.await, *sent);
        self.0 = None;
        result
    }
}

impl<R: Resource> Reflector<R> {
    /// Runs the audit's next step, if one is due.
    pub(super) fn run_audit(
        &mut self,
        collection: &Collection<R>,
        pending: &mut PendingCensus,
    ) -> Result<(), End> {
        match self.audit.due(self.phase.count(), Instant::now()) {
            AuditStep::Nothing => Ok(()),
            AuditStep::Census => {
                self.audit.census_sent(self.position());
                let (access, collection, limits) =
                    (Arc::clone(&self.access), collection.clone(), self.limits);
                let result = async move { census(&access, &collection, limits.census_timeout).await };
                *pending = PendingCensus(Some((Box::pin(result), Instant::now())));
                Ok(())
            }
            AuditStep::Relist => Err(End::RelistDue),
            AuditStep::Inconsistent(mismatch) => Err(End::Inconsistent(mismatch)),
        }
    }

    /// `last_received` is when the watch last delivered something.
    pub(super) fn handle_census(
        &mut self,
        (result, sent): (CensusResult, Instant),
        last_received: Instant,
    ) -> Result<(), End> {
        let failure = match result {
            Ok(census) => {
                self.census = CensusHealth::Answered;
                // An equal count shows that the data are current, even without events.
                if census.is_some_and(|census| census.count.is_none_or(|count| count == self.phase.count())) {
                    self.status.received();
                }
                return self.audit.census_received(census, Instant::now()).map_err(End::Inconsistent);
            }
            Err(failure) => failure,
        };
        // Twice no response and no event since: the connection is dead, even if it looks open.
        if failure.status.is_none() && last_received < sent {
            if let CensusHealth::Unanswered { logged } = self.census {
                self.census = if logged { CensusHealth::Failing } else { CensusHealth::Answered };
                return Err(End::Failed(failure));
            }
            self.census = CensusHealth::Unanswered { logged: self.census == CensusHealth::Failing };
            self.audit.retry_census(Instant::now());
            return Ok(());
        }
        self.audit.census_failed(Instant::now());
        if !matches!(self.census, CensusHealth::Failing | CensusHealth::Unanswered { logged: true }) {
            let (source, resource) = (self.status.source(), R::PLURAL);
            log(Level::Warning, &format!("{source}: cannot check the watch of {resource}: {}", failure.why));
        }
        self.census = CensusHealth::Failing;
        Ok(())
    }

    /// The watch reached a version; there were `before` objects until then.
    pub(super) fn advance_to(&mut self, version: String, before: u64) -> Result<(), End> {
        self.phase.advance(version);
        match self.position() {
            Some(position) => {
                self.audit.watch_advanced(before, position, Instant::now()).map_err(End::Inconsistent)
            }
            None => Ok(()),
        }
    }

    pub(super) fn relist_after(&mut self, mismatch: Mismatch) {
        match mismatch {
            Mismatch::Missed { .. } => self.events.missed.inc(),
            Mismatch::Behind { .. } | Mismatch::Backwards { .. } => self.events.doubted.inc(),
        }
        let (source, resource) = (self.status.source(), R::PLURAL);
        log(Level::Warning, &format!("{source}: watch of {resource} is inconsistent, relisting: {mismatch}"));
        self.status.mark_stale(&mismatch.to_string());
        self.phase.expire();
    }

    fn position(&self) -> Option<Position> {
        let version = self.phase.version()?.parse().ok()?;
        Some(Position { version, count: self.phase.count() })
    }
}
