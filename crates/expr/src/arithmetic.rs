//! Arithmetic operators.

use std::borrow::Cow;

use crate::compare::{Number, invalid};
use crate::error::Error;
use crate::value::Value;

pub(crate) fn add<'v>(a: Value<'v>, b: Value<'v>) -> Result<Value<'v>, Error> {
    Ok(match (a, b) {
        (Value::String(a), Value::String(b)) => {
            let mut joined = a.into_owned();
            joined.extend_from_slice(&b);
            Value::String(Cow::Owned(joined))
        }
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.wrapping_add(b)),
        (Value::Time(time), Value::Duration(by)) | (Value::Duration(by), Value::Time(time)) => {
            Value::Time(time.plus(by))
        }
        (a, b) => return numbers(a, "+", b, i64::wrapping_add, |a, b| a + b),
    })
}

pub(crate) fn subtract<'v>(a: Value<'v>, b: Value<'v>) -> Result<Value<'v>, Error> {
    Ok(match (a, b) {
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.wrapping_sub(b)),
        (Value::Time(a), Value::Time(b)) => Value::Duration(a.since(&b)),
        (Value::Time(time), Value::Duration(by)) => Value::Time(time.plus(by.wrapping_neg())),
        (a, b) => return numbers(a, "-", b, i64::wrapping_sub, |a, b| a - b),
    })
}

/// A duration times an integer is a duration, times a float it is a float, as in Go.
pub(crate) fn multiply<'v>(a: Value<'v>, b: Value<'v>) -> Result<Value<'v>, Error> {
    Ok(match (&a, &b) {
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.wrapping_mul(*b)),
        (Value::Duration(duration), other) | (other, Value::Duration(duration)) => match Number::of(other) {
            Some(Number::Int(factor)) => Value::Duration(duration.wrapping_mul(factor)),
            Some(Number::Float(factor)) => Value::Float(*duration as f64 * factor),
            None => return Err(invalid(&a, "*", &b)),
        },
        _ => return numbers(a, "*", b, i64::wrapping_mul, |a, b| a * b),
    })
}

pub(crate) fn divide<'v>(a: &Value<'v>, b: &Value<'v>) -> Result<Value<'v>, Error> {
    match (Number::of(a), Number::of(b)) {
        (Some(l), Some(r)) => Ok(Value::Float(l.float() / r.float())),
        _ => Err(invalid(a, "/", b)),
    }
}

pub(crate) fn modulo<'v>(a: &Value<'v>, b: &Value<'v>) -> Result<Value<'v>, Error> {
    match (Number::of(a), Number::of(b)) {
        (Some(Number::Int(_)), Some(Number::Int(0))) => {
            Err(Error::new("runtime error: integer divide by zero"))
        }
        (Some(Number::Int(l)), Some(Number::Int(r))) => Ok(Value::Int(l.wrapping_rem(r))),
        _ => Err(invalid(a, "%", b)),
    }
}

pub(crate) fn power<'v>(a: &Value<'v>, b: &Value<'v>) -> Result<Value<'v>, Error> {
    Ok(Value::Float(to_float(a)?.powf(to_float(b)?)))
}

pub(crate) fn negate(value: &Value<'_>) -> Result<Value<'static>, Error> {
    Ok(match value {
        Value::Int(value) => Value::Int(value.wrapping_neg()),
        Value::Byte(value) => Value::Byte(value.wrapping_neg()),
        Value::Float(value) => Value::Float(-value),
        other => return Err(Error::new(format!("invalid operation: - {}", other.type_name()))),
    })
}

fn numbers<'v>(
    a: Value<'v>,
    operator: &str,
    b: Value<'v>,
    integers: fn(i64, i64) -> i64,
    floats: fn(f64, f64) -> f64,
) -> Result<Value<'v>, Error> {
    match (Number::of(&a), Number::of(&b)) {
        (Some(Number::Int(l)), Some(Number::Int(r))) => Ok(Value::Int(integers(l, r))),
        (Some(l), Some(r)) => Ok(Value::Float(floats(l.float(), r.float()))),
        _ => Err(invalid(&a, operator, &b)),
    }
}

pub(crate) fn to_int(value: &Value<'_>) -> Result<i64, Error> {
    match Number::of(value) {
        Some(Number::Int(value)) => Ok(value),
        Some(Number::Float(value)) => Ok(truncated(value)),
        None => Err(Error::new(format!("invalid operation: int({})", value.type_name()))),
    }
}

pub(crate) fn to_float(value: &Value<'_>) -> Result<f64, Error> {
    Number::of(value)
        .map(Number::float)
        .ok_or_else(|| Error::new(format!("invalid operation: float({})", value.type_name())))
}

/// Converts to an integer; out of range it is the least integer, as on amd64.
pub(crate) fn truncated(value: f64) -> i64 {
    let fits = value >= i64::MIN as f64 && value < i64::MAX as f64;
    if fits { value as i64 } else { i64::MIN }
}
