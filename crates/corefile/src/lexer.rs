//! Lossless lexer.
//!
//! The rules are CoreDNS's:
//! - tokens end at Unicode white space; carriage returns are ignored, even in the middle of a token;
//! - a token that begins with `"` runs to the next `"` not preceded by `\`; that is the only escape. It ends at the
//!   closing quote, so `"a"b` is two tokens. Inside a token a quote is an ordinary character;
//! - `#` begins a comment to the end of the line, but directly after a token only to the next white space:
//!   `foo#bar baz` is `foo` and `baz`;
//! - an unclosed quote ends with the file; if it is empty there is no token.

use std::sync::Arc;

use crate::span::{SourceFile, Span};
use crate::token::{Piece, Token, Trivia, TriviaKind};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The tokens of `file`, without the trivia.
pub fn tokens(file: &Arc<SourceFile>) -> Vec<Token> {
    pieces(file)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Token(token) => Some(token),
            Piece::Trivia(_) => None,
        })
        .collect()
}

/// Tokens and trivia of `file`; together they are every byte of it.
pub fn pieces(file: &Arc<SourceFile>) -> Vec<Piece> {
    let mut lexer = Lexer { file, at: 0, line: 1, column: 1, pieces: Vec::new() };
    if lexer.peek() == Some(BYTE_ORDER_MARK) {
        let start = lexer.mark();
        lexer.bump();
        lexer.trivia(TriviaKind::ByteOrderMark, start);
    }
    while let Some(next) = lexer.peek() {
        match next {
            c if c.is_whitespace() => lexer.whitespace(),
            '#' => lexer.comment(|c| c == '\n'),
            '"' => lexer.quoted(),
            _ => lexer.word(),
        }
    }
    lexer.pieces
}

struct Lexer<'a> {
    file: &'a Arc<SourceFile>,
    at: usize,
    line: u32,
    column: u32,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    line: u32,
    column: u32,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.file.text()[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn mark(&self) -> Mark {
        Mark { at: self.at, line: self.line, column: self.column }
    }

    fn span(&self, start: Mark) -> Span {
        Span {
            file: self.file.clone(),
            start: start.at,
            end: self.at,
            line: start.line,
            column: start.column,
        }
    }

    fn trivia(&mut self, kind: TriviaKind, start: Mark) {
        let span = self.span(start);
        self.pieces.push(Piece::Trivia(Trivia { kind, span }));
    }

    fn token(&mut self, text: String, start: Mark) {
        let span = self.span(start);
        self.pieces.push(Piece::Token(Token { text: text.into(), span }));
    }

    fn whitespace(&mut self) {
        let start = self.mark();
        while self.peek().is_some_and(char::is_whitespace) {
            self.bump();
        }
        self.trivia(TriviaKind::Whitespace, start);
    }

    fn comment(&mut self, ends: impl Fn(char) -> bool) {
        let start = self.mark();
        while self.peek().is_some_and(|c| !ends(c)) {
            self.bump();
        }
        self.trivia(TriviaKind::Comment, start);
    }

    fn word(&mut self) {
        let start = self.mark();
        let mut text = String::new();
        // A carriage return belongs to the word only if more of the word follows.
        let mut end = start;
        while let Some(c) = self.peek() {
            match c {
                '\r' => {
                    self.bump();
                }
                '#' => break,
                c if c.is_whitespace() => break,
                c => {
                    text.push(c);
                    self.bump();
                    end = self.mark();
                }
            }
        }
        let hash = self.peek() == Some('#');
        (self.at, self.line, self.column) = (end.at, end.line, end.column);
        self.token(text, start);
        if hash {
            if self.peek() == Some('\r') {
                let gap = self.mark();
                while self.peek() == Some('\r') {
                    self.bump();
                }
                self.trivia(TriviaKind::Whitespace, gap);
            }
            self.comment(|c| c.is_whitespace() && c != '\r');
        }
    }

    fn quoted(&mut self) {
        let start = self.mark();
        let mut text = String::new();
        self.bump();
        let mut escaped = false;
        while let Some(c) = self.bump() {
            match c {
                '"' if !escaped => return self.token(text, start),
                '\\' if !escaped => {
                    escaped = true;
                    continue;
                }
                c => {
                    if escaped && c != '"' {
                        text.push('\\');
                    }
                    text.push(c);
                }
            }
            escaped = false;
        }
        if text.is_empty() {
            self.trivia(TriviaKind::StrayQuote, start);
        } else {
            self.token(text, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[(u32, u32, &str)]) {
        let file = SourceFile::main("Corefile", text.as_bytes());
        let tokens = tokens(&file);
        let found: Vec<_> = tokens.iter().map(|t| (t.span.line, t.span.column, &*t.text)).collect();
        assert_eq!(found, expected, "{text:?}");
        lossless(text);
    }

    fn lossless(text: &str) {
        let file = SourceFile::main("Corefile", text.as_bytes());
        let joined: String = pieces(&file).iter().map(|p| p.span().raw()).collect();
        assert_eq!(joined, text);
    }

    #[test]
    fn words() {
        check("", &[]);
        check("foo bar\n\tbaz", &[(1, 1, "foo"), (1, 5, "bar"), (2, 2, "baz")]);
        check("\u{feff}foo \u{feff}", &[(1, 2, "foo"), (1, 6, "\u{feff}")]);
        check("a\u{a0}b\u{3000}c\u{85}d", &[(1, 1, "a"), (1, 3, "b"), (1, 5, "c"), (1, 7, "d")]);
        check("{a} {{ a{", &[(1, 1, "{a}"), (1, 5, "{{"), (1, 8, "a{")]);
    }

    #[test]
    fn carriage_returns_are_ignored() {
        check("foo\r\nbar\r\n", &[(1, 1, "foo"), (2, 1, "bar")]);
        check("fo\ro", &[(1, 1, "foo")]);
        check("\r\"a b\"", &[(1, 2, "a b")]);
        check("\"a\r\nb\" c", &[(1, 1, "a\r\nb"), (2, 4, "c")]);
    }

    #[test]
    fn comments() {
        check("# foo \"bar\nbaz", &[(2, 1, "baz")]);
        check("foo#bar baz", &[(1, 1, "foo"), (1, 9, "baz")]);
        check("foo#bar #baz qux\nx", &[(1, 1, "foo"), (2, 1, "x")]);
        check("foo#a\rb c", &[(1, 1, "foo"), (1, 9, "c")]);
        check("foo\r#a b", &[(1, 1, "foo"), (1, 8, "b")]);
        check("\"a\"#b c\nd", &[(1, 1, "a"), (2, 1, "d")]);
        check("\"a # b\"", &[(1, 1, "a # b")]);
    }

    #[test]
    fn quotes() {
        check(r#""a b"c"#, &[(1, 1, "a b"), (1, 6, "c")]);
        check(r#""a""b""#, &[(1, 1, "a"), (1, 4, "b")]);
        check(r#""""#, &[(1, 1, "")]);
        check(r#"a"b c"d"#, &[(1, 1, "a\"b"), (1, 5, "c\"d")]);
        check(r#""a\"b""#, &[(1, 1, "a\"b")]);
        check(r#""a\nb""#, &[(1, 1, "a\\nb")]);
        check(r#""a\\" b"#, &[(1, 1, "a\\\\"), (1, 7, "b")]);
        check("\"a\n\\\nb\"\nc", &[(1, 1, "a\n\\\nb"), (4, 1, "c")]);
    }

    #[test]
    fn unclosed_quotes() {
        check("\"", &[]);
        check("\"\\", &[]);
        check("\"a b\n", &[(1, 1, "a b\n")]);
        check("\"a\\", &[(1, 1, "a")]);
    }

    proptest! {
        #[test]
        fn any_text_is_lossless(text in "(?s).{0,80}") {
            lossless(&text);
        }

        #[test]
        fn corefile_like_text_is_lossless(text in "[ab\"\\\\# \r\n\t{}\u{feff}]{0,60}") {
            lossless(&text);
        }
    }
}
