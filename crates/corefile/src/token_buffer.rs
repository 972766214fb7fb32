//! The tokens being parsed: a gap buffer with the gap at the cursor, where imports are inserted.
//!
//! The cost of an import so depends on its tokens and not on the rest of the file: import loops run up to a hundred
//! thousand times before they are stopped.

use crate::token::Token;

pub(crate) struct TokenBuffer {
    /// Up to and including the current token.
    before: Vec<Token>,
    /// The tokens after it, in reverse order.
    after: Vec<Token>,
    /// The cursor is beyond the last token, after an import without tokens at the end.
    past_end: bool,
}

impl TokenBuffer {
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

    /// The nearest token at or before the cursor, for errors without a current one.
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

    /// Advances if the next token is on the current one's line.
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

    /// Replaces the current token and the one before it, an import and its argument, by `tokens`. The first of these
    /// becomes the current one.
    pub fn splice_import(&mut self, tokens: &[Token]) {
        self.before.truncate(self.before.len().saturating_sub(2));
        self.after.extend(tokens.iter().rev().cloned());
        self.past_end = !self.advance();
    }
}
