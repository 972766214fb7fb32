//! Durations.

use golang::GoDuration;

use crate::environment::Function;
use crate::error::Error;
use crate::types::Type;
use crate::value::Value;

pub(super) fn method(name: &str) -> Option<Function> {
    Some(match name {
        "Hours" | "Minutes" | "Seconds" => Function::new([], Type::Float),
        "Milliseconds" | "Microseconds" | "Nanoseconds" => Function::new([], Type::Int64),
        "String" => Function::new([], Type::String),
        "Abs" => Function::new([], Type::Duration),
        "Round" | "Truncate" => Function::new([Type::Duration], Type::Duration),
        _ => return None,
    })
}

pub(super) fn call<'v>(nanos: i64, name: &str, arguments: &[Value<'v>]) -> Result<Value<'v>, Error> {
    let split = |unit: i64| (nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64;
    Ok(match (name, arguments) {
        ("Hours", _) => Value::Float(split(3_600_000_000_000)),
        ("Minutes", _) => Value::Float(split(60_000_000_000)),
        ("Seconds", _) => Value::Float(split(1_000_000_000)),
        ("Milliseconds", _) => Value::Int(nanos / 1_000_000),
        ("Microseconds", _) => Value::Int(nanos / 1_000),
        ("Nanoseconds", _) => Value::Int(nanos),
        ("String", _) => Value::text(duration_text(nanos)),
        ("Abs", _) => Value::Duration(nanos.saturating_abs()),
        ("Truncate", [Value::Duration(unit)]) => {
            Value::Duration(if *unit <= 0 { nanos } else { nanos - nanos % unit })
        }
        ("Round", [Value::Duration(unit)]) => Value::Duration(round(nanos, *unit)),
        _ => return Err(Error::new(format!("cannot call {name}"))),
    })
}

/// Rounds to the nearest multiple, halves away from zero.
fn round(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 {
        return nanos;
    }
    let rest = nanos % unit;
    let down = nanos - rest;
    let far = u128::from(rest.unsigned_abs()) * 2 >= unit as u128;
    match (far, nanos < 0) {
        (false, _) => down,
        (true, false) => down.checked_add(unit).unwrap_or(i64::MAX),
        (true, true) => down.checked_sub(unit).unwrap_or(i64::MIN),
    }
}

/// `1h0m0s`
pub(crate) fn duration_text(nanos: i64) -> String {
    let size = std::time::Duration::from_nanos(nanos.unsigned_abs());
    GoDuration { negative: nanos < 0, size }.to_string()
}

pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let duration = GoDuration::parse(text)?;
    let nanos = i64::try_from(duration.size.as_nanos()).unwrap_or(i64::MAX);
    Ok(if duration.negative { -nanos } else { nanos })
}
