//! Spans that wait to be sent.

use std::collections::VecDeque;

use super::Span;

pub(super) struct Batch {
    spans: VecDeque<Span>,
    most: usize,
}

impl Batch {
    pub fn new(most: usize) -> Batch {
        Batch { spans: VecDeque::new(), most }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Adds spans; how many old ones had to go for them.
    pub fn add(&mut self, spans: impl IntoIterator<Item = Span>) -> usize {
        self.spans.extend(spans);
        let over = self.spans.len().saturating_sub(self.most);
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
