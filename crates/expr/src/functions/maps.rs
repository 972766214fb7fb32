//! Builtin functions on maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::one;
use crate::error::Error;
use crate::machine::Budget;
use crate::types::MapType;
use crate::value::{Key, Map, Value};

type Result<'v> = std::result::Result<Value<'v>, Error>;

fn map<'a, 'v>(what: &str, arguments: &'a [Value<'v>]) -> std::result::Result<&'a Map<'v>, Error> {
    match one(arguments)? {
        Value::Map(map) => Ok(map),
        other => Err(Error::new(format!("cannot {what} {}", other.type_name()))),
    }
}

pub(super) fn keys<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::array(map("get keys from", arguments)?.entries.keys().map(Key::value).collect()))
}

pub(super) fn values<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::array(map("get values from", arguments)?.entries.values().cloned().collect()))
}

pub(super) fn to_pairs<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let map = map("transform to pairs", arguments)?;
    let pair = |(key, value): (&Key<'v>, &Value<'v>)| Value::array(vec![key.value(), value.clone()]);
    Ok(Value::array(map.entries.iter().map(pair).collect()))
}

pub(super) fn from_pairs<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let Value::Array(pairs) = one(arguments)? else {
        return Err(Error::new("cannot transform this from pairs"));
    };
    let mut entries = BTreeMap::new();
    for pair in pairs.items.iter() {
        let (2, Some(key), Some(value)) = (pair.length().unwrap_or_default(), pair.at(0), pair.at(1)) else {
            return Err(Error::new(format!("invalid pair {pair}")));
        };
        if !matches!(pair, Value::Array(_) | Value::Bytes(_)) {
            return Err(Error::new(format!("invalid pair {pair}")));
        }
        entries.insert(Key::of(&key)?, value);
    }
    Ok(Value::Map(Arc::new(Map { entries, map_type: MapType::AnyToAny })))
}
