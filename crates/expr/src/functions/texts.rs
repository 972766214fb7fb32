//! Builtin functions on strings.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};

use super::{one, text};
use crate::arithmetic::to_int;
use crate::error::Error;
use crate::machine::Budget;
use crate::types::Elements;
use crate::value::Value;

type Result<'v> = std::result::Result<Value<'v>, Error>;

/// Limit on the count of `repeat`.
const MAX_REPEAT: i64 = 1_000_000;

/// Requires padding and ignores unused bits, as Go does.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

fn owned<'v>(text: impl Into<Vec<u8>>) -> Value<'v> {
    Value::String(Cow::Owned(text.into()))
}

/// The length of a string is in characters.
pub(super) fn len<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let value = one(arguments)?;
    let length = match value {
        Value::String(text) => {
            text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
        }
        Value::Map(map) => map.entries.len(),
        other => other
            .length()
            .ok_or_else(|| Error::new(format!("invalid argument for len (type {})", value.type_name())))?,
    };
    Ok(Value::Int(length as i64))
}

pub(super) fn string<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(match one(arguments)? {
        Value::String(text) => Value::String(text.clone()),
        other => owned(other.to_string()),
    })
}

/// A part of the first argument, borrowed if possible.
fn part<'v>(arguments: &[Value<'v>], cut: impl Fn(&[u8]) -> (usize, usize)) -> Result<'v> {
    match one(arguments)? {
        Value::String(Cow::Borrowed(text)) => {
            let (from, to) = cut(text);
            Ok(Value::String(Cow::Borrowed(&text[from..to])))
        }
        _ => {
            let text = text(arguments, 0)?;
            let (from, to) = cut(text);
            Ok(owned(&text[from..to]))
        }
    }
}

pub(super) fn trim<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    text(arguments, 0)?;
    let cutset = if arguments.len() > 1 { Some(String::from_utf8_lossy(text(arguments, 1)?)) } else { None };
    let unwanted = |c: char| cutset.as_ref().map_or(c.is_whitespace(), |cutset| cutset.contains(c));
    part(arguments, |text| {
        let Ok(whole) = std::str::from_utf8(text) else { return (0, text.len()) };
        let from = whole.len() - whole.trim_start_matches(unwanted).len();
        let to = whole.trim_end_matches(unwanted).len();
        (from, to.max(from))
    })
}

pub(super) fn trim_prefix<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let prefix = if arguments.len() > 1 { text(arguments, 1)? } else { b" " };
    part(arguments, |text| (if text.starts_with(prefix) { prefix.len() } else { 0 }, text.len()))
}

pub(super) fn trim_suffix<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let suffix = if arguments.len() > 1 { text(arguments, 1)? } else { b" " };
    part(arguments, |text| (0, text.len() - if text.ends_with(suffix) { suffix.len() } else { 0 }))
}

pub(super) fn upper<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let text = text(arguments, 0)?;
    Ok(owned(String::from_utf8_lossy(text).chars().map(one_upper).collect::<String>()))
}

pub(super) fn lower<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let text = text(arguments, 0)?;
    Ok(owned(String::from_utf8_lossy(text).chars().map(one_lower).collect::<String>()))
}

/// Go maps character by character: a character that would become several stays.
fn one_upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

fn one_lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

pub(super) fn split<'v>(arguments: &[Value<'v>], after: bool) -> Result<'v> {
    let (whole, separator) = (text(arguments, 0)?, text(arguments, 1)?);
    let limit = match arguments.get(2) {
        Some(limit) => to_int(limit)?,
        None => -1,
    };
    let parts = parts(whole, separator, limit, after).into_iter().map(owned).collect();
    let mut array = Value::array_of(Elements::String, parts);
    if let Value::Array(array) = &mut array {
        array.nil = limit == 0;
    }
    Ok(array)
}

fn parts<'t>(whole: &'t [u8], separator: &[u8], limit: i64, after: bool) -> Vec<&'t [u8]> {
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if most == 0 {
        return parts;
    }
    let mut rest = whole;
    while parts.len() + 1 < most {
        let (cut, next) = if separator.is_empty() {
            match first_char(rest) {
                length if length < rest.len() => (length, length),
                _ => break,
            }
        } else {
            match position(rest, separator) {
                Some(at) => (if after { at + separator.len() } else { at }, at + separator.len()),
                None => break,
            }
        };
        parts.push(&rest[..cut]);
        rest = &rest[next..];
    }
    if !(separator.is_empty() && whole.is_empty()) {
        parts.push(rest);
    }
    parts
}

/// Length of the first character in octets.
fn first_char(text: &[u8]) -> usize {
    let head = &text[..text.len().min(4)];
    match head.utf8_chunks().next().map(|chunk| chunk.valid().chars().next()) {
        Some(Some(c)) => c.len_utf8(),
        _ => head.len().min(1),
    }
}

pub(super) fn replace<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let (whole, old, new) = (text(arguments, 0)?, text(arguments, 1)?, text(arguments, 2)?);
    let limit = match arguments.get(3) {
        Some(limit) => to_int(limit)?,
        None => -1,
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    let mut rest = whole;
    for done in 0..most {
        if old.is_empty() {
            // An empty pattern matches before the first character and after each.
            if done > 0 {
                if rest.is_empty() {
                    break;
                }
                let length = first_char(rest);
                out.extend_from_slice(&rest[..length]);
                rest = &rest[length..];
            }
        } else {
            let Some(at) = position(rest, old) else { break };
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at + old.len()..];
        }
        out.extend_from_slice(new);
    }
    out.extend_from_slice(rest);
    Ok(owned(out))
}

pub(super) fn repeat<'v>(budget: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let repeated = text(arguments, 0)?;
    let times = to_int(arguments.get(1).unwrap_or(&Value::Nil))?;
    if times < 0 {
        let message = format!("invalid argument for repeat (expected positive integer, got {times})");
        return Err(Error::new(message));
    }
    if times > MAX_REPEAT {
        return Err(Error::new("memory budget exceeded"));
    }
    // Checked before the allocation.
    budget.spend(repeated.len() as u64 * times as u64)?;
    Ok(owned(repeated.repeat(times as usize)))
}

pub(super) fn join<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let glue = if arguments.len() > 1 { text(arguments, 1)? } else { b"" };
    let array = match one(arguments)? {
        Value::Array(array) if matches!(array.elements, Elements::Any | Elements::String) => array,
        other => {
            return Err(Error::new(format!("invalid argument for join (type {})", other.type_name())));
        }
    };
    let mut out = Vec::new();
    for place in 0..array.items.len() {
        if place > 0 {
            out.extend_from_slice(glue);
        }
        out.extend_from_slice(text(&array.items, place)?);
    }
    Ok(owned(out))
}

/// Index of the first occurrence.
pub(crate) fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

pub(super) fn index_of<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let found = position(text(arguments, 0)?, text(arguments, 1)?);
    Ok(Value::Int(found.map_or(-1, |at| at as i64)))
}

pub(super) fn last_index_of<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let (text, part) = (text(arguments, 0)?, text(arguments, 1)?);
    if part.is_empty() {
        return Ok(Value::Int(text.len() as i64));
    }
    let found = text.windows(part.len()).rposition(|window| window == part);
    Ok(Value::Int(found.map_or(-1, |at| at as i64)))
}

pub(super) fn has_prefix<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::Bool(text(arguments, 0)?.starts_with(text(arguments, 1)?)))
}

pub(super) fn has_suffix<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::Bool(text(arguments, 0)?.ends_with(text(arguments, 1)?)))
}

pub(super) fn to_base64<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(owned(STANDARD.encode(text(arguments, 0)?)))
}

pub(super) fn from_base64<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    // Go ignores line ends.
    let encoded: Vec<u8> =
        text(arguments, 0)?.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
    LENIENT.decode(encoded).map(owned).map_err(|_| Error::new("illegal base64 data"))
}

pub(super) fn duration<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let text = String::from_utf8_lossy(text(arguments, 0)?);
    crate::times::parse_duration(&text).map(Value::Duration).map_err(Error::new)
}
