//! JSON as Go reads and writes it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::Error;
use crate::show::float;
use crate::types::MapType;
use crate::value::{Key, Map, Value};

/// Go goes deeper, but nobody does.
const MAX_DEPTH: usize = 128;

/// Reads one JSON value.
pub(crate) fn read<'v>(text: &[u8]) -> Result<Value<'v>, Error> {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader { rest: &text };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.rest.is_empty() { Ok(value) } else { Err(reader.invalid()) }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn invalid(&self) -> Error {
        match self.rest.chars().next() {
            Some(c) => Error::new(format!("invalid character '{c}' in JSON")),
            None => Error::new("unexpected end of JSON input"),
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value<'v>(&mut self, depth: usize) -> Result<Value<'v>, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new("exceeded max depth"));
        }
        self.skip_space();
        if self.eat("null") {
            return Ok(Value::Nil);
        }
        if self.eat("true") {
            return Ok(Value::Bool(true));
        }
        if self.eat("false") {
            return Ok(Value::Bool(false));
        }
        match self.rest.chars().next() {
            Some('"') => Ok(Value::text(self.string()?)),
            Some('[') => self.array(depth),
            Some('{') => self.object(depth),
            Some('-' | '0'..='9') => self.number(),
            _ => Err(self.invalid()),
        }
    }

    fn array<'v>(&mut self, depth: usize) -> Result<Value<'v>, Error> {
        self.eat("[");
        self.skip_space();
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(Value::array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.eat("]") {
                return Ok(Value::array(items));
            }
            if !self.eat(",") {
                return Err(self.invalid());
            }
        }
    }

    fn object<'v>(&mut self, depth: usize) -> Result<Value<'v>, Error> {
        self.eat("{");
        self.skip_space();
        let mut entries = BTreeMap::new();
        let mut done = self.eat("}");
        while !done {
            self.skip_space();
            if !self.rest.starts_with('"') {
                return Err(self.invalid());
            }
            let key = self.string()?;
            self.skip_space();
            if !self.eat(":") {
                return Err(self.invalid());
            }
            let value = self.value(depth + 1)?;
            entries.insert(Key::String(Cow::Owned(key.into_bytes())), value);
            self.skip_space();
            done = self.eat("}");
            if !done && !self.eat(",") {
                return Err(self.invalid());
            }
        }
        Ok(Value::Map(Arc::new(Map { entries, of: MapType::StringToAny })))
    }

    fn number<'v>(&mut self) -> Result<Value<'v>, Error> {
        let end = self.rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let unsigned = number.strip_prefix('-').unwrap_or(number);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
            }
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        let fine =
            digits(whole) && !leading_zero && fraction.is_none_or(digits) && exponent.is_none_or(digits);
        match number.parse::<f64>() {
            Ok(value) if fine && value.is_finite() => {
                self.rest = rest;
                Ok(Value::Float(value))
            }
            _ => Err(Error::new(format!("invalid number {number} in JSON"))),
        }
    }

    fn string(&mut self) -> Result<String, Error> {
        let mut out = String::new();
        let mut chars = self.rest.chars();
        chars.next();
        loop {
            match chars.next() {
                Some('"') => break,
                Some('\\') => out.push(escape(&mut chars).ok_or_else(|| self.invalid())?),
                Some(c) if c >= ' ' => out.push(c),
                _ => return Err(self.invalid()),
            }
        }
        self.rest = chars.as_str();
        Ok(out)
    }
}

fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        c @ ('"' | '\\' | '/') => c,
        'u' => {
            let first = hex(chars)?;
            let mut ahead = chars.clone();
            let low =
                (ahead.next() == Some('\\') && ahead.next() == Some('u')).then(|| hex(&mut ahead)).flatten();
            match low.filter(|low| (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(low)) {
                Some(low) => {
                    *chars = ahead;
                    char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00))?
                }
                None => char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER),
            }
        }
        _ => return None,
    })
}

fn hex(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut value = 0;
    for _ in 0..4 {
        value = value * 16 + chars.next()?.to_digit(16)?;
    }
    Some(value)
}

/// Writes a value, indented by two spaces.
pub(crate) fn write<'v>(value: &Value<'v>) -> Result<Value<'v>, Error> {
    let mut out = String::new();
    write_value(value, 0, &mut out)?;
    Ok(Value::text(out))
}

fn write_value(value: &Value<'_>, depth: usize, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Nil | Value::Array(crate::value::Array { nil: true, .. }) => out.push_str("null"),
        Value::Bool(_) | Value::Int(_) | Value::Byte(_) => out.push_str(&value.to_string()),
        Value::Float(number) if number.is_finite() => {
            out.push_str(&float(*number, -6, 21).replace("e-0", "e-"))
        }
        Value::Duration(nanos) => out.push_str(&nanos.to_string()),
        Value::Month(number) | Value::Weekday(number) => out.push_str(&number.to_string()),
        Value::Time(time) => write_string(&time.rfc3339(), out),
        Value::String(text) => write_string(&String::from_utf8_lossy(text), out),
        Value::Bytes(bytes) => write_string(&STANDARD.encode(bytes), out),
        Value::Array(array) => {
            let items = array.items.iter().map(|item| (None, item));
            write_list(('[', ']'), items, depth, out)?;
        }
        Value::Map(map) if map.of == MapType::StringToAny => {
            let entries = map.entries.iter().map(|(key, value)| (Some(key), value));
            write_list(('{', '}'), entries, depth, out)?;
        }
        other => return Err(Error::new(format!("json: unsupported type: {}", other.type_name()))),
    }
    Ok(())
}

fn write_list<'a, 'v: 'a>(
    (open, close): (char, char),
    items: impl ExactSizeIterator<Item = (Option<&'a Key<'v>>, &'a Value<'v>)>,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    out.push(open);
    let empty = items.len() == 0;
    for (i, (key, value)) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        new_line(depth + 1, out);
        if let Some(key) = key {
            write_string(&key.value().to_string(), out);
            out.push_str(": ");
        }
        write_value(value, depth + 1, out)?;
    }
    if !empty {
        new_line(depth, out);
    }
    out.push(close);
    Ok(())
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
