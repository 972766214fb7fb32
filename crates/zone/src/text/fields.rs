//! RDATA fields: numbers, names, strings, hexadecimal and base 64.

use std::borrow::Cow;

use super::Problem;
use super::lex::{Kind, Token, Tokens};
use wire::radix::{BASE16, BASE64};
use wire::{NameBuf, Rtype};

/// Reads the RDATA fields of one record and writes them in wire format.
pub(super) struct Fields<'l, 'a> {
    pub tokens: &'l mut dyn Tokens<'a>,
    pub origin: &'l NameBuf,
    pub rtype: Rtype,
    /// The name of the field that is read, for errors.
    pub field: &'static str,
    pub out: &'l mut Vec<u8>,
    /// The first token of the field before.
    pub before: Token<'a>,
    /// The line was read to its end.
    pub read_line: bool,
    /// The record is valid text without a wire format.
    pub unwritable: bool,
    /// The rules of zone files. Otherwise those of miekg/dns, which also accepts and refuses some text by accident.
    pub strict: bool,
}

impl<'l, 'a> Fields<'l, 'a> {
    pub fn new(
        tokens: &'l mut dyn Tokens<'a>,
        origin: &'l NameBuf,
        rtype: Rtype,
        out: &'l mut Vec<u8>,
        strict: bool,
    ) -> Fields<'l, 'a> {
        let before = Token::end();
        Fields { tokens, origin, rtype, field: "", out, before, read_line: false, unwritable: false, strict }
    }

    pub fn next(&mut self) -> Token<'a> {
        self.tokens.next()
    }

    /// Skips the blank between two fields. miekg/dns skips any token.
    pub fn blank(&mut self) {
        if !self.strict || self.tokens.peek().kind == Kind::Blank {
            self.tokens.next();
        }
    }

    /// The error of the current field.
    pub fn bad(&self, expected: &str, token: &Token<'_>) -> Problem {
        let (rtype, field) = (self.rtype.zone_name(), self.field);
        let of = if rtype == field { rtype.to_string() } else { format!("{rtype} {field}") };
        // miekg/dns reads these as another type.
        let quoted = match self.rtype {
            Rtype::SIG => "RRSIG",
            Rtype::NXT => "NSEC",
            Rtype::HTTPS => "SVCB",
            _ => &rtype,
        };
        Problem::new(format!("bad {quoted} {field}"), token)
            .expected(format!("{of}: expected {expected}, got {}", token.shown()))
    }

    pub fn integer(&mut self, max: u64) -> Result<u64, Problem> {
        let token = self.next();
        let found = number(&token.text, max).filter(|_| !token.bad);
        found.ok_or_else(|| self.bad(&format!("a number from 0 to {max}"), &token))
    }

    pub fn u8(&mut self) -> Result<u8, Problem> {
        let number = self.integer(u64::from(u8::MAX))? as u8;
        self.out.push(number);
        Ok(number)
    }

    pub fn u16(&mut self) -> Result<(), Problem> {
        let number = self.integer(u64::from(u16::MAX))?;
        self.out.extend_from_slice(&(number as u16).to_be_bytes());
        Ok(())
    }

    pub fn u32(&mut self) -> Result<(), Problem> {
        let number = self.integer(u64::from(u32::MAX))?;
        self.out.extend_from_slice(&(number as u32).to_be_bytes());
        Ok(())
    }

    pub fn name(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let is_word = !token.bad && (token.kind == Kind::Text || !self.strict);
        if is_word && push_name(&token.text, self.origin, self.out) {
            return Ok(());
        }
        Err(self.bad(NAME, &token))
    }

    /// Expects the end of the line.
    pub fn end(&mut self) -> Result<(), Problem> {
        end_of_line(self.tokens)
    }

    /// Writes a character string.
    pub fn text(&mut self, text: &[u8]) {
        let plain = unescaped(text);
        match u8::try_from(plain.len()) {
            Ok(len) => {
                self.out.push(len);
                self.out.extend_from_slice(&plain);
            }
            Err(_) => self.unwritable = true,
        }
    }

    /// Writes octets without a length.
    pub fn octets(&mut self, text: &[u8]) {
        if text.len() > 256 * 4 + 1 {
            self.unwritable = true;
        }
        self.out.extend_from_slice(&unescaped(text));
    }

    /// One string, quoted or not.
    pub fn string(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "a string of at most 255 octets";
        let mut token = self.next();
        let quoted = token.kind == Kind::Quote;
        if quoted {
            token = self.next();
            if token.kind == Kind::Quote {
                self.out.push(0);
                return Ok(());
            }
        }
        if token.bad || token.kind != Kind::Text {
            return Err(self.bad(EXPECTED, &token));
        }
        self.text(&token.text);
        if self.unwritable {
            return Err(self.bad(EXPECTED, &token));
        }
        if quoted {
            self.next();
        }
        Ok(())
    }

    /// The strings up to the end of the line, quoted or not; those of more than 255 octets are split.
    pub fn texts(&mut self) -> Result<Vec<Cow<'a, [u8]>>, Problem> {
        const EXPECTED: &str = "strings";
        let mut token = self.next();
        let mut texts = Vec::new();
        let (mut quoted, mut empty) = (false, false);
        while !token.is_end() {
            match token.kind {
                _ if token.bad => return Err(self.bad(EXPECTED, &token)),
                Kind::Text => {
                    empty = false;
                    let pieces = split_long(token.text.clone());
                    texts.extend(pieces.ok_or_else(|| self.bad(EXPECTED, &token))?);
                }
                Kind::Blank if !quoted => {}
                Kind::Quote => {
                    if empty && quoted {
                        texts.push(Cow::Borrowed(&b""[..]));
                    }
                    quoted = !quoted;
                    empty = true;
                }
                _ => return Err(self.bad(EXPECTED, &token)),
            }
            token = self.next();
        }
        if quoted || self.strict && texts.is_empty() {
            return Err(self.bad(EXPECTED, &token));
        }
        Ok(texts)
    }

    /// The rest of the line without blanks.
    pub fn rest(&mut self, expected: &str) -> Result<Vec<u8>, Problem> {
        let mut rest = Vec::new();
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => return Err(self.bad(expected, &token)),
                Kind::Newline | Kind::End => return Ok(rest),
                Kind::Text => rest.extend_from_slice(&token.text),
                Kind::Blank => {}
                _ => return Err(self.bad(expected, &token)),
            }
        }
    }

    pub fn hexadecimal(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "pairs of hexadecimal digits";
        let first = self.first_of_rest();
        let text = self.rest(EXPECTED)?;
        self.decoded(&text, BASE16.decode(&text), EXPECTED, &first)
    }

    pub fn base64(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "base 64";
        let first = self.first_of_rest();
        let text = self.rest(EXPECTED)?;
        self.decoded(&text, base64(&text), EXPECTED, &first)
    }

    /// The token that the rest of the line begins with, for errors.
    fn first_of_rest(&mut self) -> Token<'a> {
        if self.strict {
            self.blank();
        }
        self.tokens.peek().clone()
    }

    /// Writes decoded octets. miekg/dns decodes only when it packs the record.
    fn decoded(
        &mut self,
        text: &[u8],
        octets: Option<Vec<u8>>,
        expected: &str,
        token: &Token<'_>,
    ) -> Result<(), Problem> {
        if self.strict && (octets.is_none() || text.is_empty()) {
            return Err(self.bad(expected, token));
        }
        self.write(octets);
        Ok(())
    }

    pub fn write(&mut self, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => self.out.extend_from_slice(&bytes),
            None => self.unwritable = true,
        }
    }
}

pub(super) const NAME: &str = "a domain name";

pub(super) fn end_of_line<'a>(tokens: &mut (dyn Tokens<'a> + '_)) -> Result<(), Problem> {
    let mut token = tokens.next();
    if token.kind == Kind::Blank {
        token = tokens.next();
    }
    if token.is_end() {
        return Ok(());
    }
    let shown = token.shown();
    Err(Problem::new("garbage after rdata", &token)
        .expected(format!("expected the end of the line, got {shown}")))
}

/// A number of decimal digits only.
pub(super) fn number(text: &[u8], max: u64) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().filter(|number| *number <= max)
}

/// A duration: seconds, or `1h30m`.
pub(super) fn duration(text: &[u8]) -> Option<u32> {
    let (mut sum, mut number): (u64, u64) = (0, 0);
    for byte in text {
        let unit = match byte {
            b'0'..=b'9' => {
                number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                continue;
            }
            b's' | b'S' => 1,
            b'm' | b'M' => 60,
            b'h' | b'H' => 3_600,
            b'd' | b'D' => 86_400,
            b'w' | b'W' => 604_800,
            _ => return None,
        };
        sum = sum.wrapping_add(number.wrapping_mul(unit));
        number = 0;
    }
    u32::try_from(sum.wrapping_add(number)).ok()
}

/// A duration that is not so long that [`duration`] would count it modulo 2⁶⁴.
pub(super) fn period(text: &[u8]) -> Option<u32> {
    let short = text.split(|byte| !byte.is_ascii_digit()).all(|digits| digits.len() <= 10);
    duration(text).filter(|_| short && text.first().is_some_and(u8::is_ascii_digit))
}

/// A name; without a final dot it is relative to the origin.
pub(super) fn absolute(text: &[u8], origin: &NameBuf) -> Option<NameBuf> {
    let mut wire = Vec::with_capacity(64);
    push_name(text, origin, &mut wire)
        .then(|| wire::Name::from_wire(&wire).map(|name| name.to_buf()))
        .flatten()
}

/// Appends a name in wire format; false, and nothing appended, if the text is none.
pub(super) fn push_name(text: &[u8], origin: &NameBuf, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let complete = match text {
        b"@" => Some(false),
        b"" | b"\n" => None,
        b"." => Some(true),
        _ => push_labels(text, out),
    };
    match complete {
        Some(true) => out.push(0),
        Some(false) => out.extend_from_slice(origin.wire()),
        None => {}
    }
    let is_name = complete.is_some() && out.len() - start <= 255;
    if !is_name {
        out.truncate(start);
    }
    is_name
}

/// Appends the labels of a name; whether it had a final dot.
fn push_labels(text: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let mut start = out.len();
    out.push(0);
    let mut rest = text;
    let mut ended = false;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        ended = byte == b'.';
        match byte {
            b'.' => {
                close_label(start, out)?;
                start = out.len();
                out.push(0);
            }
            b'\\' => {
                let (byte, after) = escape(rest)?;
                out.push(byte);
                rest = after;
            }
            byte => out.push(byte),
        }
    }
    if ended {
        out.pop();
    } else {
        close_label(start, out)?;
    }
    Some(ended)
}

/// Writes the length of the label that begins at `start`.
fn close_label(start: usize, out: &mut [u8]) -> Option<()> {
    let len = u8::try_from(out.len() - start - 1).ok().filter(|len| (1..64).contains(len))?;
    *out.get_mut(start)? = len;
    Some(())
}

/// Decodes the text after a backslash: three digits or any octet.
fn escape(rest: &[u8]) -> Option<(u8, &[u8])> {
    match rest {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', after @ ..] => {
            let value = u32::from(a - b'0') * 100 + u32::from(b - b'0') * 10 + u32::from(c - b'0');
            Some((value as u8, after))
        }
        [byte, after @ ..] => Some((*byte, after)),
        [] => None,
    }
}

/// A string with its escapes decoded; a final backslash is dropped.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
        } else if let Some((byte, after)) = escape(rest) {
            out.push(byte);
            rest = after;
        }
    }
    out
}

/// Splits a string into pieces of at most 255 decoded octets. `None` if it ends inside an escape.
fn split_long<'a>(text: Cow<'a, [u8]>) -> Option<Vec<Cow<'a, [u8]>>> {
    let mut ends = Vec::new();
    let (mut at, mut octets) = (0, 0);
    while at < text.len() {
        at += match &text[at..] {
            [b'\\', rest @ ..] => 1 + rest.len() - escape(rest)?.1.len(),
            _ => 1,
        };
        octets += 1;
        if octets == 255 && at < text.len() {
            ends.push(at);
            octets = 0;
        }
    }
    if ends.is_empty() {
        return Some(vec![text]);
    }
    ends.push(text.len());
    let starts = std::iter::once(0).chain(ends.iter().copied());
    Some(starts.zip(&ends).map(|(start, end)| Cow::Owned(text[start..*end].to_vec())).collect())
}

/// Base 64 as Go reads it, which ignores line ends.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    if !text.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        return BASE64.decode(text);
    }
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    BASE64.decode(&text)
}
