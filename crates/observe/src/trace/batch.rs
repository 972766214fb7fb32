//! The backlog: spans not yet sent.

use std::collections::VecDeque;

use super::Span;

pub(super) struct Batch {
    spans: VecDeque<Span>,
    capacity: usize,
}

impl Batch {
    pub fn new(capacity: usize) -> Batch {
        Batch { spans: VecDeque::new(), capacity }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Adds spans and drops the oldest beyond the capacity; returns how many.
    pub fn add(&mut self, spans: impl IntoIterator<Item = Span>) -> usize {
        self.spans.extend(spans);
        let over = self.spans.len().saturating_sub(self.capacity);
        self.spans.drain(..over);
        over
    }

    pub fn spans(&mut self) -> &[Span] {
        self.spans.make_contiguous()
    }

    pub fn clear(&mut self) {
        self.spans.clear();
    }
}
