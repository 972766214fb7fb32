//! Equality and ordering of values.

use std::cmp::Ordering;

use crate::error::Error;
use crate::types::Elements;
use crate::value::{Array, Key, Value};

/// A number in Go's arithmetic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub fn of(value: &Value<'_>) -> Option<Number> {
        Some(match value {
            Value::Int(value) => Number::Int(*value),
            Value::Byte(value) => Number::Int(i64::from(*value)),
            Value::Float(value) => Number::Float(*value),
            _ => return None,
        })
    }

    pub fn float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

pub(crate) fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Time(a), Value::Time(b)) => a.instant() == b.instant(),
        (Value::Location(a), Value::Location(b)) => a.name == b.name,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => equal_arrays(a, b),
        (Value::Array(array), Value::Bytes(bytes)) | (Value::Bytes(bytes), Value::Array(array)) => {
            array.elements == Elements::Any
                && array.items.len() == bytes.len()
                && array.items.iter().zip(bytes.iter()).all(|(item, byte)| equal(item, &Value::Byte(*byte)))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.map_type == b.map_type
                && a.entries.len() == b.entries.len()
                && a.entries
                    .iter()
                    .all(|(key, value)| b.entries.get(key).is_some_and(|other| deep_equal(value, other)))
        }
        (Value::Month(a), Value::Month(b)) | (Value::Weekday(a), Value::Weekday(b)) => a == b,
        _ => match (Number::of(a), Number::of(b)) {
            (Some(Number::Int(a)), Some(Number::Int(b))) => a == b,
            (Some(a), Some(b)) => a.float() == b.float(),
            _ => a.is_nil() && b.is_nil(),
        },
    }
}

fn equal_arrays(a: &Array<'_>, b: &Array<'_>) -> bool {
    let comparable = a.elements == b.elements || a.elements == Elements::Any || b.elements == Elements::Any;
    comparable
        && a.items.len() == b.items.len()
        && a.items.iter().zip(b.items.iter()).all(|(a, b)| equal(a, b))
}

/// Equality inside maps, which requires the same Go type.
fn deep_equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            (a.elements, a.nil, a.items.len()) == (b.elements, b.nil, b.items.len())
                && a.items.iter().zip(b.items.iter()).all(|(a, b)| deep_equal(a, b))
        }
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && equal(a, b),
    }
}

/// The order of two values; None for NaN.
pub(crate) fn order(a: &Value<'_>, b: &Value<'_>, operator: &str) -> Result<Option<Ordering>, Error> {
    Ok(match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.instant().cmp(&b.instant())),
        _ => match (Number::of(a), Number::of(b)) {
            (Some(Number::Int(a)), Some(Number::Int(b))) => Some(a.cmp(&b)),
            (Some(a), Some(b)) => a.float().partial_cmp(&b.float()),
            _ => return Err(invalid(a, operator, b)),
        },
    })
}

/// `needle in haystack`
pub(crate) fn contains(needle: &Value<'_>, haystack: &Value<'_>) -> Result<bool, Error> {
    match haystack {
        Value::Nil => Ok(false),
        Value::Array(array) => Ok(array.items.iter().any(|item| equal(item, needle))),
        Value::Bytes(bytes) => Ok(bytes.iter().any(|byte| equal(&Value::Byte(*byte), needle))),
        Value::Map(map) => Ok(map.entries.contains_key(&map.key(needle)?)),
        // Go's times have no exported fields.
        Value::Time(_) if matches!(needle, Value::String(_)) => Ok(false),
        _ => Err(Error::new(format!("operator \"in\" not defined on {}", haystack.type_name()))),
    }
}

pub(crate) fn invalid(a: &Value<'_>, operator: &str, b: &Value<'_>) -> Error {
    Error::new(format!("invalid operation: {} {operator} {}", a.type_name(), b.type_name()))
}

impl<'v> Key<'v> {
    /// The value as a key of a map with keys of any type; arrays and maps are not hashable.
    pub(crate) fn of(value: &Value<'v>) -> Result<Key<'v>, Error> {
        Ok(match value {
            Value::Nil => Key::Nil,
            Value::Bool(value) => Key::Bool(*value),
            Value::Int(value) => Key::Int(*value),
            Value::Byte(value) => Key::Byte(*value),
            Value::Float(value) => Key::Float(if *value == 0.0 { 0 } else { value.to_bits() }),
            Value::String(text) => Key::String(text.clone()),
            Value::Duration(value) => Key::Duration(*value),
            Value::Month(value) => Key::Month(*value),
            Value::Weekday(value) => Key::Weekday(*value),
            other => {
                return Err(Error::new(format!("hash of unhashable type {}", other.type_name())));
            }
        })
    }

    pub(crate) fn value(&self) -> Value<'v> {
        match self {
            Key::Nil => Value::Nil,
            Key::Bool(value) => Value::Bool(*value),
            Key::Int(value) => Value::Int(*value),
            Key::Byte(value) => Value::Byte(*value),
            Key::Float(bits) => Value::Float(f64::from_bits(*bits)),
            Key::String(text) => Value::String(text.clone()),
            Key::Duration(value) => Value::Duration(*value),
            Key::Month(value) => Value::Month(*value),
            Key::Weekday(value) => Value::Weekday(*value),
        }
    }
}
