//! Members, indices, slices.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Machine, Outcome};
use crate::arithmetic::to_int;
use crate::code::CodeIndex;
use crate::error::Error;
use crate::types::{Elements, MapType, Type};
use crate::value::{Array, Value};

impl<'v> Machine<'v> {
    pub(super) fn fetch(&self, from: &Value<'v>, property: &Value<'v>) -> Result<Value<'v>, Error> {
        if let Value::Map(map) = from {
            let key = map.key(property)?;
            return Ok(map.entries.get(&key).cloned().unwrap_or_else(|| zero_value(map.map_type)));
        }
        if let Value::Environment = from {
            return self.environment_member(property);
        }
        let Some(length) = from.length() else {
            return Err(Error::new(format!("cannot fetch {property} from {}", from.type_name())));
        };
        let index = to_int(property)?;
        let position = if index < 0 { index.wrapping_add(length as i64) } else { index };
        usize::try_from(position)
            .ok()
            .and_then(|index| from.at(index))
            .ok_or_else(|| Error::new(format!("index out of range: {position} (array length is {length})")))
    }

    fn environment_member(&self, name: &Value<'v>) -> Result<Value<'v>, Error> {
        let found = match name {
            Value::String(_) => name.as_str().and_then(|name| self.environment.find(name)),
            Value::Nil => None,
            other => return Err(Error::new(format!("cannot fetch {other} from map[string]interface {{}}"))),
        };
        Ok(match found {
            Some((index, Type::Function(_))) => Value::Function(index),
            Some((index, _)) => self.variables.variable(index),
            None => Value::Nil,
        })
    }

    pub(super) fn slice(
        &mut self,
        base: CodeIndex,
        from: Option<CodeIndex>,
        to: Option<CodeIndex>,
    ) -> Outcome<'v> {
        let base = self.evaluate(base)?;
        let length = match &base {
            Value::Map(map) if to.is_none() => map.entries.len() as i64,
            other => match other.length() {
                Some(length) => length as i64,
                None if to.is_none() => {
                    let message = format!("invalid argument for len (type {})", base.type_name());
                    return Err(Error::new(message).into());
                }
                None => 0,
            },
        };
        let to = match to {
            Some(to) => to_int(&self.evaluate(to)?),
            None => Ok(length),
        };
        let from = match from {
            Some(from) => to_int(&self.evaluate(from)?),
            None => Ok(0),
        };
        if matches!(base, Value::Map(_)) || base.length().is_none() {
            return Err(Error::new("cannot slice this").into());
        }
        let bound = |bound: i64| {
            let bound = if bound < 0 { bound.wrapping_add(length) } else { bound };
            bound.clamp(0, length) as usize
        };
        let (from, to) = (bound(from?), bound(to?));
        let from = from.min(to);
        Ok(match base {
            Value::String(Cow::Borrowed(text)) => Value::String(Cow::Borrowed(&text[from..to])),
            Value::String(Cow::Owned(text)) => Value::String(Cow::Owned(text[from..to].to_vec())),
            Value::Bytes(Cow::Borrowed(bytes)) => Value::Bytes(Cow::Borrowed(&bytes[from..to])),
            Value::Bytes(Cow::Owned(bytes)) => Value::Bytes(Cow::Owned(bytes[from..to].to_vec())),
            Value::Array(array) => Value::Array(Array {
                items: Arc::new(array.items[from..to].to_vec()),
                elements: array.elements,
                nil: array.nil,
            }),
            other => other,
        })
    }
}

/// Go's zero value for a missing key.
fn zero_value<'v>(ty: MapType) -> Value<'v> {
    match ty {
        MapType::AnyToArray => {
            Value::Array(Array { items: Arc::new(Vec::new()), elements: Elements::Any, nil: true })
        }
        _ => Value::Nil,
    }
}
