//! Template lexer: text, and the tokens between `{{` and `}}`.

use crate::quote::{is_print, quoted_bytes};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    Bool,
    /// Any other printable character, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    // Keywords
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    /// Byte offset of its start.
    pub at: usize,
    pub text: String,
    pub line: usize,
}

impl Token {
    fn is_keyword(&self) -> bool {
        use Kind::*;
        matches!(
            self.kind,
            Block | Break | Continue | Dot | Define | Else | End | If | Nil | Range | Template | With
        )
    }

    /// As Go's errors quote it.
    pub fn for_error(&self) -> String {
        match self.kind {
            Kind::Eof => "EOF".into(),
            Kind::Error => self.text.clone(),
            _ if self.is_keyword() => format!("<{}>", self.text),
            _ if self.text.len() > 10 => {
                let first: String = self.text.chars().take(10).collect();
                format!("{}...", quoted_bytes(first.as_bytes(), '"', false))
            }
            _ => quoted_bytes(self.text.as_bytes(), '"', false),
        }
    }
}

const LEFT: &str = "{{";
const RIGHT: &str = "}}";
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// All tokens of a template; the last is the end or an error.
pub(super) fn lex(input: &str) -> Vec<Token> {
    let mut lexer = Lexer { input, at: 0, start: 0, line: 1, start_line: 1, parens: 0, tokens: Vec::new() };
    if let Err(message) = lexer.run() {
        let (at, line) = (lexer.start, lexer.start_line);
        lexer.tokens.push(Token { kind: Kind::Error, at, text: message, line });
    }
    lexer.tokens
}

struct Lexer<'a> {
    input: &'a str,
    at: usize,
    /// Start of the current token.
    start: usize,
    line: usize,
    start_line: usize,
    parens: usize,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.input[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn emit(&mut self, kind: Kind) {
        let text = self.input[self.start..self.at].to_owned();
        self.tokens.push(Token { kind, at: self.start, text, line: self.start_line });
        (self.start, self.start_line) = (self.at, self.line);
    }

    /// Skips bytes that belong to no token.
    fn skip(&mut self, len: usize) {
        let passed = &self.input[self.start..self.at + len];
        self.line += passed.matches('\n').count();
        self.at += len;
        (self.start, self.start_line) = (self.at, self.line);
    }

    fn run(&mut self) -> Result<(), String> {
        loop {
            self.text();
            if self.rest().is_empty() {
                self.emit(Kind::Eof);
                return Ok(());
            }
            if self.left_delimiter()? {
                while self.inside()? {}
            }
        }
    }

    /// Reads text up to the next delimiter, without the spaces it trims.
    fn text(&mut self) {
        let rest = self.rest();
        let end = rest.find(LEFT).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        let trims = after.strip_prefix(LEFT).is_some_and(has_left_trim);
        let kept = if trims { text.trim_end_matches(SPACES) } else { text };
        self.at += kept.len();
        self.line += kept.matches('\n').count();
        if !kept.is_empty() {
            self.emit(Kind::Text);
        }
        self.skip(text.len() - kept.len());
    }

    /// Reads the start of an action; false if it was a comment, which is skipped.
    fn left_delimiter(&mut self) -> Result<bool, String> {
        self.at += LEFT.len();
        let marker = if has_left_trim(self.rest()) { 2 } else { 0 };
        if self.rest()[marker..].starts_with("/*") {
            self.skip(marker);
            self.comment()?;
            return Ok(false);
        }
        self.emit(Kind::LeftDelimiter);
        self.skip(marker);
        self.parens = 0;
        Ok(true)
    }

    fn comment(&mut self) -> Result<(), String> {
        let Some(end) = self.rest()[2..].find("*/") else { return Err("unclosed comment".into()) };
        let len = end + 4;
        let Some(trims) = at_right(&self.rest()[len..]) else {
            return Err("comment ends before closing delimiter".into());
        };
        self.skip(len);
        self.close(trims);
        Ok(())
    }

    /// Skips the closing delimiter and the spaces it trims.
    fn close(&mut self, trims: bool) {
        self.skip(RIGHT.len() + if trims { 2 } else { 0 });
        if trims {
            let spaces = self.rest().len() - self.rest().trim_start_matches(SPACES).len();
            self.skip(spaces);
        }
    }

    fn right_delimiter(&mut self, trims: bool) {
        if trims {
            self.skip(2);
        }
        self.at += RIGHT.len();
        self.emit(Kind::RightDelimiter);
        if trims {
            let spaces = self.rest().len() - self.rest().trim_start_matches(SPACES).len();
            self.skip(spaces);
        }
    }

    /// Reads one token of an action; false at its end.
    fn inside(&mut self) -> Result<bool, String> {
        if let Some(trims) = at_right(self.rest()) {
            if self.parens > 0 {
                return Err("unclosed left paren".into());
            }
            self.right_delimiter(trims);
            return Ok(false);
        }
        let Some(c) = self.next() else { return Err("unclosed action".into()) };
        match c {
            c if SPACES.contains(&c) => return self.spaces(),
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return Err("expected :=".into());
                }
                self.emit(Kind::Declare);
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted('"', "unterminated quoted string", Kind::String)?,
            '`' => {
                while self.next().ok_or("unterminated raw quoted string")? != '`' {}
                self.emit(Kind::RawString);
            }
            '$' => self.field_or_variable(Kind::Variable)?,
            '\'' => self.quoted('\'', "unterminated character constant", Kind::CharConstant)?,
            '.' if self.input.as_bytes().get(self.at).is_some_and(|next| !next.is_ascii_digit()) => {
                self.field_or_variable(Kind::Field)?;
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.at -= 1;
                self.number()?;
            }
            c if is_alphanumeric(c) => self.identifier()?,
            '(' => {
                self.parens += 1;
                self.emit(Kind::LeftParen);
            }
            ')' => {
                self.parens = self.parens.checked_sub(1).ok_or("unexpected right paren")?;
                self.emit(Kind::RightParen);
            }
            ' '..='~' => self.emit(Kind::Char),
            c => return Err(format!("unrecognized character in action: {}", code_point(c))),
        }
        Ok(true)
    }

    /// Reads spaces; the last may belong to a trim marker.
    fn spaces(&mut self) -> Result<bool, String> {
        while self.peek().is_some_and(|c| SPACES.contains(&c)) {
            self.next();
        }
        // Every space character is one byte.
        if at_right(&self.input[self.at - 1..]) == Some(true) {
            self.at -= 1;
            self.line -= usize::from(self.rest().starts_with('\n'));
            if self.at == self.start {
                if self.parens > 0 {
                    return Err("unclosed left paren".into());
                }
                self.right_delimiter(true);
                return Ok(false);
            }
        }
        self.emit(Kind::Space);
        Ok(true)
    }

    fn quoted(&mut self, quote: char, unterminated: &str, kind: Kind) -> Result<(), String> {
        loop {
            match self.next() {
                Some('\\') if self.next().is_none_or(|c| c == '\n') => return Err(unterminated.into()),
                None | Some('\n') => return Err(unterminated.into()),
                Some(c) if c == quote => break,
                Some(_) => {}
            }
        }
        self.emit(kind);
        Ok(())
    }

    fn identifier(&mut self) -> Result<(), String> {
        self.word_end()?;
        let kind = match &self.input[self.start..self.at] {
            "block" => Kind::Block,
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            "define" => Kind::Define,
            "else" => Kind::Else,
            "end" => Kind::End,
            "if" => Kind::If,
            "range" => Kind::Range,
            "nil" => Kind::Nil,
            "template" => Kind::Template,
            "with" => Kind::With,
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        self.emit(kind);
        Ok(())
    }

    fn field_or_variable(&mut self, kind: Kind) -> Result<(), String> {
        if self.at_terminator() {
            self.emit(if kind == Kind::Variable { kind } else { Kind::Dot });
            return Ok(());
        }
        self.word_end()?;
        self.emit(kind);
        Ok(())
    }

    /// Reads letters and digits and expects a terminator.
    fn word_end(&mut self) -> Result<(), String> {
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
        match self.peek() {
            Some(c) if !self.at_terminator() => Err(format!("bad character {}", code_point(c))),
            _ => Ok(()),
        }
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(c) => SPACES.contains(&c) || self.rest().starts_with(RIGHT),
        }
    }

    fn number(&mut self) -> Result<(), String> {
        let bad = |lexer: &Self| {
            let text = &lexer.input[lexer.start..lexer.at];
            format!("bad number syntax: {}", quoted_bytes(text.as_bytes(), '"', false))
        };
        if !self.scan_number() {
            return Err(bad(self));
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || !self.input[..self.at].ends_with('i') {
                return Err(bad(self));
            }
            self.emit(Kind::Complex);
        } else {
            self.emit(Kind::Number);
        }
        Ok(())
    }

    fn accept(&mut self, valid: &str) -> bool {
        let there = self.peek().is_some_and(|c| valid.contains(c));
        self.at += usize::from(there);
        there
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    /// Reads a number loosely; the parser validates it.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        const HEXADECIMAL: &str = "0123456789abcdefABCDEF_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = HEXADECIMAL;
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if digits == DECIMAL && self.accept("eE") || digits == HEXADECIMAL && self.accept("pP") {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
}

fn has_left_trim(text: &str) -> bool {
    matches!(text.as_bytes(), [b'-', b' ' | b'\t' | b'\r' | b'\n', ..])
}

/// Whether the closing delimiter trims; `None` if the text does not start with one.
fn at_right(text: &str) -> Option<bool> {
    if let [b' ' | b'\t' | b'\r' | b'\n', b'-', rest @ ..] = text.as_bytes()
        && rest.starts_with(RIGHT.as_bytes())
    {
        return Some(true);
    }
    text.starts_with(RIGHT).then_some(false)
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// As `%#U` formats it.
fn code_point(c: char) -> String {
    let number = u32::from(c);
    if is_print(c) { format!("U+{number:04X} '{c}'") } else { format!("U+{number:04X}") }
}
