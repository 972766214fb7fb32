//! Values of expressions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use crate::times::{Time, Zone};
use crate::types::{Elements, MapType};

/// A value. Strings are octets, as in Go: a slice may split a character.
#[derive(Clone, Debug)]
pub enum Value<'v> {
    Nil,
    Bool(bool),
    Int(i64),
    Byte(u8),
    Float(f64),
    String(Cow<'v, [u8]>),
    Bytes(Cow<'v, [u8]>),
    Array(Array<'v>),
    Map(Arc<Map<'v>>),
    /// Nanoseconds.
    Duration(i64),
    Time(Time),
    /// A time zone.
    Location(Arc<Zone>),
    /// 1 is January.
    Month(u8),
    /// 0 is Sunday.
    Weekday(u8),
    /// A function of the environment, by its index.
    Function(usize),
    /// `$env`: all variables and functions by name.
    Environment,
}

/// A shared array, because values are cloned often.
#[derive(Clone, Debug)]
pub struct Array<'v> {
    pub items: Arc<Vec<Value<'v>>>,
    pub elements: Elements,
    /// Go's nil slice: empty, and nil for `??`.
    pub nil: bool,
}

#[derive(Clone, Debug)]
pub struct Map<'v> {
    pub entries: BTreeMap<Key<'v>, Value<'v>>,
    pub map_type: MapType,
}

/// A value that can be a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'v> {
    Nil,
    Int(i64),
    Byte(u8),
    /// The bits of the float.
    Float(u64),
    String(Cow<'v, [u8]>),
    Bool(bool),
    Duration(i64),
    Month(u8),
    Weekday(u8),
}

impl<'v> Value<'v> {
    pub fn text(text: impl Into<Cow<'v, str>>) -> Value<'v> {
        Value::String(match text.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        })
    }

    pub fn array(items: Vec<Value<'v>>) -> Value<'v> {
        Value::array_of(Elements::Any, items)
    }

    pub(crate) fn array_of(elements: Elements, items: Vec<Value<'v>>) -> Value<'v> {
        Value::Array(Array { items: Arc::new(items), elements, nil: false })
    }
}

impl Value<'_> {
    /// The text of a string, if it is valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }
}

impl<'v> Value<'v> {
    /// Nil, or Go's nil slice.
    pub(crate) fn is_nil(&self) -> bool {
        matches!(self, Value::Nil | Value::Array(Array { nil: true, .. }))
    }

    /// Number of elements or octets; None if it cannot be indexed.
    pub(crate) fn length(&self) -> Option<usize> {
        Some(match self {
            Value::String(text) | Value::Bytes(text) => text.len(),
            Value::Array(array) => array.items.len(),
            _ => return None,
        })
    }

    /// The element or octet at an index.
    pub(crate) fn at(&self, index: usize) -> Option<Value<'v>> {
        match self {
            Value::String(text) | Value::Bytes(text) => text.get(index).map(|octet| Value::Byte(*octet)),
            Value::Array(array) => array.items.get(index).cloned(),
            _ => None,
        }
    }

    /// The Go type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Nil => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Byte(_) => "uint8",
            Value::Float(_) => "float64",
            Value::String(_) => "string",
            Value::Bytes(_) => "[]uint8",
            Value::Array(array) => match array.elements {
                Elements::Any => "[]interface {}",
                Elements::String => "[]string",
                Elements::Int => "[]int",
                Elements::Float => "[]float64",
            },
            Value::Map(map) => match map.map_type {
                MapType::StringToAny => "map[string]interface {}",
                MapType::AnyToAny => "map[interface {}]interface {}",
                MapType::AnyToArray => "map[interface {}][]interface {}",
            },
            Value::Duration(_) => "time.Duration",
            Value::Time(_) => "time.Time",
            Value::Location(_) => "*time.Location",
            Value::Month(_) => "time.Month",
            Value::Weekday(_) => "time.Weekday",
            Value::Function(_) => "func",
            Value::Environment => "map[string]interface {}",
        }
    }
}

impl<'v> Map<'v> {
    /// The value as a key of this map; nil becomes Go's zero key.
    pub(crate) fn key(&self, value: &Value<'v>) -> Result<Key<'v>, Error> {
        match (self.map_type, value) {
            (MapType::StringToAny, Value::String(text)) => Ok(Key::String(text.clone())),
            (MapType::StringToAny, Value::Nil) => Ok(Key::String(Cow::Borrowed(b""))),
            (MapType::StringToAny, other) => Err(Error::new(format!(
                "reflect.Value.MapIndex: value of type {} is not assignable to type string",
                other.type_name()
            ))),
            (_, value) => Key::of(value),
        }
    }
}
