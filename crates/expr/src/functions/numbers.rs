//! Builtin functions on numbers.

use std::cmp::Ordering;

use super::one;
use crate::arithmetic::{self, to_float};
use crate::compare::{self, Number};
use crate::error::Error;
use crate::machine::Budget;
use crate::value::Value;

type Result<'v> = std::result::Result<Value<'v>, Error>;

fn invalid_argument(name: &str, value: &Value<'_>) -> Error {
    Error::new(format!("invalid argument for {name} (type {})", value.type_name()))
}

pub(super) fn abs<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(match one(arguments)? {
        Value::Int(value) => Value::Int(value.wrapping_abs()),
        Value::Byte(value) => Value::Byte(*value),
        Value::Float(value) => Value::Float(if *value < 0.0 { -value } else { *value }),
        other => return Err(invalid_argument("abs", other)),
    })
}

pub(super) fn round<'v>(arguments: &[Value<'v>], how: fn(f64) -> f64) -> Result<'v> {
    match one(arguments)? {
        Value::Float(value) => Ok(Value::Float(how(*value))),
        other => Ok(Value::Float(to_float(other)?)),
    }
}

pub(super) fn int<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::Int(match one(arguments)? {
        Value::String(text) => {
            let read = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            read.ok_or_else(|| Error::new(format!("invalid operation: int({})", arguments[0])))?
        }
        Value::Month(value) | Value::Weekday(value) => i64::from(*value),
        Value::Duration(value) => *value,
        other => arithmetic::to_int(other)?,
    }))
}

pub(super) fn float<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::Float(match one(arguments)? {
        Value::String(text) => {
            let read = std::str::from_utf8(text).ok().and_then(|text| golang::parse_float(text).ok());
            read.ok_or_else(|| Error::new(format!("invalid operation: float({})", arguments[0])))?
        }
        other => to_float(other)?,
    }))
}

/// The maximum for `Less`, the minimum for `Greater`: replaces the best value while it compares as `order` to another.
pub(super) fn extreme<'v>(arguments: &[Value<'v>], order: Ordering) -> Result<'v> {
    let name = if order == Ordering::Less { "max" } else { "min" };
    let mut best: Option<Value<'v>> = None;
    for argument in arguments {
        match argument {
            Value::Array(_) | Value::Bytes(_) => {
                if let Some(found) = extreme_of(argument, name, order)? {
                    take_better(&mut best, found, order)?;
                }
            }
            _ if Number::of(argument).is_some() => take_better(&mut best, argument.clone(), order)?,
            other if arguments.len() == 1 => return Ok(other.clone()),
            other => return Err(invalid_argument(name, other)),
        }
    }
    Ok(best.unwrap_or(Value::Nil))
}

fn extreme_of<'v>(
    array: &Value<'v>,
    name: &str,
    order: Ordering,
) -> std::result::Result<Option<Value<'v>>, Error> {
    let mut best = None;
    for index in 0..array.length().unwrap_or_default() {
        let Some(item) = array.at(index) else { break };
        let found = match &item {
            Value::Array(_) | Value::Bytes(_) => extreme_of(&item, name, order)?,
            _ if Number::of(&item).is_some() => Some(item),
            other => return Err(invalid_argument(name, other)),
        };
        if let Some(found) = found {
            take_better(&mut best, found, order)?;
        }
    }
    Ok(best)
}

fn take_better<'v>(
    best: &mut Option<Value<'v>>,
    found: Value<'v>,
    order: Ordering,
) -> std::result::Result<(), Error> {
    let better = match &*best {
        Some(best) => compare::order(best, &found, "<")? == Some(order),
        None => true,
    };
    if better {
        *best = Some(found);
    }
    Ok(())
}

fn collect(name: &str, values: &[Value<'_>], out: &mut Vec<f64>) -> std::result::Result<(), Error> {
    for value in values {
        match value {
            Value::Array(array) => collect(name, &array.items, out)?,
            Value::Bytes(bytes) => out.extend(bytes.iter().map(|byte| f64::from(*byte))),
            other => out.push(Number::of(other).ok_or_else(|| invalid_argument(name, other))?.float()),
        }
    }
    Ok(())
}

pub(super) fn mean<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let mut values = Vec::new();
    collect("mean", arguments, &mut values)?;
    let count = values.len().max(1) as f64;
    Ok(Value::Float(values.iter().fold(0.0, |sum, value| sum + value) / count))
}

pub(super) fn median<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    let mut values = Vec::new();
    collect("median", arguments, &mut values)?;
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    Ok(Value::Float(match (values.get(middle), values.len() % 2) {
        (None, _) => 0.0,
        (Some(value), 1) => *value,
        (Some(value), _) => (values[middle - 1] + value) / 2.0,
    }))
}

fn operand(arguments: &[Value<'_>], place: usize) -> std::result::Result<i64, Error> {
    match arguments.get(place).and_then(Number::of) {
        Some(Number::Int(value)) => Ok(value),
        _ => Err(Error::new("cannot use this as argument (type int)")),
    }
}

pub(super) fn bits<'v>(
    arguments: &[Value<'v>],
    compute: fn(i64, i64) -> std::result::Result<i64, Error>,
) -> Result<'v> {
    compute(operand(arguments, 0)?, operand(arguments, 1)?).map(Value::Int)
}

pub(super) fn bit_not<'v>(_: &mut Budget, arguments: &[Value<'v>]) -> Result<'v> {
    Ok(Value::Int(!operand(arguments, 0)?))
}

/// The shift count; larger counts saturate.
fn distance(by: i64) -> std::result::Result<u32, Error> {
    if by < 0 {
        let message = format!("invalid operation: negative shift count {by} (type int)");
        return Err(Error::new(message));
    }
    Ok(u32::try_from(by).unwrap_or(u32::MAX))
}

pub(super) fn shift_left(x: i64, by: i64) -> std::result::Result<i64, Error> {
    Ok(x.checked_shl(distance(by)?).unwrap_or_default())
}

pub(super) fn shift_right(x: i64, by: i64) -> std::result::Result<i64, Error> {
    Ok(x >> distance(by)?.min(63))
}

pub(super) fn shift_right_unsigned(x: i64, by: i64) -> std::result::Result<i64, Error> {
    Ok((x as u64).checked_shr(distance(by)?).unwrap_or_default() as i64)
}
