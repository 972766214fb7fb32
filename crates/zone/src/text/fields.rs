//! RDATA fields: numbers, names, strings, hexadecimal and base 64.

use std::borrow::Cow;

use super::lex::{Kind, Lexer, Token};
use super::{Problem, ZoneError};
use wire::NameBuf;

/// Reads the RDATA fields of one record and writes them in wire format.
pub(super) struct Fields<'l, 'a> {
    pub lexer: &'l mut Lexer<'a>,
    pub origin: Option<&'l NameBuf>,
    pub out: Vec<u8>,
    /// The record is valid text without a wire format.
    pub unwritable: bool,
}

impl<'a> Fields<'_, 'a> {
    pub fn next(&mut self) -> Token<'a> {
        self.lexer.next()
    }

    /// Skips the blank between two fields.
    pub fn blank(&mut self) {
        self.lexer.next();
    }

    pub fn integer(&mut self, max: u64, message: &'static str) -> Result<u64, Problem> {
        let token = self.next();
        match number(&token.text, max).filter(|_| !token.bad) {
            Some(number) => Ok(number),
            None => Err(Problem::new(message, &token)),
        }
    }

    pub fn u8(&mut self, message: &'static str) -> Result<(), Problem> {
        let number = self.integer(u64::from(u8::MAX), message)?;
        self.out.push(number as u8);
        Ok(())
    }

    pub fn u16(&mut self, message: &'static str) -> Result<(), Problem> {
        let number = self.integer(u64::from(u16::MAX), message)?;
        self.out.extend_from_slice(&(number as u16).to_be_bytes());
        Ok(())
    }

    pub fn u32(&mut self, message: &'static str) -> Result<(), Problem> {
        let number = self.integer(u64::from(u32::MAX), message)?;
        self.out.extend_from_slice(&(number as u32).to_be_bytes());
        Ok(())
    }

    pub fn name(&mut self, message: &'static str) -> Result<(), Problem> {
        let token = self.next();
        match absolute(&token.text, self.origin).filter(|_| !token.bad) {
            Some(name) => {
                self.out.extend_from_slice(name.wire());
                Ok(())
            }
            None => Err(Problem::new(message, &token)),
        }
    }

    /// Expects the end of the line.
    pub fn end(&mut self) -> Result<(), Problem> {
        end_of_line(self.lexer)
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

    /// The strings up to the end of the line, quoted or not; those of more than 255 octets are split.
    pub fn texts(&mut self, message: &'static str) -> Result<Vec<Cow<'a, [u8]>>, Problem> {
        let mut token = self.next();
        let mut texts = Vec::new();
        let (mut quoted, mut empty) = (false, false);
        while !token.is_end() {
            match token.kind {
                _ if token.bad => return Err(Problem::new(message, &token)),
                Kind::Text => {
                    empty = false;
                    let pieces = split_long(token.text.clone());
                    texts.extend(pieces.ok_or_else(|| Problem::new(message, &token))?);
                }
                Kind::Blank if !quoted => {}
                Kind::Quote => {
                    if empty && quoted {
                        texts.push(Cow::Borrowed(&b""[..]));
                    }
                    quoted = !quoted;
                    empty = true;
                }
                _ => return Err(Problem::new(message, &token)),
            }
            token = self.next();
        }
        if quoted {
            return Err(Problem::new(message, &token));
        }
        Ok(texts)
    }

    /// The rest of the line without blanks.
    pub fn rest(&mut self, message: &'static str) -> Result<Vec<u8>, Problem> {
        let mut rest = Vec::new();
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => return Err(Problem::new(message, &token)),
                Kind::Newline | Kind::End => return Ok(rest),
                Kind::Text => rest.extend_from_slice(&token.text),
                Kind::Blank => {}
                _ => return Err(Problem::new(message, &token)),
            }
        }
    }

    pub fn hexadecimal(&mut self, message: &'static str) -> Result<(), Problem> {
        let text = self.rest(message)?;
        self.write(hexadecimal(&text));
        Ok(())
    }

    pub fn base64(&mut self, message: &'static str) -> Result<(), Problem> {
        let text = self.rest(message)?;
        self.write(base64(&text));
        Ok(())
    }

    pub fn write(&mut self, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => self.out.extend_from_slice(&bytes),
            None => self.unwritable = true,
        }
    }
}

pub(super) fn end_of_line(lexer: &mut Lexer<'_>) -> Result<(), Problem> {
    const GARBAGE: &str = "garbage after rdata";
    let mut token = lexer.next();
    if token.kind == Kind::Blank {
        token = lexer.next();
    }
    if token.is_end() { Ok(()) } else { Err(Problem::new(GARBAGE, &token)) }
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

/// A name; without a final dot it is relative to the origin.
pub(super) fn absolute(text: &[u8], origin: Option<&NameBuf>) -> Option<NameBuf> {
    if text == b"@" {
        return origin.cloned();
    }
    if text.is_empty() || text == b"\n" {
        return None;
    }
    let (labels, complete) = labels(text)?;
    let mut wire = labels;
    if complete {
        wire.push(0);
    } else {
        wire.extend_from_slice(origin?.wire());
    }
    wire::Name::from_wire(&wire).map(|name| name.to_buf())
}

/// The labels of a name in wire format, and whether it had a final dot.
fn labels(text: &[u8]) -> Option<(Vec<u8>, bool)> {
    if text == b"." {
        return Some((Vec::new(), true));
    }
    let mut wire = Vec::with_capacity(text.len() + 1);
    let mut start = 0;
    wire.push(0);
    let mut rest = text;
    let mut ended = false;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        ended = byte == b'.';
        match byte {
            b'.' => {
                let len = wire.len() - start - 1;
                wire[start] = u8::try_from(len).ok().filter(|len| (1..64).contains(len))?;
                start = wire.len();
                wire.push(0);
            }
            b'\\' => {
                let (byte, after) = escape(rest)?;
                wire.push(byte);
                rest = after;
            }
            byte => wire.push(byte),
        }
    }
    let len = wire.len() - start - 1;
    if ended {
        wire.pop();
    } else {
        wire[start] = u8::try_from(len).ok().filter(|len| (1..64).contains(len))?;
    }
    Some((wire, ended))
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

pub(super) fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Standard base 64 with padding.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.len() / 4;
    for (i, group) in text.chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || padding > 0 && i + 1 < groups {
            return None;
        }
        let mut bits: u32 = 0;
        for &byte in &group[..4 - padding] {
            let six = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(six);
        }
        bits <<= 6 * padding as u32;
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

impl From<Problem> for ZoneError {
    fn from(problem: Problem) -> ZoneError {
        ZoneError(problem.to_string())
    }
}
