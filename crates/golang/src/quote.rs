//! Go's string quoting and unquoting.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

/// Quotes as `%q`.
pub fn quoted(text: &str) -> String {
    quoted_bytes(text.as_bytes(), '"', false)
}

/// Quotes as `%q`, or with `ascii` as `%+q`. Invalid UTF-8 is escaped as `\x`.
pub(crate) fn quoted_bytes(text: &[u8], quote: char, ascii: bool) -> String {
    let mut out = String::from(quote);
    for chunk in text.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_quoted(&mut out, c, quote, ascii));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push(quote);
    out
}

fn push_quoted(out: &mut String, c: char, quote: char, ascii: bool) {
    match c {
        '\\' => out.push_str("\\\\"),
        c if c == quote => out.extend(['\\', c]),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if (!ascii || c.is_ascii()) && is_print(c) => out.push(c),
        c if c.is_ascii() => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        c if u32::from(c) < 0x10000 => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        c => {
            let _ = write!(out, "\\U{:08x}", u32::from(c));
        }
    }
}

/// Go's `strconv.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_print(c: char) -> bool {
    static PRINTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let mut buffer = [0; 4];
    PRINTED.as_ref().is_some_and(|printed| printed.is_match(c.encode_utf8(&mut buffer)))
}

/// Quotes as the `time` package does: bytes other than printable ASCII in hexadecimal.
pub fn quoted_ascii(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// Decodes a Go string literal with its quotes; `None` if it is invalid.
pub(crate) fn unquoted(literal: &str) -> Option<Vec<u8>> {
    let quote = literal.chars().next()?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    match quote {
        '`' => (!inner.contains('`')).then(|| inner.bytes().filter(|byte| *byte != b'\r').collect()),
        '"' => {
            let mut out = Vec::new();
            let mut rest = inner;
            while !rest.is_empty() {
                let (unit, after) = unquoted_unit(rest, '"')?;
                match unit {
                    Unit::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    Unit::Byte(byte) => out.push(byte),
                }
                rest = after;
            }
            Some(out)
        }
        _ => None,
    }
}

/// One character or byte of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Char(char),
    Byte(u8),
}

/// Decodes one character or escape inside quotes; returns it and the rest.
pub(crate) fn unquoted_unit(text: &str, quote: char) -> Option<(Unit, &str)> {
    let mut chars = text.chars();
    match chars.next()? {
        c if c == quote || c == '\n' => return None,
        '\\' => {}
        c => return Some((Unit::Char(c), chars.as_str())),
    }
    let unit = match chars.next()? {
        'a' => Unit::Char('\u{7}'),
        'b' => Unit::Char('\u{8}'),
        'f' => Unit::Char('\u{c}'),
        'n' => Unit::Char('\n'),
        'r' => Unit::Char('\r'),
        't' => Unit::Char('\t'),
        'v' => Unit::Char('\u{b}'),
        '\\' => Unit::Char('\\'),
        c if c == quote => Unit::Char(c),
        first @ '0'..='7' => {
            let mut value = first.to_digit(8)?;
            for _ in 0..2 {
                value = value * 8 + chars.next()?.to_digit(8)?;
            }
            Unit::Byte(u8::try_from(value).ok()?)
        }
        kind @ ('x' | 'u' | 'U') => {
            let digits = match kind {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let mut value: u32 = 0;
            for _ in 0..digits {
                value = value.checked_mul(16)? + chars.next()?.to_digit(16)?;
            }
            if kind == 'x' { Unit::Byte(value as u8) } else { Unit::Char(char::from_u32(value)?) }
        }
        _ => return None,
    };
    Some((unit, chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        for (text, long, ascii) in [
            ("plain", "\"plain\"", "\"plain\""),
            ("a\"b\\", "\"a\\\"b\\\\\"", "\"a\\\"b\\\\\""),
            ("\t\u{1}", "\"\\t\\x01\"", "\"\\x09\\x01\""),
            ("é", "\"é\"", "\"\\xc3\\xa9\""),
            ("\u{2028}", "\"\\u2028\"", "\"\\xe2\\x80\\xa8\""),
        ] {
            assert_eq!((quoted(text).as_str(), quoted_ascii(text).as_str()), (long, ascii));
        }
    }

    #[test]
    fn literals() {
        for (literal, text) in [
            (r#""a\tb""#, Some(&b"a\tb"[..])),
            (r#""\x41\u00e9\101""#, Some(b"A\xc3\xa9A")),
            (r#""\xff""#, Some(b"\xff")),
            ("`a\\n`", Some(b"a\\n")),
            (r#""\q""#, None),
            (r#""\'""#, None),
            (r#""\400""#, None),
        ] {
            assert_eq!(unquoted(literal).as_deref(), text, "{literal}");
        }
    }
}
