//! Goals of Rhumb relative to other servers, and their verdicts.

use crate::contender::Kind;
use crate::load::Load;
use crate::results::{Outcome, Row};

/// The compared quantity: medians per query, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    User,
    Total,
    /// Under the fixed load only.
    P99,
}

impl Measure {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user time",
            Self::Total => "total time",
            Self::P99 => "p99 latency",
        }
    }

    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::User => Some(row.user.median),
            Self::Total => Some(row.total.median),
            Self::P99 => row.p99.map(|spread| spread.median),
        }
    }
}

/// Rhumb's measure is at most this multiple of another server's.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    pub times: f64,
    pub measure: Measure,
    pub other: Kind,
}

impl Goal {
    pub const fn at_most(times: f64, measure: Measure, other: Kind) -> Self {
        Self { times, measure, other }
    }
}

/// A goal under one load, with both numbers.
pub struct Verdict {
    pub goal: Goal,
    pub load: Load,
    pub ours: f64,
    pub theirs: f64,
}

impl Verdict {
    /// One per goal and measured load.
    pub fn all(goals: &[Goal], outcome: &Outcome) -> Vec<Self> {
        let mut verdicts = Vec::new();
        for &goal in goals {
            for ours in outcome.rows.iter().filter(|row| row.server == Kind::Rhumb) {
                let other = outcome.rows.iter().find(|row| row.load == ours.load && row.server == goal.other);
                let theirs = other.and_then(|row| goal.measure.of(row));
                if let (Some(ours_of), Some(theirs)) = (goal.measure.of(ours), theirs) {
                    verdicts.push(Self { goal, load: ours.load, ours: ours_of, theirs });
                }
            }
        }
        verdicts
    }

    pub fn ratio(&self) -> f64 {
        self.ours / self.theirs
    }

    pub fn met(&self) -> bool {
        self.ratio() <= self.goal.times
    }

    pub fn word(&self) -> &'static str {
        if self.met() { "met" } else { "NOT met" }
    }
}

#[cfg(test)]
mod tests {
    use crate::results::Results;

    #[test]
    fn verdicts_have_both_numbers_and_none_without_the_other_server() {
        let results = Results::example();
        let verdicts = &results.outcomes[0].verdicts;
        let found: Vec<_> = verdicts
            .iter()
            .map(|v| (v.goal.measure.name(), v.load.name(), v.ours, v.theirs, v.word()))
            .collect();
        assert_eq!(
            found,
            [
                ("total time", "fixed", 8.0, 20.0, "met"),
                ("total time", "saturation", 9.0, 16.0, "NOT met"),
                ("user time", "fixed", 1.5, 10.0, "met"),
                ("user time", "saturation", 3.0, 8.0, "NOT met"),
                ("p99 latency", "fixed", 100.0, 1000.0, "met"),
            ]
        );
    }
}
