//! What the lexer cuts a file into: tokens, and the trivia between them.

use std::sync::Arc;

use crate::span::Span;

/// One word of a Corefile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The word without quotes and escapes; after parsing, with environment variables filled in.
    pub text: Arc<str>,
    pub span: Span,
}

impl Token {
    pub fn line(&self) -> u32 {
        self.span.line
    }

    /// Line on which the token ends, as CoreDNS reckons it: from the text, which an environment variable may
    /// have changed, and not from the file.
    pub(crate) fn last_line(&self) -> u32 {
        let breaks = self.text.bytes().filter(|b| *b == b'\n').count();
        self.span.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX))
    }

    /// Whether `next`, the token after this one, begins another line.
    pub(crate) fn line_breaks_before(&self, next: &Token) -> bool {
        !self.span.file.same_file(&next.span.file) || self.last_line() < next.span.line
    }

    /// Whether `next`, the token after this one, is on the same line. Not the opposite of the above: a variable
    /// holding line breaks can push a token's end beyond its successor, and then neither holds.
    pub(crate) fn shares_line_with(&self, next: &Token) -> bool {
        self.span.file.same_file(&next.span.file) && self.last_line() == next.span.line
    }
}

/// A token or what lies between tokens. The pieces of a file laid end to end are the file.
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
    /// An opening quote with nothing after it in the file. It makes no token.
    StrayQuote,
}
