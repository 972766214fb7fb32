//! The connection to the source of one kind: since when what is known of it may be outdated and why, and one log line per
//! change.
//!
//! ```text
//!  ┌─────┐ connected  ┌───────────┐  lost, outdated  ┌──────┐
//!  │ New │ ─────────→ │ Connected │ ───────────────→ │ Lost │
//!  └─────┘            └───────────┘ ←─────────────── └──────┘
//!     │ lost                          connected         ↑
//!     └─────────────────────────────────────────────────┘
//! ```
//!
//! From each of them `absent` leads to Absent, and from there the same ways lead on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::log::{Level, log};
use super::{Staleness, Unlisted};
use crate::object::Kind;

/// A reason other than the one last logged is worth a line of its own, but not more often than this.
const ANOTHER_REASON: Duration = Duration::from_secs(60);

/// A connection that stays silent is worth another log line after this time.
const STILL_SILENT: Duration = Duration::from_secs(600);

/// The connection of one kind. Not on the query path, so a lock will do.
pub(crate) struct Line {
    source: String,
    kind: Kind,
    state: Mutex<State>,
}

/// No clock here: every `now` comes from outside.
struct State {
    link: Link,
    /// When what is known was last current; before the first list, when it began to be wanted.
    current: Instant,
    /// Something arrives at least this often; None for sources that do not promise it.
    every: Option<Duration>,
    /// The source has answered something.
    answered: bool,
    /// When silence was last logged.
    silence_logged: Option<Instant>,
    /// The last reason logged and when, since the connection was lost.
    logged: Option<(String, Instant)>,
}

#[derive(Debug)]
enum Link {
    /// Never connected, and nobody knows why.
    New,
    Connected {
        /// When what is known was current before this connection, until something arrives on it: one that breaks
        /// before that made nothing current.
        before: Option<Instant>,
    },
    Lost {
        /// The status of an answer that was an error.
        status: Option<u16>,
        why: String,
    },
    /// The source answers that it does not have the kind. Then nothing of it can be outdated.
    Absent { why: String },
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            link: Link::New,
            current: now,
            every: None,
            answered: false,
            silence_logged: None,
            logged: None,
        }
    }

    /// Returns the line to log, if there is one.
    fn connected(&mut self, kind: &str, now: Instant) -> Option<String> {
        let (was_new, away) = (matches!(self.link, Link::New), now - self.current);
        // One that was connected and silent has delivered nothing by being connected once more.
        if !matches!(self.link, Link::Connected { .. }) {
            self.link = Link::Connected { before: Some(self.current) };
            self.current = now;
        }
        self.answered = true;
        match self.logged.take() {
            Some(_) => Some(format!("watching {kind} again, after {:.1}s", away.as_secs_f64())),
            None => was_new.then(|| format!("watching {kind}")),
        }
    }

    fn received(&mut self, now: Instant) {
        if let Link::Connected { before } = &mut self.link {
            (*before, self.current) = (None, now);
        }
    }

    fn listed(&mut self, now: Instant) {
        self.current = now;
        self.received(now);
    }

    /// Not connected any more; what a connection promised and did not deliver is forgotten.
    fn disconnect(&mut self, status: Option<u16>, why: &str) {
        if let Link::Connected { before: Some(before) } = self.link {
            self.current = before;
        }
        self.link = Link::Lost { status, why: why.to_owned() };
    }

    fn lost(&mut self, kind: &str, status: Option<u16>, why: &str, now: Instant) -> Option<String> {
        let (was_new, was_absent) =
            (matches!(self.link, Link::New), matches!(self.link, Link::Absent { .. }));
        self.disconnect(status, why);
        let first = match &self.logged {
            _ if was_absent => false,
            Some((logged, when)) if logged == why || now - *when < ANOTHER_REASON => return None,
            logged => logged.is_none(),
        };
        self.logged = Some((why.to_owned(), now));
        Some(match first && !was_new {
            true => format!("lost the watch of {kind}, what is known stays: {why}"),
            false => format!("cannot watch {kind}, trying again: {why}"),
        })
    }

    fn outdated(&mut self, why: &str) {
        if !matches!(self.link, Link::New) {
            self.disconnect(None, why);
        }
    }

    fn silent(&mut self, kind: &str, now: Instant) -> Option<String> {
        let silence = now - self.current;
        let expected = self.every.is_some_and(|every| silence < every);
        if expected || self.silence_logged.is_some_and(|when| now - when < STILL_SILENT) {
            return None;
        }
        self.silence_logged = Some(now);
        Some(format!("no events for {kind} in {:.1}s; restarting the watch", silence.as_secs_f64()))
    }

    fn absent(&mut self, kind: &str, why: &str, now: Instant) -> Option<String> {
        self.current = now;
        self.logged.get_or_insert_with(|| (why.to_owned(), now));
        let absent = Link::Absent { why: why.to_owned() };
        let was_absent = matches!(std::mem::replace(&mut self.link, absent), Link::Absent { .. });
        (!was_absent).then(|| format!("waiting for {kind}: {why}"))
    }

    fn staleness(&self, now: Instant) -> Option<(Duration, &str)> {
        let age = now - self.current;
        let overdue = self.every.is_some_and(|every| age > every);
        match &self.link {
            Link::New => Some((age, "no answer yet")),
            Link::Lost { why, .. } => Some((age, why)),
            Link::Connected { .. } | Link::Absent { .. } => overdue.then_some((age, "nothing received")),
        }
    }

    fn unlisted(&self) -> Unlisted {
        match &self.link {
            Link::Lost { status: None, why } if !self.answered => Unlisted::Unreachable { why: why.clone() },
            Link::Lost { status, why } => Unlisted::Failed { status: *status, why: why.clone() },
            Link::Absent { why } => Unlisted::Failed { status: None, why: why.clone() },
            Link::New if !self.answered => Unlisted::Unanswered,
            Link::New | Link::Connected { .. } => Unlisted::Listing,
        }
    }
}

impl Line {
    pub(crate) fn new(source: &str, kind: Kind) -> Self {
        Self { source: source.to_owned(), kind, state: Mutex::new(State::new(Instant::now())) }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// From now on a longer silence makes what is known stale, though the connection stands.
    pub(crate) fn expect_every(&self, every: Duration) {
        self.lock().every = Some(every);
    }

    /// The source answers and will report changes. Returns whether it did not before.
    pub(crate) fn connected(&self) -> bool {
        let mut state = self.lock();
        let was_connected = matches!(state.link, Link::Connected { .. });
        let line = state.connected(self.kind.plural(), Instant::now());
        drop(state);
        self.log(Level::Info, line);
        !was_connected
    }

    /// The source answered something, a part of a list perhaps: nothing is more current by that.
    pub(crate) fn answered(&self) {
        self.lock().answered = true;
    }

    /// Something arrived on the connection, so all before it has arrived too.
    pub(crate) fn received(&self) {
        self.lock().received(Instant::now());
    }

    /// A list is complete.
    pub(crate) fn listed(&self) {
        self.lock().listed(Instant::now());
    }

    /// The source has not answered so far, and no line was logged about why.
    pub(crate) fn is_unanswered(&self) -> bool {
        let state = self.lock();
        !state.answered && state.logged.is_none()
    }

    /// The connection stands, but nothing arrives.
    pub(crate) fn silent(&self) {
        let line = self.lock().silent(self.kind.plural(), Instant::now());
        self.log(Level::Warning, line);
    }

    /// The source does not answer, or not as it should.
    pub(crate) fn lost(&self, why: &str) {
        self.failed(None, why);
    }

    /// The same for an answer that is an error.
    pub(crate) fn failed(&self, status: Option<u16>, why: &str) {
        let line = self.lock().lost(self.kind.plural(), status, why, Instant::now());
        self.log(Level::Warning, line);
    }

    /// Marks the data as stale from now on; the caller has logged why.
    pub(crate) fn outdated(&self, why: &str) {
        self.lock().outdated(why);
    }

    /// The source answers that it does not know the kind.
    pub(crate) fn absent(&self, why: &str) {
        let line = self.lock().absent(self.kind.plural(), why, Instant::now());
        self.log(Level::Warning, line);
    }

    /// Since when what is known may be outdated; None while it is current.
    pub(crate) fn staleness(&self) -> Option<Staleness> {
        let state = self.lock();
        let (age, why) = state.staleness(Instant::now())?;
        Some(Staleness { age, reason: format!("{}: {why}", self.kind.plural()) })
    }

    /// Why there is no complete list, given that there is none.
    pub(crate) fn unlisted(&self) -> Unlisted {
        self.lock().unlisted()
    }

    fn log(&self, level: Level, line: Option<String>) {
        if let Some(line) = line {
            log(level, &format!("{}: {line}", self.source));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks connections as lost when the task that keeps them ends: it panicked, which has a log line, and will be back after
/// a pause.
pub(crate) struct LostOnDrop<'l>(pub &'l [Arc<Line>]);

impl Drop for LostOnDrop<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|line| line.outdated("its task panicked and restarts"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens to a connection, each one second after the other.
    #[derive(Clone, Copy)]
    enum Step {
        Connected,
        Received,
        Listed,
        Lost(&'static str),
        Outdated(&'static str),
        Absent,
        Silent,
        Wait(u64),
    }

    use Step::*;

    /// `stale` is the age in seconds and the reason in the end; `lines` are all that were logged.
    fn check(name: &str, steps: &[Step], stale: Option<(u64, &str)>, lines: &[&str]) {
        let mut now = Instant::now();
        let mut state = State { every: Some(Duration::from_secs(75)), ..State::new(now) };
        let mut logged = Vec::new();
        for step in steps {
            now += Duration::from_secs(1);
            logged.extend(match *step {
                Connected => state.connected("pods", now),
                Lost(why) => state.lost("pods", None, why, now),
                Absent => state.absent("pods", "no such kind", now),
                Silent => state.silent("pods", now),
                Received => {
                    state.received(now);
                    None
                }
                Listed => {
                    state.listed(now);
                    None
                }
                Outdated(why) => {
                    state.outdated(why);
                    None
                }
                Wait(seconds) => {
                    now += Duration::from_secs(seconds - 1);
                    None
                }
            });
        }
        let got = state.staleness(now).map(|(age, why)| (age.as_secs(), why));
        assert_eq!(
            (got, &*logged),
            (stale, &*lines.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()),
            "{name}"
        );
    }

    #[test]
    fn why_there_is_no_list() {
        let failed = |status| Unlisted::Failed { status, why: "reset".to_owned() };
        let check = |answered, change: fn(&mut State, Instant) -> Option<String>, expected| {
            let now = Instant::now();
            let mut state = State { answered, ..State::new(now) };
            change(&mut state, now);
            assert_eq!(state.unlisted(), expected);
        };
        check(false, |_, _| None, Unlisted::Unanswered);
        check(true, |_, _| None, Unlisted::Listing);
        check(false, |state, now| state.connected("pods", now), Unlisted::Listing);
        let unreachable = Unlisted::Unreachable { why: "reset".to_owned() };
        check(false, |state, now| state.lost("pods", None, "reset", now), unreachable);
        check(true, |state, now| state.lost("pods", None, "reset", now), failed(None));
        check(false, |state, now| state.lost("pods", Some(403), "reset", now), failed(Some(403)));
        check(false, |state, now| state.absent("pods", "reset", now), failed(None));
    }

    #[test]
    fn staleness_counts_from_when_data_was_current() {
        const WATCHING: &str = "watching pods";
        const LOST: &str = "lost the watch of pods, what is known stays: reset";
        check("nobody answers", &[Wait(9)], Some((9, "no answer yet")), &[]);
        check(
            "refused from the start",
            &[Lost("refused"), Wait(9)],
            Some((10, "refused")),
            &["cannot watch pods, trying again: refused"],
        );
        check("connected", &[Connected, Wait(9)], None, &[WATCHING]);
        check(
            "lost, and counted from the last event and not from when that was noticed",
            &[Connected, Received, Wait(5), Lost("reset"), Wait(5)],
            Some((11, "reset")),
            &[WATCHING, LOST],
        );
        check(
            "connected again",
            &[Connected, Received, Lost("reset"), Wait(5), Connected, Wait(5)],
            None,
            &[WATCHING, LOST, "watching pods again, after 7.0s"],
        );
        check(
            "connections that break before anything arrives",
            &[
                Connected,
                Received,
                Lost("reset"),
                Connected,
                Wait(5),
                Lost("reset"),
                Connected,
                Lost("reset"),
            ],
            Some((10, "reset")),
            &[
                WATCHING,
                LOST,
                "watching pods again, after 2.0s",
                LOST,
                "watching pods again, after 9.0s",
                LOST,
            ],
        );
        check(
            "parts of lists that never end",
            &[Lost("reset"), Received, Wait(5), Received, Lost("reset")],
            Some((9, "reset")),
            &["cannot watch pods, trying again: reset"],
        );
        check(
            "listed, but not watched",
            &[Lost("reset"), Listed, Wait(5), Lost("reset")],
            Some((6, "reset")),
            &["cannot watch pods, trying again: reset"],
        );
        check(
            "silent",
            &[Connected, Received, Wait(75), Silent, Silent],
            Some((77, "nothing received")),
            &[WATCHING, "no events for pods in 76.0s; restarting the watch"],
        );
        check(
            "a connection made anew is no event",
            &[Connected, Wait(75), Connected],
            Some((76, "nothing received")),
            &[WATCHING],
        );
        check(
            "a watch that is doubted, a version that is too old, a task that panicked",
            &[Connected, Received, Outdated("too old"), Wait(5)],
            Some((6, "too old")),
            &[WATCHING],
        );
        check(
            "which is over with the next connection, without a line",
            &[Connected, Received, Outdated("too old"), Wait(5), Listed, Connected],
            None,
            &[WATCHING],
        );
        check(
            "a task that panicked before it was connected",
            &[Outdated("panicked"), Wait(5)],
            Some((6, "no answer yet")),
            &[],
        );
        check(
            "nothing of a kind that is absent is outdated",
            &[Absent, Wait(9), Absent],
            None,
            &["waiting for pods: no such kind"],
        );
        check(
            "unless nobody looks whether it still is",
            &[Absent, Wait(90)],
            Some((90, "nothing received")),
            &["waiting for pods: no such kind"],
        );
        check(
            "a source that goes away while the kind is absent",
            &[Absent, Wait(9), Lost("reset")],
            Some((10, "reset")),
            &["waiting for pods: no such kind", "cannot watch pods, trying again: reset"],
        );
    }
}
