//! `.Var`: the results of `var` expressions, as template values.

use std::borrow::Cow;

use expr::{Elements, Key, MapType};
use golang::{Data, Value, Width};

/// The variables of a query, sorted by name; None (nil in Go) if the template has no expressions.
#[derive(Default)]
pub(super) struct VariableMap(Option<Vec<(String, Variable)>>);

enum Variable {
    Plain(expr::Value<'static>),
    List(List),
    Map(Map),
}

struct List {
    type_name: &'static str,
    items: Vec<Variable>,
}

struct Map {
    type_name: &'static str,
    entries: Vec<(Key<'static>, Variable)>,
}

impl VariableMap {
    /// The last value of a name counts.
    pub fn new<'a>(named: impl Iterator<Item = (&'a str, &'a expr::Value<'static>)>) -> VariableMap {
        let mut variables: Vec<(String, Variable)> = Vec::new();
        for (name, value) in named {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), Variable::new(value)));
        }
        variables.sort_by(|(a, _), (b, _)| a.cmp(b));
        VariableMap(Some(variables))
    }

    fn all(&self) -> &[(String, Variable)] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Variable {
    fn new(value: &expr::Value<'static>) -> Variable {
        match value {
            expr::Value::Array(array) => Variable::List(List {
                type_name: match array.elements {
                    Elements::Any => "[]interface {}",
                    Elements::String => "[]string",
                    Elements::Int => "[]int",
                    Elements::Float => "[]float64",
                },
                items: array.items.iter().map(Variable::new).collect(),
            }),
            expr::Value::Bytes(bytes) => Variable::List(List {
                type_name: "[]uint8",
                items: bytes.iter().map(|byte| Variable::Plain(expr::Value::Byte(*byte))).collect(),
            }),
            expr::Value::Map(map) => Variable::Map(Map {
                type_name: match map.map_type {
                    MapType::StringToAny => "map[string]interface {}",
                    MapType::AnyToAny => "map[interface {}]interface {}",
                    MapType::AnyToArray => "map[interface {}][]interface {}",
                },
                entries: map.entries.iter().map(|(key, value)| (key.clone(), Variable::new(value))).collect(),
            }),
            other => Variable::Plain(other.clone()),
        }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Variable::List(list) => Value::list(list),
            Variable::Map(map) => Value::Map(map),
            Variable::Plain(plain) => match plain {
                expr::Value::Bool(value) => Value::Bool(*value),
                expr::Value::Int(number) => Value::Int(*number),
                expr::Value::Byte(byte) => Value::Uint((*byte).into(), Width::Bits8),
                expr::Value::Float(number) => Value::Float(*number),
                expr::Value::String(text) => Value::Text(Cow::Borrowed(text)),
                expr::Value::Duration(nanoseconds) => Value::Int(*nanoseconds),
                expr::Value::Month(number) | expr::Value::Weekday(number) => Value::Int((*number).into()),
                _ => Value::Nil,
            },
        }
    }
}

impl Data for VariableMap {
    fn type_name(&self) -> &str {
        "map[string]interface {}"
    }

    fn is_nil(&self) -> bool {
        self.0.is_none()
    }

    fn len(&self) -> usize {
        self.all().len()
    }

    fn item(&self, place: usize) -> Value<'_> {
        self.all().get(place).map_or(Value::Nil, |(_, variable)| variable.value())
    }

    fn key(&self, place: usize) -> Value<'_> {
        self.all().get(place).map_or(Value::Nil, |(name, _)| Value::text(name))
    }

    fn get(&self, key: &[u8]) -> Option<Value<'_>> {
        self.all().iter().find(|(name, _)| name.as_bytes() == key).map(|(_, variable)| variable.value())
    }
}

impl Data for List {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn item(&self, place: usize) -> Value<'_> {
        self.items.get(place).map_or(Value::Nil, Variable::value)
    }
}

impl Data for Map {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn item(&self, place: usize) -> Value<'_> {
        self.entries.get(place).map_or(Value::Nil, |(_, variable)| variable.value())
    }

    fn key(&self, place: usize) -> Value<'_> {
        match self.entries.get(place).map(|(key, _)| key) {
            Some(Key::String(text)) => Value::Text(Cow::Borrowed(text)),
            Some(Key::Int(number)) => Value::Int(*number),
            Some(Key::Bool(value)) => Value::Bool(*value),
            _ => Value::Nil,
        }
    }

    fn get(&self, key: &[u8]) -> Option<Value<'_>> {
        let found =
            self.entries.iter().find(|(known, _)| matches!(known, Key::String(text) if **text == *key));
        found.map(|(_, variable)| variable.value())
    }
}
