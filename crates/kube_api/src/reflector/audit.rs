//! Checks a watch against the server. Every half minute a census reports how many objects the server has at which version;
//! the events of the watch up to that version must add up to the same number.
//!
//! ```text
//!           response   ┌─────────────┐ the watch gets there
//!   census ──────────→ │ open census │ ────────────────────→ same count? ──→ consistent
//!     ↑                └─────────────┘                            │ no
//!     └── every half minute   │ silence, and another count        ↓
//!                             └───────────────────────────────→ missed
//! ```
//!
//! If the watch does not reach a version for too long, the resource is relisted. Equal counts cannot reveal a missed
//! modification, so it is also relisted periodically. No clock and no I/O here.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::{Limits, jittered};
use crate::census::Census;

/// A watch with more events before the census's response is compared with the next census.
const MAX_POSITIONS: usize = 8192;

/// Counts that never match are the server's fault: the census interval doubles with each mismatch, up to this one.
const MAX_MISMATCHES: u32 = 7;

/// A version that the watch has reached, and the number of objects at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Position {
    pub version: u64,
    pub count: u64,
}

/// How a watch contradicts the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mismatch {
    /// The server and the events of the watch have different counts at a version.
    Missed { version: u64, server: u64, watch: u64 },
    /// The watch has not reached a version for too long.
    Behind { version: u64 },
    /// The server has an older version than the watch.
    Backwards { version: u64, was: u64 },
}

/// The next step of the audit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AuditStep {
    Nothing,
    Census,
    /// The periodic relist.
    Relist,
    Inconsistent(Mismatch),
}

pub(super) struct Audit {
    limits: Limits,
    /// When the next census is due; None while one is pending.
    census_at: Option<Instant>,
    relist_at: Instant,
    /// Positions of the watch since the census was sent; None if nothing can be compared.
    positions: Option<Vec<Position>>,
    open: Option<OpenCensus>,
    /// Since when the watch has not reached which version; the server may be ahead of that by now.
    behind: Option<(Instant, u64)>,
    /// Mismatches in a row, without a matching census between them.
    mismatches: u32,
}

/// A census at a version that the watch has not reached yet.
struct OpenCensus {
    census: Census,
    /// Events that have not arrived by then are not in transit.
    deadline: Instant,
}

impl Audit {
    pub(super) fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            census_at: Some(now + jittered(limits.census_interval)),
            relist_at: now + jittered(limits.relist_interval),
            positions: None,
            open: None,
            behind: None,
            mismatches: 0,
        }
    }

    /// A list is complete.
    pub(super) fn listed(&mut self, now: Instant) {
        let mismatches = self.mismatches;
        *self = Self { mismatches, ..Self::new(self.limits, now) };
        self.census_at = Some(now + self.census_interval());
    }

    /// The periodic relist failed.
    pub(super) fn postpone_relist(&mut self, now: Instant) {
        self.relist_at = now + jittered(self.limits.relist_interval / 8);
    }

    /// A watch begins; a pending census is dropped.
    pub(super) fn watch_started(&mut self, now: Instant) {
        self.positions = None;
        self.census_at.get_or_insert(now);
    }

    /// `at` is the position of the watch; None if its version is not numeric.
    pub(super) fn census_sent(&mut self, at: Option<Position>) {
        self.census_at = None;
        self.positions = at.map(|at| vec![at]);
    }

    /// An event or a bookmark advanced the watch `to` a position, from one with `before` objects.
    pub(super) fn watch_advanced(&mut self, before: u64, to: Position, now: Instant) -> Result<(), Mismatch> {
        self.positions = self.positions.take().filter(|positions| positions.len() < MAX_POSITIONS);
        if let Some(positions) = &mut self.positions {
            positions.push(to);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        if to.version < open.census.version {
            open.deadline = now + self.limits.delivery_grace;
            // A watch that always lags a little is not stuck.
            if self.behind.is_some_and(|(_, version)| version <= to.version) {
                self.behind = Some((now, open.census.version));
            }
            return Ok(());
        }
        let census = open.census;
        let delivered = if to.version > census.version { before } else { to.count };
        self.compare(census, delivered)
    }

    pub(super) fn census_received(&mut self, census: Option<Census>, now: Instant) -> Result<(), Mismatch> {
        let result = self.evaluate(census, now);
        self.census_at = Some(now + self.census_interval());
        result
    }

    fn evaluate(&mut self, census: Option<Census>, now: Instant) -> Result<(), Mismatch> {
        let (Some(census), Some(positions)) = (census, self.positions.take()) else { return Ok(()) };
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else { return Ok(()) };
        if census.version < first.version {
            self.count_mismatch();
            return Err(Mismatch::Backwards { version: census.version, was: first.version });
        }
        if last.version < census.version {
            self.behind.get_or_insert((now, census.version));
            // The deadline of an open census that does not match keeps running.
            let deadline =
                self.unmatched(last.count).map_or(now + self.limits.delivery_grace, |open| open.deadline);
            self.open = Some(OpenCensus { census, deadline });
            return Ok(());
        }
        // The watch has advanced since; the census compares with its position at that version.
        let at = positions.iter().rev().find(|position| position.version <= census.version).unwrap_or(first);
        self.compare(census, at.count)
    }

    /// No response; the next census is due at once.
    pub(super) fn retry_census(&mut self, now: Instant) {
        self.positions = None;
        self.census_at = Some(now);
    }

    /// No usable response.
    pub(super) fn census_failed(&mut self, now: Instant) {
        self.positions = None;
        self.census_at = Some(now + self.census_interval());
    }

    /// When [`Audit::due`] returns a step; `count` is the number of objects of the watch.
    pub(super) fn next_due(&self, count: u64) -> Instant {
        let behind = self.behind.map(|(since, _)| since + self.limits.max_lag);
        let deadline = self.unmatched(count).map(|open| open.deadline);
        [self.census_at, behind, deadline].into_iter().flatten().fold(self.relist_at, Instant::min)
    }

    pub(super) fn due(&mut self, count: u64, now: Instant) -> AuditStep {
        if let Some(open) = self.unmatched(count).filter(|open| open.deadline <= now) {
            let Census { version, count: server } = open.census;
            self.count_mismatch();
            return AuditStep::Inconsistent(Mismatch::Missed {
                version,
                server: server.unwrap_or_default(),
                watch: count,
            });
        }
        if let Some((_, version)) = self.behind.filter(|(since, _)| *since + self.limits.max_lag <= now) {
            self.count_mismatch();
            return AuditStep::Inconsistent(Mismatch::Behind { version });
        }
        match self.census_at {
            _ if self.relist_at <= now => AuditStep::Relist,
            Some(at) if at <= now => AuditStep::Census,
            _ => AuditStep::Nothing,
        }
    }

    /// The open census, if it has another count.
    fn unmatched(&self, count: u64) -> Option<&OpenCensus> {
        self.open.as_ref().filter(|open| open.census.count.is_some_and(|server| server != count))
    }

    fn compare(&mut self, census: Census, watch: u64) -> Result<(), Mismatch> {
        (self.open, self.behind) = (None, None);
        match census.count {
            Some(server) if server != watch => {
                self.count_mismatch();
                Err(Mismatch::Missed { version: census.version, server, watch })
            }
            _ => {
                self.mismatches = 0;
                Ok(())
            }
        }
    }

    fn count_mismatch(&mut self) {
        self.mismatches = (self.mismatches + 1).min(MAX_MISMATCHES);
    }

    /// One relist resolves a mismatch; if it does not, another one soon will not either.
    fn census_interval(&self) -> Duration {
        jittered(self.limits.census_interval * (1 << self.mismatches.saturating_sub(1)))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Missed { version, server, watch } => {
                write!(f, "server has {server} objects at resourceVersion {version}, watch delivered {watch}")
            }
            Mismatch::Behind { version } => write!(f, "watch has not reached resourceVersion {version}"),
            Mismatch::Backwards { version, was } => {
                write!(f, "server is at resourceVersion {version}, was at {was}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
