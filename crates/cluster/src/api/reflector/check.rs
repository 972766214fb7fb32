//! Runs the audit: sends each census and acts on its result.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::Instant;

use super::audit::{AuditStep, Mismatch, Position};
use super::{End, Reflector};
use crate::api::census::{Census, census};
use crate::api::request::{Failure, Resource};
use crate::watch::{Level, log};

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

impl Reflector {
    /// Runs the audit's next step, if one is due.
    pub(super) fn run_audit(&mut self, resource: &Resource, pending: &mut PendingCensus) -> Result<(), End> {
        match self.audit.due(self.count, Instant::now()) {
            AuditStep::Nothing => Ok(()),
            AuditStep::Census => {
                self.audit.census_sent(self.position());
                let (access, resource, limits) = (Arc::clone(&self.access), resource.clone(), self.limits);
                let result = async move { census(&access, &resource, limits.census_timeout).await };
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
                (self.census_failure_logged, self.census_unanswered) = (false, false);
                // An equal count shows that the data are current, even without events.
                if census.is_some_and(|census| census.count.is_none_or(|count| count == self.count)) {
                    self.status.received();
                }
                return self.audit.census_received(census, Instant::now()).map_err(End::Inconsistent);
            }
            Err(failure) => failure,
        };
        // Twice no response and no event since: the connection is dead, even if it looks open.
        if failure.status.is_none() && last_received < sent {
            if std::mem::replace(&mut self.census_unanswered, true) {
                self.census_unanswered = false;
                return Err(End::Failed(failure));
            }
            self.audit.retry_census(Instant::now());
            return Ok(());
        }
        self.census_unanswered = false;
        self.audit.census_failed(Instant::now());
        if !std::mem::replace(&mut self.census_failure_logged, true) {
            let (source, kind) = (self.status.source(), self.kind.plural());
            log(Level::Warning, &format!("{source}: cannot check the watch of {kind}: {}", failure.why));
        }
        Ok(())
    }

    /// The watch reached a version; there were `before` objects until then.
    pub(super) fn advance_to(&mut self, version: String, before: u64) -> Result<(), End> {
        self.version = Some(version);
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
        let (source, kind) = (self.status.source(), self.kind.plural());
        log(Level::Warning, &format!("{source}: watch of {kind} is inconsistent, relisting: {mismatch}"));
        self.status.mark_stale(&mismatch.to_string());
        self.forget_version();
    }

    fn position(&self) -> Option<Position> {
        let version = self.version.as_ref()?.parse().ok()?;
        Some(Position { version, count: self.count })
    }
}
