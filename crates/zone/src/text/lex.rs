//! Zone file lexer: owners, strings, quotes, blanks, line endings.
//!
//! Token boundaries and the positions reported in errors are those of miekg/dns, CoreDNS's library.

use std::borrow::Cow;

use wire::{Class, Rtype};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Text,
    Blank,
    Quote,
    Newline,
    Owner,
    Type(Rtype),
    Class(Class),
    Ttl,
    Origin,
    Include,
    Generate,
}

#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: Cow<'a, [u8]>,
    /// An error token; `text` is the message.
    pub bad: bool,
    pub line: usize,
    pub column: usize,
}

impl<'a> Token<'a> {
    pub fn end() -> Token<'a> {
        Token { kind: Kind::End, text: Cow::Borrowed(b""), bad: false, line: 0, column: 0 }
    }

    /// For error messages.
    pub fn shown(&self) -> String {
        match self.kind {
            Kind::Newline | Kind::End => "the end of the line".into(),
            Kind::Blank => "a blank".into(),
            _ => format!("'{}'", String::from_utf8_lossy(&self.text)),
        }
    }

    pub fn is_end(&self) -> bool {
        !self.bad && matches!(self.kind, Kind::Newline | Kind::End)
    }
}

/// A sequence of tokens; after the last it repeats the end.
pub(super) trait Tokens<'a> {
    fn next(&mut self) -> Token<'a>;
    fn peek(&mut self) -> &Token<'a>;
}

pub(super) struct Lexer<'a> {
    input: &'a [u8],
    at: usize,
    line: usize,
    column: usize,
    /// The last octet was a line feed.
    line_ended: bool,
    braces: i32,
    quoted: bool,
    /// The last token was a blank; further blanks are skipped.
    spaced: bool,
    in_comment: bool,
    /// A comment began after the last word or on the last line inside braces.
    commented: bool,
    /// The record's type was read: further words are RDATA.
    typed: bool,
    /// The next word is an owner.
    owner: bool,
    failed: bool,
    /// Tokens to return before more input is read.
    ahead: [Option<Token<'a>>; 2],
}

/// A word being read; it borrows from the input unless some octets inside it are skipped.
#[derive(Default)]
struct Word<'a> {
    text: Cow<'a, [u8]>,
    end: usize,
}

impl<'a> Word<'a> {
    fn push(&mut self, input: &'a [u8], at: usize) {
        match &mut self.text {
            text if text.is_empty() => *text = Cow::Borrowed(&input[at..=at]),
            Cow::Borrowed(text) if self.end == at => *text = &input[at - text.len()..=at],
            text => text.to_mut().push(input[at]),
        }
        self.end = at + 1;
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl<'a> Tokens<'a> for Lexer<'a> {
    fn next(&mut self) -> Token<'a> {
        if let Some(token) = self.ahead[0].take() {
            self.ahead.swap(0, 1);
            return token;
        }
        if self.failed {
            return Token::end();
        }
        self.read()
    }

    fn peek(&mut self) -> &Token<'a> {
        let next = self.next();
        self.ahead.swap(0, 1);
        self.ahead[0].insert(next)
    }
}

impl<'a> Lexer<'a> {
    pub fn new(input: &'a [u8]) -> Lexer<'a> {
        Lexer {
            input,
            at: 0,
            line: 1,
            column: 0,
            line_ended: false,
            braces: 0,
            quoted: false,
            spaced: false,
            in_comment: false,
            commented: false,
            typed: false,
            owner: true,
            failed: false,
            ahead: [None, None],
        }
    }

    fn token(&self, kind: Kind, text: Cow<'a, [u8]>) -> Token<'a> {
        Token { kind, text, bad: false, line: self.line, column: self.column }
    }

    fn fail(&mut self, message: &'static str) -> Token<'a> {
        self.failed = true;
        Token { bad: true, ..self.token(Kind::End, Cow::Borrowed(message.as_bytes())) }
    }

    /// Returns the word, if any, and queues `then` after it; without a word returns `then`.
    fn word_then(&mut self, word: Option<Token<'a>>, then: Token<'a>) -> Token<'a> {
        match word {
            None => then,
            Some(word) => {
                self.ahead[0] = Some(then);
                word
            }
        }
    }

    fn advance(&mut self) -> Option<u8> {
        let byte = *self.input.get(self.at)?;
        self.at += 1;
        if self.line_ended {
            self.line += 1;
            self.column = 0;
        }
        self.line_ended = byte == b'\n';
        self.column += usize::from(byte != b'\n');
        Some(byte)
    }

    fn read(&mut self) -> Token<'a> {
        let mut word = Word::default();
        let mut commented = std::mem::take(&mut self.commented);
        let mut escaped = false;
        while let Some(byte) = self.advance() {
            let at = self.at - 1;
            let plain = escaped || self.quoted;
            match byte {
                b' ' | b'\t' if plain => {
                    word.push(self.input, at);
                    escaped = false;
                }
                _ if self.in_comment && !matches!(byte, b'\n' | b'\r' | b';') => {
                    commented = true;
                    escaped = false;
                }
                b' ' | b'\t' => {
                    let found = match self.classify(std::mem::take(&mut word).text) {
                        Ok(found) => found,
                        Err(bad) => return bad,
                    };
                    self.owner = false;
                    if !std::mem::replace(&mut self.spaced, true) {
                        let blank = self.token(Kind::Blank, Cow::Borrowed(b" "));
                        return self.word_then(found, blank);
                    }
                    if let Some(found) = found {
                        return found;
                    }
                }
                b';' if plain => {
                    word.push(self.input, at);
                    escaped = false;
                }
                b';' => {
                    self.in_comment = true;
                    if !word.is_empty() {
                        self.commented = true;
                        return self.token(Kind::Text, word.text);
                    }
                    commented = true;
                }
                b'\r' | b'\n' if self.quoted => {
                    escaped = false;
                    word.push(self.input, at);
                }
                b'\r' => escaped = false,
                b'\n' => {
                    escaped = false;
                    if self.in_comment {
                        self.in_comment = false;
                        self.typed = false;
                        if self.braces == 0 {
                            self.owner = true;
                            return self.token(Kind::Newline, Cow::Borrowed(b"\n"));
                        }
                        self.commented = commented;
                    } else if self.braces == 0 {
                        let found = (!word.is_empty()).then(|| self.classify_last(word.text));
                        self.commented = false;
                        self.typed = false;
                        self.owner = true;
                        let newline = self.token(Kind::Newline, Cow::Borrowed(b"\n"));
                        return self.word_then(found, newline);
                    }
                }
                b'\\' => {
                    word.push(self.input, at);
                    escaped = !escaped;
                }
                b'"' if escaped => {
                    word.push(self.input, at);
                    escaped = false;
                }
                b'"' => {
                    self.spaced = false;
                    let found = (!word.is_empty()).then(|| self.token(Kind::Text, word.text));
                    self.quoted = !self.quoted;
                    let quote = self.token(Kind::Quote, Cow::Borrowed(b"\""));
                    return self.word_then(found, quote);
                }
                b'(' | b')' if plain => {
                    word.push(self.input, at);
                    escaped = false;
                }
                b'(' => self.braces += 1,
                b')' => {
                    self.braces -= 1;
                    if self.braces < 0 {
                        return self.fail("extra closing brace");
                    }
                }
                _ => {
                    escaped = false;
                    word.push(self.input, at);
                    self.spaced = false;
                }
            }
        }
        self.end_of_input(word, commented)
    }

    fn end_of_input(&mut self, word: Word<'a>, commented: bool) -> Token<'a> {
        let found = (!word.is_empty()).then(|| self.token(Kind::Text, word.text));
        if commented {
            let newline = self.token(Kind::Newline, Cow::Borrowed(b"\n"));
            return self.word_then(found, newline);
        }
        match found {
            Some(found) => found,
            None if self.braces != 0 => self.fail("unbalanced brace"),
            None => Token::end(),
        }
    }

    /// Classifies a word that is followed by a blank.
    fn classify(&mut self, text: Cow<'a, [u8]>) -> Result<Option<Token<'a>>, Token<'a>> {
        if text.is_empty() {
            return Ok(None);
        }
        let kind = if self.owner {
            match text.to_ascii_uppercase().as_slice() {
                b"$TTL" => Kind::Ttl,
                b"$ORIGIN" => Kind::Origin,
                b"$INCLUDE" => Kind::Include,
                b"$GENERATE" => Kind::Generate,
                _ => Kind::Owner,
            }
        } else if self.typed {
            Kind::Text
        } else {
            self.type_or_class(&text)?
        };
        Ok(Some(self.token(kind, text)))
    }

    fn type_or_class(&mut self, text: &[u8]) -> Result<Kind, Token<'a>> {
        let mut kind = Kind::Text;
        if let Some(rtype) = named_type(text) {
            kind = Kind::Type(rtype);
            self.typed = true;
        } else if starts_with(text, b"TYPE") {
            let Some(number) = number_after(text, 4) else { return Err(self.fail("unknown RR type")) };
            kind = Kind::Type(Rtype(number));
            self.typed = true;
        }
        if let Some(class) = named_class(text) {
            kind = Kind::Class(class);
        } else if starts_with(text, b"CLASS") {
            let Some(number) = number_after(text, 5) else { return Err(self.fail("unknown class")) };
            kind = Kind::Class(Class(number));
        }
        Ok(kind)
    }

    /// Classifies the last word of a line, which may be a type but no class.
    fn classify_last(&mut self, text: Cow<'a, [u8]>) -> Token<'a> {
        let rtype = if self.typed { None } else { named_type(&text) };
        self.token(rtype.map_or(Kind::Text, Kind::Type), text)
    }
}

fn starts_with(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// A type by its mnemonic, in any case. `None` and `Reserved` are not accepted.
pub(super) fn named_type(text: &[u8]) -> Option<Rtype> {
    let text = std::str::from_utf8(text).ok()?;
    Rtype::from_mnemonic(text).filter(|rtype| !matches!(*rtype, Rtype::NONE | Rtype::RESERVED))
}

fn named_class(text: &[u8]) -> Option<Class> {
    let text = std::str::from_utf8(text).ok()?;
    if text.eq_ignore_ascii_case("ANY") { Some(Class::ANY) } else { Class::from_mnemonic(text) }
}

/// The number after the prefix of `TYPE123` or `CLASS3`.
pub(super) fn number_after(text: &[u8], prefix: usize) -> Option<u16> {
    super::fields::number(text.get(prefix..)?, u64::from(u16::MAX)).map(|number| number as u16)
}
