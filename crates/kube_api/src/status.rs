//! The connection state of one resource's watch: since when its data may be stale and why, with one log line per transition.
//!
//! ```text
//!  ┌─────┐ connected  ┌───────────┐ lost, mark_stale ┌──────┐
//!  │ New │ ─────────→ │ Connected │ ───────────────→ │ Lost │
//!  └─────┘            └───────────┘ ←─────────────── └──────┘
//!     │ lost                          connected         ↑
//!     └─────────────────────────────────────────────────┘
//! ```
//!
//! `absent` leads from every state to Absent; Absent has the same transitions to Connected and Lost.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::availability::Availability;
use crate::log::{Level, log};
use crate::unlisted::Unlisted;

/// Minimum interval between log lines with another reason for the same outage.
const REASON_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Minimum interval between log lines about a silent connection.
const SILENCE_LOG_INTERVAL: Duration = Duration::from_secs(600);

/// How long data may have been outdated, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Time since the data were last known to be current.
    pub age: Duration,
    /// `services: connection refused`
    pub reason: String,
}

/// Connection state of one resource's watch. A lock suffices: it is not on the query path.
pub struct WatchStatus {
    source: String,
    /// `services`
    resource: &'static str,
    state: Mutex<State>,
}

/// The state without a clock: callers pass `now`.
struct State {
    connection: Connection,
    /// When the data were last current; before the first list, when the watch was created.
    last_current: Instant,
    /// The data are stale after a longer silence; None if the source sends nothing periodically.
    max_silence: Option<Duration>,
    /// The source has responded at least once.
    answered: bool,
    /// When silence was last logged.
    silence_logged_at: Option<Instant>,
    /// The reason last logged since the connection was lost, and when.
    logged: Option<(String, Instant)>,
}

#[derive(Debug)]
enum Connection {
    /// Never connected, no failure so far.
    New,
    Connected {
        /// `last_current` before this connection, until something arrives: a connection that breaks earlier has made
        /// nothing current.
        current_before: Option<Instant>,
    },
    Lost {
        /// The HTTP status of an error response.
        status: Option<u16>,
        why: String,
    },
    /// The source does not have the resource, so no data of it can be outdated.
    Absent { why: String },
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            connection: Connection::New,
            last_current: now,
            max_silence: None,
            answered: false,
            silence_logged_at: None,
            logged: None,
        }
    }

    /// Returns the line to log, if any.
    fn connected(&mut self, kind: &str, now: Instant) -> Option<String> {
        let (was_new, away) = (matches!(self.connection, Connection::New), now - self.last_current);
        // Reconnecting after silence delivers nothing, so `last_current` stays.
        if !matches!(self.connection, Connection::Connected { .. }) {
            self.connection = Connection::Connected { current_before: Some(self.last_current) };
            self.last_current = now;
        }
        self.answered = true;
        match self.logged.take() {
            Some(_) => Some(format!("watching {kind} again, after {:.1}s", away.as_secs_f64())),
            None => was_new.then(|| format!("watching {kind}")),
        }
    }

    fn received(&mut self, now: Instant) {
        if let Connection::Connected { current_before } = &mut self.connection {
            (*current_before, self.last_current) = (None, now);
        }
    }

    fn listed(&mut self, now: Instant) {
        self.last_current = now;
        self.received(now);
    }

    /// If the connection delivered nothing, `last_current` is again that from before it.
    fn disconnect(&mut self, status: Option<u16>, why: &str) {
        if let Connection::Connected { current_before: Some(current_before) } = self.connection {
            self.last_current = current_before;
        }
        self.connection = Connection::Lost { status, why: why.to_owned() };
    }

    fn lost(&mut self, kind: &str, status: Option<u16>, why: &str, now: Instant) -> Option<String> {
        let (was_new, was_absent) = (
            matches!(self.connection, Connection::New),
            matches!(self.connection, Connection::Absent { .. }),
        );
        self.disconnect(status, why);
        let first = match &self.logged {
            _ if was_absent => false,
            Some((logged, when)) if logged == why || now - *when < REASON_LOG_INTERVAL => return None,
            logged => logged.is_none(),
        };
        self.logged = Some((why.to_owned(), now));
        Some(match first && !was_new {
            true => format!("watch of {kind} lost, serving the last known data: {why}"),
            false => format!("cannot watch {kind}, retrying: {why}"),
        })
    }

    fn mark_stale(&mut self, why: &str) {
        if !matches!(self.connection, Connection::New) {
            self.disconnect(None, why);
        }
    }

    fn silent(&mut self, kind: &str, now: Instant) -> Option<String> {
        let silence = now - self.last_current;
        let expected = self.max_silence.is_some_and(|max_silence| silence < max_silence);
        if expected || self.silence_logged_at.is_some_and(|when| now - when < SILENCE_LOG_INTERVAL) {
            return None;
        }
        self.silence_logged_at = Some(now);
        Some(format!("no events for {kind} in {:.1}s; restarting the watch", silence.as_secs_f64()))
    }

    fn absent(&mut self, kind: &str, why: &str, now: Instant) -> Option<String> {
        self.last_current = now;
        self.logged.get_or_insert_with(|| (why.to_owned(), now));
        let absent = Connection::Absent { why: why.to_owned() };
        let was_absent = matches!(std::mem::replace(&mut self.connection, absent), Connection::Absent { .. });
        (!was_absent).then(|| format!("waiting for {kind}: {why}"))
    }

    fn staleness(&self, now: Instant) -> Option<(Duration, &str)> {
        let age = now - self.last_current;
        let overdue = self.max_silence.is_some_and(|max_silence| age > max_silence);
        match &self.connection {
            Connection::New => Some((age, "no answer yet")),
            Connection::Lost { why, .. } => Some((age, why)),
            Connection::Connected { .. } | Connection::Absent { .. } => {
                overdue.then_some((age, "nothing received"))
            }
        }
    }

    /// None before the first response.
    fn availability(&self) -> Option<Availability> {
        Some(match &self.connection {
            Connection::New => return None,
            Connection::Connected { .. } => Availability::Synced,
            Connection::Absent { why } => Availability::Absent { why: why.clone() },
            Connection::Lost { status: Some(403), why } => Availability::Forbidden { why: why.clone() },
            Connection::Lost { why, .. } => {
                Availability::Stale { since: self.last_current, why: why.clone() }
            }
        })
    }

    fn unlisted(&self) -> Unlisted {
        match &self.connection {
            Connection::Lost { status: None, why } if !self.answered => {
                Unlisted::Unreachable { why: why.clone() }
            }
            Connection::Lost { status, why } => Unlisted::Failed { status: *status, why: why.clone() },
            Connection::Absent { why } => Unlisted::Failed { status: None, why: why.clone() },
            Connection::New if !self.answered => Unlisted::Unanswered,
            Connection::New | Connection::Connected { .. } => Unlisted::Listing,
        }
    }
}

impl WatchStatus {
    pub fn new(source: &str, resource: &'static str) -> Self {
        Self { source: source.to_owned(), resource, state: Mutex::new(State::new(Instant::now())) }
    }

    /// The plural of the resource.
    pub fn resource(&self) -> &'static str {
        self.resource
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// From now on a longer silence makes the data stale, even while connected.
    pub fn set_max_silence(&self, max_silence: Duration) {
        self.lock().max_silence = Some(max_silence);
    }

    /// The watch is established. Returns whether it was not before.
    pub fn connected(&self) -> bool {
        let mut state = self.lock();
        let was_connected = matches!(state.connection, Connection::Connected { .. });
        let line = state.connected(self.resource, Instant::now());
        drop(state);
        self.log(Level::Info, line);
        !was_connected
    }

    /// The source responded, perhaps with a part of a list; the data are not more current for it.
    pub fn answered(&self) {
        self.lock().answered = true;
    }

    /// An event or bookmark arrived, so all earlier ones have arrived too.
    pub fn received(&self) {
        self.lock().received(Instant::now());
    }

    /// A list is complete.
    pub fn listed(&self) {
        self.lock().listed(Instant::now());
    }

    /// The source has not responded so far, and no failure was logged.
    pub fn is_unanswered(&self) -> bool {
        let state = self.lock();
        !state.answered && state.logged.is_none()
    }

    /// The connection is up, but nothing arrives.
    pub fn silent(&self) {
        let line = self.lock().silent(self.resource, Instant::now());
        self.log(Level::Warning, line);
    }

    /// The source does not respond, or its response is unusable.
    pub fn lost(&self, why: &str) {
        self.failed(None, why);
    }

    /// As [`WatchStatus::lost`], with the HTTP status of an error response.
    pub fn failed(&self, status: Option<u16>, why: &str) {
        let line = self.lock().lost(self.resource, status, why, Instant::now());
        self.log(Level::Warning, line);
    }

    /// Marks the data as stale from now on; the caller has logged why.
    pub fn mark_stale(&self, why: &str) {
        self.lock().mark_stale(why);
    }

    /// The source does not have the resource.
    pub fn absent(&self, why: &str) {
        let line = self.lock().absent(self.resource, why, Instant::now());
        self.log(Level::Warning, line);
    }

    /// None while the data are current.
    pub fn staleness(&self) -> Option<Staleness> {
        let state = self.lock();
        let (age, why) = state.staleness(Instant::now())?;
        Some(Staleness { age, reason: format!("{}: {why}", self.resource) })
    }

    /// None before the first response.
    pub fn availability(&self) -> Option<Availability> {
        self.lock().availability()
    }

    /// Why the resource has no complete list; the caller has found that it has none.
    pub fn unlisted(&self) -> Unlisted {
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

/// `stale for 42s: services: connection refused`
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stale for {}s: {}", self.age.as_secs(), self.reason)
    }
}

/// Marks watches as stale when their task ends: it panicked, which supervision has logged, and will restart.
pub struct LostOnDrop<'l>(pub &'l [Arc<WatchStatus>]);

impl Drop for LostOnDrop<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|line| line.mark_stale("the task panicked and is restarting"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of a connection, one second apart.
    #[derive(Clone, Copy)]
    enum Step {
        Connected,
        Received,
        Listed,
        Lost(&'static str),
        MarkStale(&'static str),
        Absent,
        Silent,
        Wait(u64),
    }

    use Step::*;

    /// `stale` is the age in seconds and the reason at the end; `lines` are all log lines.
    fn check(name: &str, steps: &[Step], stale: Option<(u64, &str)>, lines: &[&str]) {
        let mut now = Instant::now();
        let mut state = State { max_silence: Some(Duration::from_secs(75)), ..State::new(now) };
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
                MarkStale(why) => {
                    state.mark_stale(why);
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
    fn reasons_for_a_missing_list() {
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
        const LOST: &str = "watch of pods lost, serving the last known data: reset";
        check("no response", &[Wait(9)], Some((9, "no answer yet")), &[]);
        check(
            "refused from the start",
            &[Lost("refused"), Wait(9)],
            Some((10, "refused")),
            &["cannot watch pods, retrying: refused"],
        );
        check("connected", &[Connected, Wait(9)], None, &[WATCHING]);
        check(
            "lost: counted from the last event, not from when the loss was noticed",
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
            "parts of lists that never complete",
            &[Lost("reset"), Received, Wait(5), Received, Lost("reset")],
            Some((9, "reset")),
            &["cannot watch pods, retrying: reset"],
        );
        check(
            "listed, but not watched",
            &[Lost("reset"), Listed, Wait(5), Lost("reset")],
            Some((6, "reset")),
            &["cannot watch pods, retrying: reset"],
        );
        check(
            "silent",
            &[Connected, Received, Wait(75), Silent, Silent],
            Some((77, "nothing received")),
            &[WATCHING, "no events for pods in 76.0s; restarting the watch"],
        );
        check(
            "a reconnect is no event",
            &[Connected, Wait(75), Connected],
            Some((76, "nothing received")),
            &[WATCHING],
        );
        check(
            "an inconsistent watch, an expired version, a task that panicked",
            &[Connected, Received, MarkStale("too old"), Wait(5)],
            Some((6, "too old")),
            &[WATCHING],
        );
        check(
            "current again with the next connection, without a log line",
            &[Connected, Received, MarkStale("too old"), Wait(5), Listed, Connected],
            None,
            &[WATCHING],
        );
        check(
            "a task that panicked before it was connected",
            &[MarkStale("panicked"), Wait(5)],
            Some((6, "no answer yet")),
            &[],
        );
        check(
            "an absent kind is not stale",
            &[Absent, Wait(9), Absent],
            None,
            &["waiting for pods: no such kind"],
        );
        check(
            "unless its absence was not confirmed for too long",
            &[Absent, Wait(90)],
            Some((90, "nothing received")),
            &["waiting for pods: no such kind"],
        );
        check(
            "a source that is lost while the kind is absent",
            &[Absent, Wait(9), Lost("reset")],
            Some((10, "reset")),
            &["waiting for pods: no such kind", "cannot watch pods, retrying: reset"],
        );
    }
}
