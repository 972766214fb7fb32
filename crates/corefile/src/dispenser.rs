//! The cursor with which a plugin's setup reads its directive.
//!
//! A directive's tokens are all its lines in one block, so a setup usually loops: `while c.next()` moves to the
//! directive's name, [`remaining_args`](Dispenser::remaining_args) takes the rest of the line, and `while
//! c.next_block()` the lines between braces. Each step accepts the same tokens as CoreDNS's.

use std::fmt::Display;

use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::suggest::did_you_mean;
use crate::token::Token;

#[derive(Debug, Clone)]
pub struct Dispenser<'a> {
    file: &'a str,
    tokens: &'a [Token],
    /// Number of the current token from 1; 0 before the first.
    at: usize,
    nesting: usize,
}

impl<'a> Dispenser<'a> {
    /// A cursor before the first of `tokens`; `file` is the Corefile's name, for errors without a token.
    pub fn new(file: &'a str, tokens: &'a [Token]) -> Self {
        Self { file, tokens, at: 0, nesting: 0 }
    }

    /// The current token.
    pub fn token(&self) -> Option<&'a Token> {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at))
    }

    fn following(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Moves to the next token, on any line. False at the end, without moving.
    #[expect(clippy::should_implement_trait, reason = "the name plugin authors know")]
    pub fn next(&mut self) -> bool {
        let more = self.following().is_some();
        self.at += usize::from(more);
        more
    }

    /// Moves to the next token if it is on the same line.
    pub fn next_arg(&mut self) -> bool {
        self.next_if(Token::shares_line_with)
    }

    /// Moves to the next token if it is on another line.
    pub fn next_line(&mut self) -> bool {
        self.next_if(Token::line_breaks_before)
    }

    fn next_if(&mut self, accept: fn(&Token, &Token) -> bool) -> bool {
        if self.at == 0 {
            // True even without any token, as in CoreDNS.
            self.at = 1;
            return true;
        }
        match (self.token(), self.following()) {
            (Some(current), Some(next)) if accept(current, next) => self.next(),
            _ => false,
        }
    }

    /// Moves to the next token inside braces, and into them if they open on this line. False at the closing brace, or if no
    /// block opens here.
    pub fn next_block(&mut self) -> bool {
        if self.nesting > 0 {
            if !self.next() {
                return false;
            }
            match self.val() {
                "{" => self.at -= 1,
                "}" => {
                    self.nesting -= 1;
                    return false;
                }
                _ => return true,
            }
        }
        if !self.next_arg() {
            return false;
        }
        if self.val() != "{" {
            self.at -= 1;
            return false;
        }
        if !self.next() || self.val() == "}" {
            return false;
        }
        self.nesting += 1;
        true
    }

    /// Text of the current token, empty if there is none.
    pub fn val(&self) -> &'a str {
        self.token().map_or("", |token| &token.text)
    }

    /// Line of the current token, 0 if there is none.
    pub fn line(&self) -> u32 {
        self.token().map_or(0, Token::line)
    }

    /// File of the current token, or the Corefile.
    pub fn file(&self) -> &'a str {
        self.token().map_or(self.file, |token| token.span.file.name())
    }

    pub fn span(&self) -> Option<&'a Span> {
        self.token().map(|token| &token.span)
    }

    /// The next `N` tokens of this line. `None` if there are fewer, which are skipped then.
    pub fn args<const N: usize>(&mut self) -> Option<[&'a str; N]> {
        let mut values = [""; N];
        for value in &mut values {
            if !self.next_arg() {
                return None;
            }
            *value = self.val();
        }
        Some(values)
    }

    /// The rest of this line up to an opening brace, which [`next_block`](Self::next_block) reads.
    pub fn remaining_args(&mut self) -> Vec<&'a str> {
        let mut args = Vec::new();
        while self.next_arg() {
            if self.val() == "{" {
                self.at -= 1;
                break;
            }
            args.push(self.val());
        }
        args
    }
}

/// Errors at the current token.
impl Dispenser<'_> {
    fn at_token(&self, error: Diagnostic) -> Diagnostic {
        match self.span() {
            Some(span) => error.at(span),
            None => error,
        }
    }

    /// `FILE:LINE - Error during parsing: MSG`
    pub fn err(&self, message: impl Display) -> Diagnostic {
        self.at_token(Diagnostic::parsing(self.file(), self.line(), message.to_string()))
    }

    /// An error that CoreDNS prints without file and line. The rendered snippet has both.
    pub fn bare_err(&self, message: impl Display) -> Diagnostic {
        self.at_token(Diagnostic::error(message.to_string()))
    }

    /// A mistake that CoreDNS logs and ignores.
    pub fn warning(&self, message: impl Display) -> Diagnostic {
        self.at_token(Diagnostic::warning(message.to_string()))
    }

    /// An argument is missing, or there is one too many.
    pub fn arg_err(&self) -> Diagnostic {
        match self.val() {
            "{" => self.err("Unexpected token '{', expecting argument"),
            text => self.err(format_args!("Wrong argument count or unexpected line ending after '{text}'")),
        }
    }

    pub fn syntax_err(&self, expected: &str) -> Diagnostic {
        let message = format!("Unexpected token '{}', expecting '{expected}'", self.val());
        self.at_token(Diagnostic::syntax(self.file(), self.line(), message))
    }

    pub fn eof_err(&self) -> Diagnostic {
        self.err("Unexpected EOF")
    }

    /// `unknown property 'x'`, with the nearest of `known` as help.
    pub fn unknown_property(&self, known: &[&str]) -> Diagnostic {
        let error = self.err(format_args!("unknown property '{}'", self.val()));
        match did_you_mean(self.val(), known.iter().copied()) {
            Some(help) => error.help(help),
            None => error,
        }
    }
}
