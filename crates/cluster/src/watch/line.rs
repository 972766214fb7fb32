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
    /// The last reason logged and when, since the line was lost.
    told: Option<(String, Instant)>,
}

impl Line {
    pub(crate) fn new(source: &str, kind: Kind) -> Self {
        let state = State { stands: false, absent: false, heard: Instant::now(), told: None };
        Self { source: source.to_owned(), kind, state: Mutex::new(state) }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The source answers.
    pub(crate) fn connected(&self) {
        let line = {
            let mut state = self.lock();
            let (was, silent) = (state.stands, state.heard.elapsed());
            (state.stands, state.absent) = (true, false);
            state.heard = Instant::now();
            match (was, state.told.take()) {
                (true, _) => return,
                (false, None) => format!("{}: watching {}", self.source, self.kind.plural()),
                (false, Some(_)) => {
                    let silent = silent.as_secs_f64();
                    format!("{}: watching {} again, after {silent:.1}s", self.source, self.kind.plural())
                }
            }
        };
        log(Level::Info, &line);
    }

    /// Something came.
    pub(crate) fn heard(&self) {
        self.lock().heard = Instant::now();
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

    /// How long nothing was heard; zero while the line stands.
    pub(crate) fn staleness(&self) -> Duration {
        let state = self.lock();
        if state.stands || state.absent { Duration::ZERO } else { state.heard.elapsed() }
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
