//! The line to the source of one kind: whether it stands, since when it does not, and one log line per change.
//!
//! ```text
//!            connected               lost
//!   ┌─────┐ ──────────→ ┌───────────┐ ──────────→ ┌──────┐
//!   │ New │             │ Connected │             │ Lost │
//!   └─────┘ ──────────→ └───────────┘ ←────────── └──────┘
//!      │        lost                   connected     ↑
//!      └─────────────────────────────────────────────┘
//! ```

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::log::{Level, log};
use crate::object::Kind;

/// A reason other than the one last logged is worth a line of its own, but not more often than this.
const ANOTHER_REASON: Duration = Duration::from_secs(60);

/// A line that stays silent is worth another log line after this time.
const STILL_SILENT: Duration = Duration::from_secs(600);

/// The line of one kind. Not on the query path, so a lock will do.
pub(crate) struct Line {
    source: String,
    kind: Kind,
    state: Mutex<State>,
}

struct State {
    stands: bool,
    /// The source answers, but has nothing of the kind. Then there is nothing that could be stale.
    absent: bool,
    heard: Instant,
    /// Nothing was ever heard.
    unheard: bool,
    /// Something comes at least this often; none for sources that speak only when something changes.
    every: Option<Duration>,
    /// When it was last logged that nothing comes.
    told_silent: Option<Instant>,
    /// The last reason logged and when, since the line was lost.
    told: Option<(String, Instant)>,
}

impl Line {
    pub(crate) fn new(source: &str, kind: Kind) -> Self {
        let state = State {
            stands: false,
            absent: false,
            heard: Instant::now(),
            unheard: true,
            every: None,
            told_silent: None,
            told: None,
        };
        Self { source: source.to_owned(), kind, state: Mutex::new(state) }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// From now on a longer silence makes what is known stale, though the line stands.
    pub(crate) fn expect_every(&self, every: Duration) {
        self.lock().every = Some(every);
    }

    /// The source answers. Tells whether it did not before.
    pub(crate) fn connected(&self) -> bool {
        let line = {
            let mut state = self.lock();
            let (was, silent) = (state.stands, state.heard.elapsed());
            (state.stands, state.absent, state.unheard) = (true, false, false);
            // One that stood and was silent has said nothing by standing once more.
            if !was {
                state.heard = Instant::now();
            }
            match (was, state.told.take()) {
                (true, _) => return false,
                (false, None) => format!("{}: watching {}", self.source, self.kind.plural()),
                (false, Some(_)) => {
                    let silent = silent.as_secs_f64();
                    format!("{}: watching {} again, after {silent:.1}s", self.source, self.kind.plural())
                }
            }
        };
        log(Level::Info, &line);
        true
    }

    /// Something came.
    pub(crate) fn heard(&self) {
        let mut state = self.lock();
        (state.heard, state.unheard) = (Instant::now(), false);
    }

    /// Nothing has come so far, and nothing was said about why.
    pub(crate) fn is_unheard(&self) -> bool {
        let state = self.lock();
        state.unheard && state.told.is_none()
    }

    /// The line stands, but nothing comes.
    pub(crate) fn silent(&self) {
        let silent = {
            let mut state = self.lock();
            let expected = state.every.is_some_and(|every| state.heard.elapsed() < every);
            if expected || state.told_silent.is_some_and(|when| when.elapsed() < STILL_SILENT) {
                return;
            }
            state.told_silent = Some(Instant::now());
            state.heard.elapsed().as_secs_f64()
        };
        let (source, kind) = (&self.source, self.kind.plural());
        log(
            Level::Warning,
            &format!("{source}: nothing was heard of {kind} for {silent:.1}s, watching anew"),
        );
    }

    /// The source does not answer, or not as it should.
    pub(crate) fn lost(&self, why: &str) {
        let line = {
            let mut state = self.lock();
            let stood = std::mem::replace(&mut state.stands, false);
            state.absent = false;
            if let Some((told, when)) = &state.told
                && (told == why || when.elapsed() < ANOTHER_REASON)
            {
                return;
            }
            state.told = Some((why.to_owned(), Instant::now()));
            let (source, kind) = (&self.source, self.kind.plural());
            match stood {
                true => format!("{source}: lost the watch of {kind}, what is known stays: {why}"),
                false => format!("{source}: cannot watch {kind}, trying again: {why}"),
            }
        };
        log(Level::Warning, &line);
    }

    /// The source answers that it does not know the kind.
    pub(crate) fn absent(&self, why: &str) {
        {
            let mut state = self.lock();
            state.heard = Instant::now();
            state.stands = false;
            state.told.get_or_insert_with(|| (why.to_owned(), Instant::now()));
            if std::mem::replace(&mut state.absent, true) {
                return;
            }
        }
        log(Level::Warning, &format!("{}: waiting for {}: {why}", self.source, self.kind.plural()));
    }

    /// How long nothing was heard; zero while the line stands and is not silent for longer than it should be.
    pub(crate) fn staleness(&self) -> Duration {
        let state = self.lock();
        let silent = state.heard.elapsed();
        let fresh = state.absent || (state.stands && state.every.is_none_or(|every| silent <= every));
        if fresh { Duration::ZERO } else { silent }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staleness_counts_from_what_was_heard_last() {
        let line = Line::new("test", Kind::Pod);
        std::thread::sleep(Duration::from_millis(2));
        assert!(line.staleness() >= Duration::from_millis(2), "it was never connected");
        line.connected();
        assert_eq!(line.staleness(), Duration::ZERO);
        std::thread::sleep(Duration::from_millis(2));
        line.lost("no answer");
        assert!(line.staleness() >= Duration::from_millis(2), "and not from when that was noticed");
        line.connected();
        assert_eq!(line.staleness(), Duration::ZERO);
    }
}
