//! Values as Go prints them.

use std::fmt;

use crate::value::{Key, Value};

/// Go's `%v`, which `string()` and templates use.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("<nil>"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Byte(value) => write!(f, "{value}"),
            Value::Float(value) => f.write_str(&float(*value, -4, 6)),
            Value::String(text) => f.write_str(&String::from_utf8_lossy(text)),
            Value::Bytes(bytes) => list(f, bytes.iter()),
            Value::Array(array) => list(f, array.items.iter()),
            Value::Map(map) => {
                f.write_str("map[")?;
                let mut entries: Vec<_> = map.entries.iter().collect();
                entries.sort_by(|(a, _), (b, _)| print_order(a, b));
                for (i, (key, value)) in entries.into_iter().enumerate() {
                    write!(f, "{}{}:{value}", if i > 0 { " " } else { "" }, key.value())?;
                }
                f.write_str("]")
            }
            Value::Duration(nanos) => f.write_str(&crate::times::duration_text(*nanos)),
            Value::Time(time) => write!(f, "{time}"),
            Value::Location(zone) => f.write_str(&zone.name),
            Value::Month(month) => f.write_str(crate::times::month_name(*month)),
            Value::Weekday(day) => f.write_str(crate::times::weekday_name(*day)),
            Value::Function(_) => f.write_str("func"),
            Value::Environment => f.write_str("map[]"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = impl fmt::Display>) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.enumerate() {
        write!(f, "{}{item}", if i > 0 { " " } else { "" })?;
    }
    f.write_str("]")
}

fn print_order(a: &Key<'_>, b: &Key<'_>) -> std::cmp::Ordering {
    match (a, b) {
        (Key::Float(a), Key::Float(b)) => f64::from_bits(*a).total_cmp(&f64::from_bits(*b)),
        _ => a.cmp(b),
    }
}

/// The shortest digits that parse to this number; with an exponent if it is below `least` or at least `most`.
pub(crate) fn float(value: f64, least: i32, most: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value != 0.0 && (exponent < least || exponent >= most) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{value}")
}
