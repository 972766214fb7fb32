//! Lexer of zone files: words, quotes, blanks and line ends, with the position of their first octet.

use std::borrow::Cow;

use crate::text::lex::{Kind, Token, Tokens};

/// What a lexer returns before it reads on.
#[derive(Clone, Copy)]
enum Quote {
    None,
    /// The string between two quotes.
    Text {
        start: usize,
        end: usize,
    },
    Close {
        at: usize,
    },
}

pub(super) struct FileLexer<'a> {
    input: &'a [u8],
    at: usize,
    line: usize,
    line_start: usize,
    /// Open parentheses, and where the first is.
    depth: usize,
    opened: (usize, usize),
    quote: Quote,
    /// Nothing was read of the current line.
    pub fresh: bool,
    peeked: Option<Token<'a>>,
}

impl<'a> Tokens<'a> for FileLexer<'a> {
    fn next(&mut self) -> Token<'a> {
        self.peeked.take().unwrap_or_else(|| self.read())
    }

    fn peek(&mut self) -> &Token<'a> {
        let next = self.next();
        self.peeked.insert(next)
    }
}

impl<'a> FileLexer<'a> {
    pub fn new(input: &'a [u8]) -> FileLexer<'a> {
        FileLexer {
            input,
            at: 0,
            line: 1,
            line_start: 0,
            depth: 0,
            opened: (0, 0),
            quote: Quote::None,
            fresh: true,
            peeked: None,
        }
    }

    /// Skips the rest of a record after an error. The error of a parenthesis that is never closed, if that was the cause.
    pub fn recover(&mut self) -> Option<Token<'a>> {
        self.peeked = None;
        self.quote = Quote::None;
        if self.fresh && self.depth == 0 {
            return None;
        }
        let mut unclosed = None;
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => unclosed = Some(token).filter(|_| self.at == self.input.len()),
                Kind::Newline | Kind::End => return unclosed,
                _ => {}
            }
        }
    }

    fn position(&self, at: usize) -> (usize, usize) {
        (self.line, at - self.line_start + 1)
    }

    fn token(&self, kind: Kind, start: usize, end: usize) -> Token<'a> {
        let (line, column) = self.position(start);
        let text = Cow::Borrowed(self.input.get(start..end).unwrap_or_default());
        Token { kind, text, bad: false, line, column }
    }

    fn fail(&self, (line, column): (usize, usize), message: &'static str) -> Token<'a> {
        Token { kind: Kind::End, text: Cow::Borrowed(message.as_bytes()), bad: true, line, column }
    }

    fn read(&mut self) -> Token<'a> {
        match self.quote {
            Quote::None => {}
            Quote::Text { start, end } => {
                self.quote = Quote::Close { at: end };
                return self.token(Kind::Text, start, end);
            }
            Quote::Close { at } => {
                self.quote = Quote::None;
                return self.token(Kind::Quote, at, at + 1);
            }
        }
        let start = self.at;
        let mut blank = false;
        let mut comment = None;
        loop {
            match self.input.get(self.at) {
                None if self.depth > 0 => {
                    self.depth = 0;
                    return self.fail(self.opened, "the parenthesis is never closed");
                }
                None => return self.token(Kind::End, self.at, self.at),
                Some(b' ' | b'\t' | b'\r') => blank = true,
                Some(b'(') => {
                    if self.depth == 0 {
                        self.opened = self.position(self.at);
                    }
                    self.depth += 1;
                    blank |= !self.fresh;
                }
                Some(b')') if self.depth == 0 => {
                    self.at += 1;
                    return self
                        .fail(self.position(self.at - 1), "a closing parenthesis without an opening one");
                }
                Some(b')') => {
                    self.depth -= 1;
                    blank = true;
                }
                Some(b';') => {
                    comment = Some(self.at);
                    let rest = &self.input[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                    continue;
                }
                Some(b'\n') if self.depth == 0 => {
                    let newline = self.token(Kind::Newline, comment.unwrap_or(self.at), self.at + 1);
                    self.end_line();
                    self.fresh = true;
                    return newline;
                }
                Some(b'\n') => {
                    self.end_line();
                    comment = None;
                    blank = true;
                    continue;
                }
                Some(_) => break,
            }
            self.at += 1;
        }
        if blank {
            let on_this_line = start.max(self.line_start);
            self.fresh = false;
            return self.token(Kind::Blank, on_this_line, on_this_line + 1);
        }
        self.fresh = false;
        self.word()
    }

    fn end_line(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
    }

    fn word(&mut self) -> Token<'a> {
        let start = self.at;
        let quoted = self.input.get(start) == Some(&b'"');
        self.at += usize::from(quoted);
        while let Some(byte) = self.input.get(self.at) {
            match byte {
                b'"' if quoted => {
                    let quote = self.token(Kind::Quote, start, start + 1);
                    let (start, end) = (start + 1, self.at);
                    self.quote =
                        if start == end { Quote::Close { at: end } } else { Quote::Text { start, end } };
                    self.at += 1;
                    return quote;
                }
                b'\n' if quoted => break,
                b' ' | b'\t' | b'\r' | b'\n' | b'(' | b')' | b';' | b'"' if !quoted => break,
                b'\\' => match escape_len(&self.input[self.at + 1..]) {
                    Some(len) => self.at += 1 + len,
                    None => {
                        let position = self.position(self.at);
                        self.at += 1;
                        return self.fail(
                            position,
                            "expected \\ and a character, or three digits from \\000 to \\255",
                        );
                    }
                },
                _ => self.at += 1,
            }
        }
        if quoted {
            return self.fail(self.position(start), "the string has no closing quote on its line");
        }
        self.token(Kind::Text, start, self.at)
    }
}

/// Octets of an escape after its backslash.
fn escape_len(rest: &[u8]) -> Option<usize> {
    match rest {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..] => ([*a, *b, *c] <= *b"255").then_some(3),
        [b'0'..=b'9' | b'\n' | b'\r', ..] | [] => None,
        _ => Some(1),
    }
}
