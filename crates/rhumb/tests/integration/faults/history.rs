//! The states of each subject over time, and the check of answers against them.
//!
//! An answer is correct if it matches a state of the subject that is not older than that of earlier answers. Without
//! faults it must also be a state of the last few seconds.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::subject::{Answer, Aspect, Question, State, Subject};

/// Time limit until a change is visible without faults.
pub const MAX_DELAY: Duration = Duration::from_secs(5);

/// Number of recent versions whose addresses are queried. With more, each question would be rare.
const ADDRESS_VERSIONS: usize = 6;

/// Times count from the start of a schedule.
#[derive(Clone, Debug)]
struct Version {
    state: State,
    /// When the API confirmed the write. It may be visible from its start on.
    written: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct History {
    pub subject: Subject,
    versions: Vec<Version>,
    /// The oldest version that an answer may still match.
    oldest: usize,
    /// The version of the last answer per question, and when the query was sent.
    answered: BTreeMap<Aspect, (usize, Duration)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Correct,

    NoAnswer,
    /// It matches no state.
    NeverTrue,
    /// It matches a state older than that of an earlier answer.
    Regressed,
    /// It matches a state before a change that should be visible.
    Late,
}

/// An answer, or none, to a query sent at a time. `healthy_since` is the end of the last fault; none during faults.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub answer: Option<&'a Answer>,
    pub sent: Duration,
    pub healthy_since: Option<Duration>,
}

impl History {
    pub fn new(subject: Subject, state: State) -> Self {
        let versions = vec![Version { state, written: Some(Duration::ZERO) }];
        Self { subject, versions, oldest: 0, answered: BTreeMap::new() }
    }

    /// A change is about to be written.
    pub fn begin(&mut self, state: State) {
        self.versions.push(Version { state, written: None });
    }

    /// The last change was written.
    pub fn written(&mut self, at: Duration) {
        if let Some(last) = self.versions.last_mut() {
            last.written = Some(at);
        }
    }

    pub fn state(&self) -> &State {
        &self.versions[self.versions.len() - 1].state
    }

    /// Its recent addresses.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let recent = self.versions.iter().rev().take(ADDRESS_VERSIONS);
        let mut all: Vec<_> = recent.flat_map(|version| version.state.addresses()).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub fn questions(&self) -> Vec<Question> {
        self.subject.questions(&self.addresses())
    }

    pub fn judge(&mut self, aspect: Aspect, observation: Observation<'_>) -> Verdict {
        let Some(answer) = observation.answer else { return Verdict::NoAnswer };
        let fits = |version: &Version| self.subject.answer(aspect, &version.state) == *answer;
        let mut fitting = (0..self.versions.len()).filter(|n| fits(&self.versions[*n]));
        // The same answer may match several versions. The oldest restricts later answers least.
        let Some(oldest) = fitting.clone().find(|n| *n >= self.oldest) else {
            return if fitting.next().is_some() { Verdict::Regressed } else { Verdict::NeverTrue };
        };
        let newest = fitting.next_back().unwrap_or(oldest);
        self.oldest = oldest;
        self.answered.insert(aspect, (newest, observation.sent));
        match self.is_late(newest, observation) {
            true => Verdict::Late,
            false => Verdict::Correct,
        }
    }

    /// Whether the next version was written, and the last fault ended, long enough before the query.
    fn is_late(&self, version: usize, observation: Observation<'_>) -> bool {
        let next = self.versions.get(version + 1).and_then(|version| version.written);
        let (Some(written), Some(healthy_since)) = (next, observation.healthy_since) else { return false };
        written.max(healthy_since) + MAX_DELAY < observation.sent
    }

    /// Whether all its questions were sent after `since` and answered with its last state.
    pub fn is_fresh(&self, since: Duration) -> bool {
        let last = self.versions.len() - 1;
        let fresh = |question: &Question| {
            self.answered
                .get(&question.aspect)
                .is_some_and(|(version, sent)| *version == last && *sent >= since)
        };
        self.versions[last].written.is_some() && self.questions().iter().all(fresh)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.subject)?;
        for (n, Version { state, written }) in self.versions.iter().enumerate() {
            let mark = if n == self.oldest { " (oldest valid)" } else { "" };
            match written {
                Some(at) => write!(f, " {:.2} {state:?}{mark};", at.as_secs_f64())?,
                None => write!(f, " being written {state:?}{mark};")?,
            }
        }
        Ok(())
    }
}
