//! Splits the source into tokens.

use crate::error::Error;
use crate::escapes::{unescape, unescape_bytes};
use crate::token::{Kind, Token};

/// The tokens up to the end or to the first error. The error is kept until the parser reaches it, because it may fail
/// on an earlier token.
pub(crate) struct LexResult {
    pub tokens: Vec<Token>,
    pub error: Option<Error>,
}

pub(crate) fn lex(source: &str) -> LexResult {
    let mut lexer = Lexer {
        source,
        chars: source.chars().collect(),
        start: 0,
        at: 0,
        past_end: false,
        tokens: Vec::new(),
    };
    let error = loop {
        match lexer.token() {
            Ok(true) => {}
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    LexResult { tokens: lexer.tokens, error }
}

struct Lexer<'a> {
    source: &'a str,
    chars: Vec<char>,
    /// Start of the current token.
    start: usize,
    at: usize,
    /// Set by a read past the end; errors then point after the text.
    past_end: bool,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        match next {
            Some(_) => self.at += 1,
            None => self.past_end = true,
        }
        next
    }

    fn accept(&mut self, allowed: &str) -> bool {
        let found = self.peek().is_some_and(|c| allowed.contains(c));
        if found {
            self.at += 1;
        }
        found
    }

    fn accept_all(&mut self, allowed: &str) {
        while self.accept(allowed) {}
    }

    fn word(&self) -> String {
        self.chars[self.start..self.at].iter().collect()
    }

    fn emit(&mut self, kind: Kind) {
        let text = self.word();
        self.emit_text(kind, text);
    }

    fn emit_text(&mut self, kind: Kind, text: String) {
        self.tokens.push(Token { kind, at: self.start, text, bytes: Vec::new() });
        self.start = self.at;
    }

    fn error(&self, message: impl Into<String>) -> Error {
        let read = self.at + usize::from(self.past_end);
        Error::at(self.source, read.saturating_sub(1), message)
    }

    /// Reads one token, whitespace or comment; false at the end.
    fn token(&mut self) -> Result<bool, Error> {
        self.start = self.at;
        let Some(c) = self.peek() else {
            let at = self.at.saturating_sub(1);
            self.tokens.push(Token { kind: Kind::Eof, at, text: String::new(), bytes: Vec::new() });
            return Ok(false);
        };
        self.at += 1;
        match c {
            _ if c.is_whitespace() => {}
            '\'' | '"' => self.string(c)?,
            '`' => self.raw_string()?,
            'b' | 'B' if matches!(self.peek(), Some('\'' | '"')) => self.bytes()?,
            '0'..='9' => {
                self.at -= 1;
                self.number()?;
            }
            '.' if self.peek().is_some_and(|c| c.is_ascii_digit()) => self.number()?,
            '.' => {
                self.accept(".");
                self.emit(Kind::Operator);
            }
            '?' => {
                self.accept(".?");
                self.emit(Kind::Operator);
            }
            '/' => self.slash()?,
            '#' => self.pointer(),
            '|' | ':' => {
                self.accept(c.encode_utf8(&mut [0; 4]));
                self.emit(Kind::Operator);
            }
            '(' | '[' | '{' | ')' | ']' | '}' => self.emit(Kind::Bracket),
            ',' | ';' | '%' | '+' | '-' | '^' => self.emit(Kind::Operator),
            '&' | '!' | '=' | '*' | '<' | '>' => {
                self.accept("&=*");
                self.emit(Kind::Operator);
            }
            _ if is_word_char(c) => self.identifier(),
            _ => return Err(self.error(format!("unrecognized character: {}", unicode_name(c)))),
        }
        Ok(true)
    }

    fn identifier(&mut self) {
        while self.peek().is_some_and(is_word_char) {
            self.at += 1;
        }
        let kind = match self.word().as_str() {
            "not" | "in" | "or" | "and" | "matches" | "contains" | "startsWith" | "endsWith" | "let"
            | "if" | "else" => Kind::Operator,
            _ => Kind::Identifier,
        };
        self.emit(kind);
    }

    /// `#` and the name directly after it.
    fn pointer(&mut self) {
        self.accept("#");
        self.emit(Kind::Operator);
        while self.peek().is_some_and(is_word_char) {
            self.at += 1;
        }
        if self.at > self.start {
            self.emit(Kind::Identifier);
        }
    }

    fn slash(&mut self) -> Result<(), Error> {
        if self.accept("/") {
            while self.next().is_some_and(|c| c != '\n') {}
            return Ok(());
        }
        if !self.accept("*") {
            self.emit(Kind::Operator);
            return Ok(());
        }
        loop {
            match self.next() {
                None => return Err(self.error("unclosed comment")),
                Some('*') if self.accept("/") => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Result<(), Error> {
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_all(digits);
        let whole = self.at;
        if self.accept(".") {
            if self.peek() == Some('.') {
                // `1..2` is a range.
                self.at = whole;
                self.emit(Kind::Number);
                return Ok(());
            }
            self.accept_all(digits);
        }
        if self.accept("eE") {
            self.accept("+-");
            self.accept_all(digits);
        }
        if self.peek().is_some_and(is_word_char) {
            self.at += 1;
            return Err(self.error(format!("bad number syntax: {}", golang::quoted(&self.word()))));
        }
        self.emit(Kind::Number);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<(), Error> {
        self.quoted(quote)?;
        let text = unescape(&self.word()).map_err(|message| self.error(message))?;
        self.emit_text(Kind::String, text);
        Ok(())
    }

    fn bytes(&mut self) -> Result<(), Error> {
        let Some(quote) = self.next() else { return Ok(()) };
        self.quoted(quote)?;
        let bytes = unescape_bytes(&self.word()[1..]).map_err(|message| self.error(message))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.tokens.push(Token { kind: Kind::Bytes, at: self.start, text, bytes });
        Ok(())
    }

    /// Reads up to the closing quote.
    fn quoted(&mut self, quote: char) -> Result<(), Error> {
        loop {
            match self.next() {
                Some(c) if c == quote => return Ok(()),
                None | Some('\n') => return Err(self.error("literal not terminated")),
                Some('\\') => self.escape(quote)?,
                Some(_) => {}
            }
        }
    }

    /// Reads the escape after a backslash; `escapes` decodes it later.
    fn escape(&mut self, quote: char) -> Result<(), Error> {
        match self.next() {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\') => Ok(()),
            Some(c) if c == quote => Ok(()),
            Some('0'..='7') => self.escape_digits(8, 2),
            Some('x') => self.escape_digits(16, 2),
            Some('u') if self.peek() == Some('{') => self.escape_braces(),
            Some('u') => self.escape_digits(16, 4),
            Some('U') => self.escape_digits(16, 8),
            _ => Err(self.error("invalid char escape")),
        }
    }

    fn escape_digits(&mut self, base: u32, count: usize) -> Result<(), Error> {
        for _ in 0..count {
            if !self.next().is_some_and(|c| c.is_digit(base)) {
                return Err(self.error("invalid char escape"));
            }
        }
        Ok(())
    }

    fn escape_braces(&mut self) -> Result<(), Error> {
        self.at += 1;
        let mut digits = 0;
        while self.peek().is_some_and(|c| c.is_ascii_hexdigit()) && digits < 6 {
            self.at += 1;
            digits += 1;
        }
        if digits == 0 || self.peek() != Some('}') {
            return Err(self.error("invalid char escape"));
        }
        self.at += 1;
        Ok(())
    }

    /// A string in backticks; a doubled backtick is one backtick.
    fn raw_string(&mut self) -> Result<(), Error> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(self.error("literal not terminated")),
                Some('`') if !self.accept("`") => break,
                Some(c) => text.push(c),
            }
        }
        self.emit_text(Kind::String, text);
        Ok(())
    }
}

/// Whether identifiers may contain the character.
pub(crate) fn is_word_char(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || (!c.is_ascii() && c.is_numeric() && !c.is_alphabetic())
}

pub(crate) fn is_name_start(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

/// `U+0040 '@'`, as Go's `%#U` writes it.
fn unicode_name(c: char) -> String {
    let number = format!("U+{:04X}", u32::from(c));
    if c.is_control() { number } else { format!("{number} '{c}'") }
}
