//! Spans: which plugins a traced query passed, and when.
//!
//! ```text
//! trace ──┬─ errors ──┬─ cache ──┬─ forward ── connect
//!         began going down …     │
//!         … ended when the reply had passed it on the way up
//! ```
//!
//! Blocks without a plugin that traces are driven by another loop and pay nothing for this.

use std::net::SocketAddr;
use std::time::{Instant, SystemTime};

use super::engine::Engine;

/// One span of a traced query.
#[derive(Clone, Debug)]
pub struct Span {
    /// The index of the parent span.
    pub parent: Option<usize>,
    pub name: &'static str,
    pub began: SystemTime,
    pub ended: SystemTime,
    /// The upstream that was queried.
    pub peer: Option<SocketAddr>,
}

/// The spans of one query, in the order they began.
#[derive(Debug)]
pub struct Spans {
    /// One moment on both clocks: later times are computed with the monotonic one.
    began: SystemTime,
    since: Instant,
    list: Vec<Span>,
    /// Positions in the chain and indices of the spans that have not ended, innermost last.
    open: Vec<(usize, usize)>,
}

impl Spans {
    pub(crate) fn begin() -> Spans {
        Spans { began: SystemTime::now(), since: Instant::now(), list: Vec::new(), open: Vec::new() }
    }

    /// When the query reached the plugin that traces.
    pub fn began(&self) -> SystemTime {
        self.began
    }

    pub fn now(&self) -> SystemTime {
        self.began + self.since.elapsed()
    }

    pub fn list(&self) -> &[Span] {
        &self.list
    }

    /// Adds a child span to that of the visited plugin.
    pub fn add(&mut self, name: &'static str, began: SystemTime, ended: SystemTime, peer: SocketAddr) {
        let parent = self.open.last().map(|&(_, index)| index);
        self.list.push(Span { parent, name, began, ended, peer: Some(peer) });
    }

    fn open(&mut self, position: usize, name: &'static str, now: SystemTime) {
        let parent = self.open.last().map(|&(_, index)| index);
        self.open.push((position, self.list.len()));
        self.list.push(Span { parent, name, began: now, ended: now, peer: None });
    }

    /// Ends the spans of the plugins from `position` on.
    fn close(&mut self, position: usize, now: SystemTime) {
        while let Some((_, index)) = self.open.pop_if(|(at, _)| *at >= position) {
            self.list[index].ended = now;
        }
    }
}

impl Engine<'_> {
    /// Opens spans for the plugins before `end`, also for those without a `query` hook.
    pub(super) fn open_spans(&mut self, end: usize) {
        let Some(spans) = &mut self.visit.state.spans else { return };
        let now = spans.now();
        for position in self.visit.state.position..end {
            spans.open(position, self.visit.block.chain()[position].name(), now);
        }
    }

    /// Closes the spans of the plugins from `position` on.
    pub(super) fn close_spans(&mut self, position: usize) {
        let Some(spans) = &mut self.visit.state.spans else { return };
        let now = spans.now();
        spans.close(position, now);
    }
}
