//! Whether a watch can be believed. Now and then the server says how many objects it has at which version, and what the
//! watch has told up to that version must come to the same number.
//!
//! ```text
//!            answer    ┌─────────────┐  the watch is there
//!   asked ───────────→ │ claim waits │ ────────────────────→ same number? ──→ fine
//!     ↑                └─────────────┘                            │ no
//!     └── every half minute   │ silence, and another number       ↓
//!                             └───────────────────────────────→ missed
//! ```
//!
//! If the watch does not get to a version for too long, everything is listed. Equal numbers do not show a change that was
//! missed, so everything is listed once in a while too. No clock and no I/O here.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::api::backoff::{Limits, jittered};
use crate::api::census::Census;

/// A watch that goes this far while the server thinks of an answer is compared the next time.
const LONGEST_TRAIL: usize = 8192;

/// Numbers that never fit are the server's fault. The pause grows up to this many times twice.
const MOST_ALARMS: u32 = 7;

/// How far the watch is: a version, and how many objects there are by then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub version: u64,
    pub count: u64,
}

/// Why a watch is not believed any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Doubt {
    Missed { version: u64, has: u64, told: u64 },
    Behind { version: u64 },
    Backwards { version: u64, was: u64 },
}

/// What is to be done by now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    Nothing,
    /// The server is to be asked.
    Ask,
    /// Everything is to be listed, though nothing seems wrong.
    Relist,
    Doubt(Doubt),
}

pub(super) struct Audit {
    limits: Limits,
    /// When the server is asked; none while it is.
    ask: Option<Instant>,
    relist: Instant,
    /// Where the watch has been since the server was asked; none if nothing can be compared.
    trail: Option<Vec<Mark>>,
    claim: Option<Claim>,
    /// Since when the watch has not come to which version; the server may be further by now.
    behind: Option<(Instant, u64)>,
    /// Doubts in a row, with no agreement between them.
    alarms: u32,
}

/// A census the watch has not come to yet.
struct Claim {
    census: Census,
    /// What has not come by now is not on its way.
    grace: Instant,
}

impl Audit {
    pub(super) fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            ask: Some(now + jittered(limits.check)),
            relist: now + jittered(limits.relist),
            trail: None,
            claim: None,
            behind: None,
            alarms: 0,
        }
    }

    /// Everything was listed.
    pub(super) fn listed(&mut self, now: Instant) {
        let alarms = self.alarms;
        *self = Self { alarms, ..Self::new(self.limits, now) };
        self.ask = Some(now + self.pause());
    }

    /// A list that need not have been did not succeed.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.relist = now + jittered(self.limits.relist / 8);
    }

    /// A watch begins; an answer that was waited for is not any more.
    pub(super) fn watched(&mut self, now: Instant) {
        self.trail = None;
        self.ask.get_or_insert(now);
    }

    /// The server is asked now; the watch is `at`, if its version is a number.
    pub(super) fn asks(&mut self, at: Option<Mark>) {
        self.ask = None;
        self.trail = at.map(|at| vec![at]);
    }

    /// An event or a bookmark took the watch `to` a version; there were `before` objects until then.
    pub(super) fn passes(&mut self, before: u64, to: Mark, now: Instant) -> Result<(), Doubt> {
        self.trail = self.trail.take().filter(|trail| trail.len() < LONGEST_TRAIL);
        if let Some(trail) = &mut self.trail {
            trail.push(to);
        }
        let Some(claim) = &mut self.claim else { return Ok(()) };
        if to.version < claim.census.version {
            claim.grace = now + self.limits.grace;
            // A little behind all the time is not stuck.
            if self.behind.is_some_and(|(_, version)| version <= to.version) {
                self.behind = Some((now, claim.census.version));
            }
            return Ok(());
        }
        let census = claim.census;
        let told = if to.version > census.version { before } else { to.count };
        self.compare(census, told)
    }

    pub(super) fn answered(&mut self, census: Option<Census>, now: Instant) -> Result<(), Doubt> {
        let found = self.judge(census, now);
        self.ask = Some(now + self.pause());
        found
    }

    fn judge(&mut self, census: Option<Census>, now: Instant) -> Result<(), Doubt> {
        let (Some(census), Some(trail)) = (census, self.trail.take()) else { return Ok(()) };
        let (Some(first), Some(last)) = (trail.first(), trail.last()) else { return Ok(()) };
        if census.version < first.version {
            self.alarmed();
            return Err(Doubt::Backwards { version: census.version, was: first.version });
        }
        if last.version < census.version {
            self.behind.get_or_insert((now, census.version));
            // One that names another number already has its time running.
            let grace = self.differing(last.count).map_or(now + self.limits.grace, |claim| claim.grace);
            self.claim = Some(Claim { census, grace });
            return Ok(());
        }
        // The watch went on meanwhile; what counts is where it was then.
        let at = trail.iter().rev().find(|mark| mark.version <= census.version).unwrap_or(first);
        self.compare(census, at.count)
    }

    /// There is no answer; the next may come at once.
    pub(super) fn ask_again(&mut self, now: Instant) {
        self.trail = None;
        self.ask = Some(now);
    }

    /// There is no answer, or none to use.
    pub(super) fn not_answered(&mut self, now: Instant) {
        self.trail = None;
        self.ask = Some(now + self.pause());
    }

    /// When [`Audit::due`] has something to say; `count` is what the watch has come to.
    pub(super) fn wakes(&self, count: u64) -> Instant {
        let behind = self.behind.map(|(since, _)| since + self.limits.behind);
        let grace = self.differing(count).map(|claim| claim.grace);
        [self.ask, behind, grace].into_iter().flatten().fold(self.relist, Instant::min)
    }

    pub(super) fn due(&mut self, count: u64, now: Instant) -> Due {
        if let Some(claim) = self.differing(count).filter(|claim| claim.grace <= now) {
            let Census { version, count: has } = claim.census;
            self.alarmed();
            return Due::Doubt(Doubt::Missed { version, has: has.unwrap_or_default(), told: count });
        }
        if let Some((_, version)) = self.behind.filter(|(since, _)| *since + self.limits.behind <= now) {
            self.alarmed();
            return Due::Doubt(Doubt::Behind { version });
        }
        match self.ask {
            _ if self.relist <= now => Due::Relist,
            Some(at) if at <= now => Due::Ask,
            _ => Due::Nothing,
        }
    }

    /// The claim that waits, if it names another number.
    fn differing(&self, count: u64) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| claim.census.count.is_some_and(|has| has != count))
    }

    fn compare(&mut self, census: Census, told: u64) -> Result<(), Doubt> {
        (self.claim, self.behind) = (None, None);
        match census.count {
            Some(has) if has != told => {
                self.alarmed();
                Err(Doubt::Missed { version: census.version, has, told })
            }
            _ => {
                self.alarms = 0;
                Ok(())
            }
        }
    }

    fn alarmed(&mut self) {
        self.alarms = (self.alarms + 1).min(MOST_ALARMS);
    }

    /// Until the server is asked again. One doubt is resolved by a list; if that does not help, another one soon will
    /// not either.
    fn pause(&self) -> Duration {
        jittered(self.limits.check * (1 << self.alarms.saturating_sub(1)))
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Missed { version, has, told } => {
                write!(f, "the server has {has} at version {version}, and the watch told of {told}")
            }
            Doubt::Behind { version } => write!(f, "the watch does not get to version {version}"),
            Doubt::Backwards { version, was } => {
                write!(f, "the server is at version {version}, and was at {was}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
