//! What each subject was like when, and the judge of what is said about it.
//!
//! An answer is right if the subject was like that at some time: not before the last state that an answer has shown
//! already, and not later than now. While all is well, it must also be a state of the last few seconds.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::subject::{About, Answer, Question, State, Subject};

/// How long a change may take to show while nothing is wrong.
pub const SOON: Duration = Duration::from_secs(5);

/// So many versions back, addresses are asked for. With more, each question would come seldom.
const ASKED_FOR: usize = 6;

/// Times count from the beginning of a schedule.
#[derive(Clone, Debug)]
struct Version {
    state: State,
    /// When it was written, if the cluster has said so. From the time it was begun on it may be seen.
    written: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct History {
    pub subject: Subject,
    versions: Vec<Version>,
    /// The oldest version that may still be shown.
    shown: usize,
    /// The version that each question was answered with last, and when that was asked.
    answered: BTreeMap<About, (usize, Duration)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// No answer came.
    Silent,
    /// It was never like that.
    Never,
    /// It was like that, but newer answers were given before.
    Back,
    /// It was like that until a change that should have shown by now.
    Late,
}

/// One answer, or none, to a question asked at a time. `calm` is since when all is well, if it is.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    pub answer: Option<&'a Answer>,
    pub asked: Duration,
    pub calm: Option<Duration>,
}

impl History {
    pub fn new(subject: Subject, state: State) -> Self {
        let versions = vec![Version { state, written: Some(Duration::ZERO) }];
        Self { subject, versions, shown: 0, answered: BTreeMap::new() }
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

    /// The addresses it had of late.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let late = self.versions.iter().rev().take(ASKED_FOR);
        let mut all: Vec<_> = late.flat_map(|version| version.state.addresses()).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub fn questions(&self) -> Vec<Question> {
        self.subject.questions(&self.addresses())
    }

    pub fn judge(&mut self, about: About, heard: Heard<'_>) -> Verdict {
        let Some(answer) = heard.answer else { return Verdict::Silent };
        let fits = |version: &Version| self.subject.answer(about, &version.state) == *answer;
        let mut fitting = (0..self.versions.len()).filter(|n| fits(&self.versions[*n]));
        // The same answer may fit several versions. The oldest is the one that claims least for later answers.
        let Some(oldest) = fitting.clone().find(|n| *n >= self.shown) else {
            return if fitting.next().is_some() { Verdict::Back } else { Verdict::Never };
        };
        let newest = fitting.next_back().unwrap_or(oldest);
        self.shown = oldest;
        self.answered.insert(about, (newest, heard.asked));
        match self.is_late(newest, heard) {
            true => Verdict::Late,
            false => Verdict::Right,
        }
    }

    /// Whether the next version was there, and all was well, long enough before the question.
    fn is_late(&self, version: usize, heard: Heard<'_>) -> bool {
        let next = self.versions.get(version + 1).and_then(|version| version.written);
        let (Some(written), Some(calm)) = (next, heard.calm) else { return false };
        written.max(calm) + SOON < heard.asked
    }

    /// Whether all its questions that were asked after `since` were answered with its last state, and all were asked.
    pub fn is_fresh(&self, since: Duration) -> bool {
        let last = self.versions.len() - 1;
        let fresh = |question: &Question| {
            self.answered
                .get(&question.about)
                .is_some_and(|(version, asked)| *version == last && *asked >= since)
        };
        self.versions[last].written.is_some() && self.questions().iter().all(fresh)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.subject)?;
        for (n, Version { state, written }) in self.versions.iter().enumerate() {
            let mark = if n == self.shown { " (shown)" } else { "" };
            match written {
                Some(at) => write!(f, " {:.2} {state:?}{mark};", at.as_secs_f64())?,
                None => write!(f, " being written {state:?}{mark};")?,
            }
        }
        Ok(())
    }
}
