//! Builtin functions on arrays.

use std::sync::Arc;

use super::{one, sorted};
use crate::arithmetic::to_int;
use crate::compare;
use crate::error::Error;
use crate::machine::Budget;
use crate::types::{Elements, MapType};
use crate::value::{Array, Value};

type Result<'v> = std::result::Result<Value<'v>, Error>;

/// Nesting limit of `flatten`.
const MAX_DEPTH: usize = 128;

/// The elements of an array.
fn items<'v>(what: &str, value: &Value<'v>) -> std::result::Result<Vec<Value<'v>>, Error> {
    match value {
        Value::Array(array) => Ok(array.items.to_vec()),
        Value::Bytes(bytes) => Ok(bytes.iter().copied().map(Value::Byte).collect()),
        other => Err(Error::new(format!("cannot {what} {}", other.type_name()))),
    }
}

pub(super) fn first<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(one(arguments)?.at(0).unwrap_or(Value::Nil))
}

pub(super) fn last<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let value = one(arguments)?;
    let last = value.length().and_then(|length| length.checked_sub(1));
    Ok(last.and_then(|last| value.at(last)).unwrap_or(Value::Nil))
}

/// An element, or nil.
pub(super) fn get<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let [base, property] = arguments else { return Ok(Value::Nil) };
    if let Value::Map(map) = base {
        let nothing = match map.map_type {
            MapType::StringToAny | MapType::AnyToAny | MapType::AnyToArray => Value::Nil,
        };
        return Ok(map.entries.get(&map.key(property)?).cloned().unwrap_or(nothing));
    }
    let Some(length) = base.length() else { return Ok(Value::Nil) };
    let index = to_int(property)?;
    let index = if index < 0 { index.wrapping_add(length as i64) } else { index };
    Ok(usize::try_from(index).ok().and_then(|index| base.at(index)).unwrap_or(Value::Nil))
}

pub(super) fn take<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let (array, Some(Value::Int(count))) = (one(arguments)?, arguments.get(1)) else {
        return Err(Error::new("cannot take this many elements"));
    };
    let mut kept = items("take from", array)?;
    let count =
        usize::try_from(*count).map_err(|_| Error::new("reflect.Value.Slice: slice index out of bounds"))?;
    kept.truncate(count);
    Ok(match array {
        Value::Array(array) => Value::array_of(array.elements, kept),
        Value::Bytes(bytes) => Value::Bytes(bytes[..kept.len()].to_vec().into()),
        _ => Value::array(kept),
    })
}

pub(super) fn reverse<'v>(budget: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let mut items = items("reverse", one(arguments)?)?;
    items.reverse();
    budget.spend(items.len() as u64)?;
    Ok(Value::array(items))
}

pub(super) fn uniq<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let mut kept: Vec<Value<'v>> = Vec::new();
    for item in items("uniq", one(arguments)?)? {
        if !kept.iter().any(|other| compare::equal(&item, other)) {
            kept.push(item);
        }
    }
    Ok(Value::array(kept))
}

pub(super) fn concat<'v>(budget: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let mut joined = Vec::new();
    for argument in arguments {
        joined.extend(items("concat", argument)?);
    }
    budget.spend(joined.len() as u64)?;
    let nil = joined.is_empty();
    Ok(Value::Array(Array { items: Arc::new(joined), elements: Elements::Any, nil }))
}

pub(super) fn flatten<'v>(budget: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let mut flat = Vec::new();
    flatten_into(one(arguments)?, 0, &mut flat)?;
    budget.spend(flat.len() as u64)?;
    Ok(Value::array(flat))
}

fn flatten_into<'v>(
    value: &Value<'v>,
    depth: usize,
    flat: &mut Vec<Value<'v>>,
) -> std::result::Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::new("recursion depth exceeded"));
    }
    for item in items("flatten", value)? {
        match item {
            Value::Array(_) | Value::Bytes(_) => flatten_into(&item, depth + 1, flat)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

pub(super) fn sort<'v>(budget: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let items = match one(arguments)? {
        Value::Array(array) => array.items.to_vec(),
        _ => Vec::new(),
    };
    let descending = match arguments.get(1) {
        None => false,
        Some(order) => match order.as_str() {
            Some("asc") => false,
            Some("desc") => true,
            _ => return Err(Error::new(format!("invalid order {order}, expected asc or desc"))),
        },
    };
    let nil = !matches!(arguments.first(), Some(Value::Array(_)));
    let items = sorted(items, |item| item, descending)?;
    budget.spend(items.len() as u64)?;
    Ok(Value::Array(Array { items: Arc::new(items), elements: Elements::Any, nil }))
}
