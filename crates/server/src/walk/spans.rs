//! Spans: which plugins a traced query passed, and when.
//!
//! ```text
//! trace ──┬─ errors ──┬─ cache ──┬─ forward ── connect
//!         began going down …     │
//!         … ended when the reply had passed it on the way up
//! ```
//!
//! Blocks without a plugin that traces are driven by another loop and know nothing of this.

use std::net::SocketAddr;
use std::time::{Instant, SystemTime};

use crate::Visit;

/// One step of a traced query.
#[derive(Clone, Debug)]
pub struct Span {
    /// The step this one is a part of, by its number.
    pub parent: Option<usize>,
    pub name: &'static str,
    pub began: SystemTime,
    pub ended: SystemTime,
    /// The server that was asked.
    pub peer: Option<SocketAddr>,
}

/// The steps of one query, in the order they began.
#[derive(Debug)]
pub struct Spans {
    /// The same moment twice: times are told by a clock that nobody sets meanwhile.
    began: SystemTime,
    since: Instant,
    list: Vec<Span>,
    /// Places in the chain and numbers of the steps that have not ended, innermost last.
    open: Vec<(usize, usize)>,
}

impl Spans {
    pub(crate) fn begin() -> Spans {
        Spans { began: SystemTime::now(), since: Instant::now(), list: Vec::new(), open: Vec::new() }
    }

    /// When the query came to the plugin that traces.
    pub fn began(&self) -> SystemTime {
        self.began
    }

    pub fn now(&self) -> SystemTime {
        self.began + self.since.elapsed()
    }

    pub fn list(&self) -> &[Span] {
        &self.list
    }

    /// Notes something the visited plugin has done, as a part of its own step.
    pub fn add(&mut self, name: &'static str, began: SystemTime, ended: SystemTime, peer: SocketAddr) {
        let parent = self.open.last().map(|&(_, number)| number);
        self.list.push(Span { parent, name, began, ended, peer: Some(peer) });
    }

    fn enter(&mut self, place: usize, name: &'static str, now: SystemTime) {
        let parent = self.open.last().map(|&(_, number)| number);
        self.open.push((place, self.list.len()));
        self.list.push(Span { parent, name, began: now, ended: now, peer: None });
    }

    /// The plugins from `place` on are done with the query.
    fn leave(&mut self, place: usize, now: SystemTime) {
        while let Some((_, number)) = self.open.pop_if(|(at, _)| *at >= place) {
            self.list[number].ended = now;
        }
    }
}

impl Visit<'_> {
    /// A traced query goes down to the plugins before `end`; those that do not look at it are passed all the same.
    pub(super) fn note_down(&mut self, end: usize) {
        let Some(spans) = &mut self.trail.spans else { return };
        let now = spans.now();
        for place in self.trail.place..end {
            spans.enter(place, self.block.chain()[place].name(), now);
        }
    }

    /// Its reply has passed the plugins from `place` on.
    pub(super) fn note_up(&mut self, place: usize) {
        let Some(spans) = &mut self.trail.spans else { return };
        let now = spans.now();
        spans.leave(place, now);
    }
}
