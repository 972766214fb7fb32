//! JSON as Go reads and writes it.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::display::float;
use crate::error::Error;
use crate::types::MapType;
use crate::value::{Key, Map, Value};

/// Parses one JSON value of at most 127 levels; Go's limit is higher.
pub(crate) fn read<'v>(text: &[u8]) -> Result<Value<'v>, Error> {
    let text = replace_lone_surrogates(&String::from_utf8_lossy(text));
    serde_json::from_str(&text).map(value).map_err(|error| Error::new(format!("invalid JSON: {error}")))
}

fn value<'v>(json: serde_json::Value) -> Value<'v> {
    match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(bool) => Value::Bool(bool),
        serde_json::Value::Number(number) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(text) => Value::text(text),
        serde_json::Value::Array(items) => Value::array(items.into_iter().map(value).collect()),
        serde_json::Value::Object(fields) => {
            let entry = |(key, field): (String, _)| (Key::String(Cow::Owned(key.into_bytes())), value(field));
            let entries = fields.into_iter().map(entry).collect();
            Value::Map(Arc::new(Map { entries, map_type: MapType::StringToAny }))
        }
    }
}

/// Go reads the escape of a lone surrogate as U+FFFD; serde_json rejects it.
fn replace_lone_surrogates(json: &str) -> String {
    let unit = |escape: &str| u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        out.push_str(&rest[..at]);
        let (length, lone) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => (12, false),
            (Some(0xD800..0xE000), _) => (6, true),
            _ => (1 + escape[1..].chars().next().map_or(0, char::len_utf8), false),
        };
        out.push_str(if lone { "\\ufffd" } else { &escape[..length] });
        rest = &escape[length..];
    }
    out + rest
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
        Value::Map(map) if map.map_type == MapType::StringToAny => {
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

/// As serde_json writes it, but escapes `<`, `>`, `&`, U+2028 and U+2029, as Go does.
fn write_string(text: &str, out: &mut String) {
    for c in serde_json::Value::from(text).to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}
