//! Tokens, and the trivia between them.

use std::sync::Arc;

use crate::span::Span;

/// One word of a Corefile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The word without quotes and escapes; after parsing, with environment variables expanded.
    pub text: Arc<str>,
    pub span: Span,
}

impl Token {
    pub fn line(&self) -> u32 {
        self.span.line
    }

    /// Line on which the token ends. CoreDNS computes it from the text, which an environment variable may have changed, and
    /// not from the file.
    pub(crate) fn last_line(&self) -> u32 {
        let breaks = self.text.bytes().filter(|b| *b == b'\n').count();
        self.span.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX))
    }

    /// Whether `next`, the following token, begins another line.
    pub(crate) fn line_breaks_before(&self, next: &Token) -> bool {
        !self.span.file.same_file(&next.span.file) || self.last_line() < next.span.line
    }

    /// Whether `next`, the following token, is on the same line. Not the negation of [`Token::line_breaks_before`]: a
    /// variable with line breaks can move a token's end beyond its successor, and then both are false.
    pub(crate) fn shares_line_with(&self, next: &Token) -> bool {
        self.span.file.same_file(&next.span.file) && self.last_line() == next.span.line
    }
}

/// A token or trivia. The concatenated pieces of a file are its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Token(Token),
    Trivia(Trivia),
}

impl Piece {
    pub fn span(&self) -> &Span {
        match self {
            Piece::Token(token) => &token.span,
            Piece::Trivia(trivia) => &trivia.span,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trivia {
    pub kind: TriviaKind,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriviaKind {
    ByteOrderMark,
    Whitespace,
    Comment,
    /// An opening quote at the end of the file; not a token.
    StrayQuote,
}
