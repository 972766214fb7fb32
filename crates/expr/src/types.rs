//! Static types.

use std::fmt;
use std::sync::Arc;

use crate::environment::Function;

/// The type of an expression, printed as Go prints it.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// No static type is known.
    Unknown,
    /// Anything, by declaration.
    Any,
    /// CoreDNS's `template` declares variables of unknown type so.
    PointerToAny,
    Nil,
    Bool,
    Int,
    /// The result of some methods of times; the language itself has only `int`.
    Int64,
    /// One octet of a string or of bytes.
    Byte,
    Float,
    String,
    Bytes,
    /// The Go type of the elements, and their static type if it is more precise.
    Array(Elements, Option<Arc<Type>>),
    Map(MapType),
    Duration,
    Time,
    /// A time zone.
    Location,
    /// The time zone behind Go's pointer.
    LocationItself,
    Month,
    Weekday,
    Function(Arc<Function>),
    /// A builtin function that is named but not called.
    Builtin(&'static str),
}

/// The Go type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    Any,
    String,
    Int,
    Float,
}

/// The Go types of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// Literals and JSON.
    StringToAny,
    /// `fromPairs`.
    AnyToAny,
    /// `groupBy`.
    AnyToArray,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Unknown | Type::Nil => "unknown",
            Type::Any => "interface {}",
            Type::PointerToAny => "*interface {}",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Int64 => "int64",
            Type::Byte => "uint8",
            Type::Float => "float64",
            Type::String => "string",
            Type::Bytes => "[]uint8",
            Type::Array(Elements::Any, _) => "[]interface {}",
            Type::Array(Elements::String, _) => "[]string",
            Type::Array(Elements::Int, _) => "[]int",
            Type::Array(Elements::Float, _) => "[]float64",
            Type::Map(MapType::StringToAny) => "map[string]interface {}",
            Type::Map(MapType::AnyToAny) => "map[interface {}]interface {}",
            Type::Map(MapType::AnyToArray) => "map[interface {}][]interface {}",
            Type::Duration => "time.Duration",
            Type::Time => "time.Time",
            Type::Location => "*time.Location",
            Type::LocationItself => "time.Location",
            Type::Month => "time.Month",
            Type::Weekday => "time.Weekday",
            Type::Function(function) => return fmt::Display::fmt(function, f),
            Type::Builtin(name) => crate::builtins::type_text(name),
        })
    }
}

impl Type {
    pub(crate) fn array(element: Type) -> Type {
        Type::Array(Elements::Any, Some(Arc::new(element)))
    }

    /// Whether the value can have any type at run time.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Type::Unknown | Type::Any)
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self, Type::Int | Type::Int64 | Type::Byte)
    }

    pub(crate) fn is_number(&self) -> bool {
        self.is_integer() || *self == Type::Float
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Type::Array(..) | Type::Bytes)
    }

    /// The type behind a pointer; other types stay.
    pub(crate) fn pointee(&self) -> Type {
        match self {
            Type::PointerToAny => Type::Any,
            Type::Location => Type::LocationItself,
            other => other.clone(),
        }
    }

    /// The type of an array's or a map's elements.
    pub(crate) fn element(&self) -> Type {
        match self {
            Type::Bytes => Type::Byte,
            Type::Array(_, Some(element)) => Type::clone(element),
            Type::Array(elements, None) => elements.plain(),
            Type::Map(MapType::AnyToArray) => Type::Array(Elements::Any, None),
            Type::Map(_) => Type::Any,
            _ => Type::Unknown,
        }
    }

    /// The Go type, without the checker's knowledge about elements.
    pub(crate) fn plain(&self) -> Type {
        match self {
            Type::Array(elements, _) => Type::Array(*elements, None),
            other => other.clone(),
        }
    }

    /// Go's assignability.
    pub(crate) fn assignable_to(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Nil, _) => matches!(
                other,
                Type::Any
                    | Type::PointerToAny
                    | Type::Location
                    | Type::Function(_)
                    | Type::Builtin(_)
                    | Type::Map(_)
                    | Type::Array(..)
                    | Type::Bytes
            ),
            (Type::Unknown, _) | (_, Type::Unknown | Type::Nil) => false,
            (_, Type::Any) => true,
            _ => self.plain() == other.plain(),
        }
    }

    pub(crate) fn comparable_to(&self, other: &Type) -> bool {
        let either = |test: fn(&Type) -> bool| test(self) || test(other);
        let both = |test: fn(&Type) -> bool| test(self) && test(other);
        either(Type::is_unknown)
            || either(|ty| *ty == Type::Nil)
            || both(Type::is_number)
            || both(Type::is_array)
            || self.assignable_to(other)
    }

    /// One type is unknown, and the other is unknown too or passes the test.
    pub(crate) fn maybe_with(&self, other: &Type, test: impl Fn(&Type) -> bool) -> bool {
        match (self.is_unknown(), other.is_unknown()) {
            (true, true) => true,
            (true, false) => test(other),
            (false, true) => test(self),
            (false, false) => false,
        }
    }
}

impl Elements {
    pub(crate) fn plain(self) -> Type {
        match self {
            Elements::Any => Type::Any,
            Elements::String => Type::String,
            Elements::Int => Type::Int,
            Elements::Float => Type::Float,
        }
    }
}
