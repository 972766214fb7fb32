//! What expressions compute with.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use crate::times::{Time, Zone};
use crate::types::{Elements, MapType};

/// A value. Texts are octets, as in Go: a slice may cut a character in two.
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
    /// All variables and functions, by their names: `$env`.
    Environment,
}

/// An array; shared, since values are copied often.
#[derive(Clone, Debug)]
pub struct Array<'v> {
    pub items: Arc<Vec<Value<'v>>>,
    pub elements: Elements,
    /// Go's `nil` of an array type: empty, and `??` takes it for nothing.
    pub nil: bool,
}

#[derive(Clone, Debug)]
pub struct Map<'v> {
    pub entries: BTreeMap<Key<'v>, Value<'v>>,
    pub of: MapType,
}

/// A value that can be a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'v> {
    Nil,
    Int(i64),
    Byte(u8),
    /// In the order of numbers, by their bits.
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
    /// The text of a string, unless it was cut inside a character.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }
}

impl<'v> Value<'v> {
    /// Nothing, or Go's nothing of an array type.
    pub(crate) fn is_nil(&self) -> bool {
        matches!(self, Value::Nil | Value::Array(Array { nil: true, .. }))
    }

    /// How many elements or octets it has; None if it is nothing that can be indexed.
    pub(crate) fn length(&self) -> Option<usize> {
        Some(match self {
            Value::String(text) | Value::Bytes(text) => text.len(),
            Value::Array(array) => array.items.len(),
            _ => return None,
        })
    }

    /// The element or octet at a place.
    pub(crate) fn at(&self, index: usize) -> Option<Value<'v>> {
        match self {
            Value::String(text) | Value::Bytes(text) => text.get(index).map(|octet| Value::Byte(*octet)),
            Value::Array(array) => array.items.get(index).cloned(),
            _ => None,
        }
    }

    /// Its Go type.
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
            Value::Map(map) => match map.of {
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
    /// A value as a key of this map; nothing stands for Go's zero key.
    pub(crate) fn key(&self, value: &Value<'v>) -> Result<Key<'v>, Error> {
        match (self.of, value) {
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
