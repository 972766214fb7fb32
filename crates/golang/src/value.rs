//! Values as Go's reflection sees them, as far as templates and formats meet any.
//!
//! Structs, lists and maps are read through [`Data`], one field at a time: what nobody reads is never made.

use std::borrow::Cow;

/// A value with its Go type. Go's strings are bytes, so `Text` is.
#[derive(Clone)]
pub enum Value<'a> {
    /// No value at all: an untyped nil, a key that a map does not have.
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
    /// A part of a list: from the first number up to the second.
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
    /// As Go prints the type: `[]string`, `map[string]string`, `*dns.Msg`.
    fn type_name(&self) -> &str;

    /// How many items a list or a map has.
    fn len(&self) -> usize {
        0
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is Go's nil of its type: empty, and printed as such by `%#v`.
    fn is_nil(&self) -> bool {
        false
    }

    /// The item of a list, or of a map in the order of its keys.
    fn item(&self, _place: usize) -> Value<'_> {
        Value::Nil
    }

    /// The keys of a map, sorted.
    fn key(&self, _place: usize) -> Value<'_> {
        Value::Nil
    }

    /// A map's value.
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

    /// Calls a method that [`Data::field`] has told of; the arguments have the types it asks for.
    fn call(&self, _method: &str, _args: &[Value<'_>]) -> Value<'_> {
        Value::Nil
    }

    /// What its `String` method says, if it has one.
    fn string(&self) -> Option<String> {
        None
    }
}

/// What a struct has under a name.
pub enum Field<'a> {
    Unknown,
    /// There is one, but not for others.
    Hidden,
    Value(Value<'a>),
    /// A method that takes so many strings.
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

    /// As Go prints it; None for a nil, which has none.
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

    /// What `if` makes of it.
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
