//! Values with their Go types, for templates and formats.
//!
//! Structs, lists and maps are read through [`Data`], one field at a time, so that unused fields are never computed.

use std::borrow::Cow;

/// A value with its Go type. Go's strings are bytes, so `Text` is.
#[derive(Clone)]
pub enum Value<'a> {
    /// An untyped nil, or the value of a key missing from a map.
    Nil,
    Bool(bool),
    /// `int`
    Int(i64),
    Uint(u64, Width),
    /// `float64`
    Float(f64),
    /// `complex128`
    Complex(f64, f64),
    Text(Cow<'a, [u8]>),
    /// A slice of a list: the items from the first index up to the second.
    List(&'a dyn Data, usize, usize),
    Map(&'a dyn Data),
    Struct(&'a dyn Data),
}

/// The size of an unsigned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Bits8,
    Bits16,
    Bits32,
    Bits64,
}

/// A list, a map or a struct.
pub trait Data {
    /// The Go type: `[]string`, `map[string]string`, `*dns.Msg`.
    fn type_name(&self) -> &str;

    /// Number of items of a list or a map.
    fn len(&self) -> usize {
        0
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is a nil list or map, which `%#v` prints differently from an empty one.
    fn is_nil(&self) -> bool {
        false
    }

    /// An item of a list, or of a map in the order of its keys.
    fn item(&self, _index: usize) -> Value<'_> {
        Value::Nil
    }

    /// A key of a map; keys are sorted.
    fn key(&self, _index: usize) -> Value<'_> {
        Value::Nil
    }

    /// The value of a key of a map.
    fn get(&self, _key: &[u8]) -> Option<Value<'_>> {
        None
    }

    /// A field or a method of a struct.
    fn field(&self, _name: &str) -> Field<'_> {
        Field::Unknown
    }

    /// All fields of a struct, for printing it whole.
    fn fields(&self) -> Vec<(&str, Value<'_>)> {
        Vec::new()
    }

    /// Calls a method returned by [`Data::field`]; number and types of the arguments are checked.
    fn call(&self, _method: &str, _args: &[Value<'_>]) -> Value<'_> {
        Value::Nil
    }

    /// The result of its `String` method, if it has one.
    fn string(&self) -> Option<String> {
        None
    }
}

/// The result of looking up a name in a struct.
pub enum Field<'a> {
    Unknown,
    /// A field that is not exported.
    Unexported,
    Value(Value<'a>),
    /// A method, with its number of parameters, all strings.
    Method(usize),
}

impl<'a> Value<'a> {
    pub fn text(text: &'a str) -> Value<'a> {
        Value::Text(Cow::Borrowed(text.as_bytes()))
    }

    pub fn owned(text: impl Into<String>) -> Value<'a> {
        Value::Text(Cow::Owned(text.into().into_bytes()))
    }

    pub fn list(data: &'a dyn Data) -> Value<'a> {
        Value::List(data, 0, data.len())
    }

    /// The Go type; `None` for nil.
    pub fn type_name(&self) -> Option<&str> {
        Some(match self {
            Value::Nil => return None,
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_, Width::Bits8) => "uint8",
            Value::Uint(_, Width::Bits16) => "uint16",
            Value::Uint(_, Width::Bits32) => "uint32",
            Value::Uint(_, Width::Bits64) => "uint64",
            Value::Float(_) => "float64",
            Value::Complex(..) => "complex128",
            Value::Text(_) => "string",
            Value::List(data, ..) | Value::Map(data) | Value::Struct(data) => data.type_name(),
        })
    }

    /// Whether `if` treats the value as true.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Int(number) => *number != 0,
            Value::Uint(number, _) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(_, from, to) => to > from,
            Value::Map(data) => !data.is_empty(),
            Value::Struct(_) => true,
        }
    }
}
