//! The tokens still being parsed, with a place among them at which imports are spliced in.
//!
//! Kept in two halves with the gap at the cursor, so that an import costs what it brings in and not what the rest of
//! the file holds: import loops run up to a hundred thousand times before they are stopped.

use crate::token::Token;

pub(crate) struct Tape {
    /// Up to and including the current token.
    before: Vec<Token>,
    /// Everything after it, last first.
    after: Vec<Token>,
    /// An import of nothing at the very end leaves the cursor one beyond the last token.
    past_end: bool,
}

impl Tape {
    pub fn new(mut tokens: Vec<Token>) -> Self {
        tokens.reverse();
        Self { before: Vec::new(), after: tokens, past_end: false }
    }

    pub fn current(&self) -> Option<&Token> {
        if self.past_end { None } else { self.before.last() }
    }

    pub fn current_mut(&mut self) -> Option<&mut Token> {
        if self.past_end { None } else { self.before.last_mut() }
    }

    /// The nearest token at or before the cursor, to point at when there is no current one.
    pub fn nearest(&self) -> Option<&Token> {
        self.before.last()
    }

    /// Text of the current token, empty when there is none.
    pub fn text(&self) -> &str {
        self.current().map_or("", |token| &token.text)
    }

    pub fn advance(&mut self) -> bool {
        match self.after.pop() {
            Some(token) => {
                self.before.push(token);
                true
            }
            None => false,
        }
    }

    /// On to the next token, but only if it is on the current one's line.
    pub fn advance_on_line(&mut self) -> bool {
        match (self.current(), self.after.last()) {
            (Some(current), Some(next)) if current.shares_line_with(next) => self.advance(),
            _ => false,
        }
    }

    pub fn step_back(&mut self) {
        if self.past_end {
            self.past_end = false;
        } else if let Some(token) = self.before.pop() {
            self.after.push(token);
        }
    }

    /// Whether the current token is the first of its line.
    pub fn begins_line(&self) -> bool {
        match self.before.as_slice() {
            [.., previous, current] => previous.line_breaks_before(current),
            _ => true,
        }
    }

    /// Replaces the current token and the one before it, an import and its argument, by `tokens`. The first of
    /// them becomes the current one.
    pub fn splice_import(&mut self, tokens: &[Token]) {
        self.before.truncate(self.before.len().saturating_sub(2));
        self.after.extend(tokens.iter().rev().cloned());
        self.past_end = !self.advance();
    }
}
