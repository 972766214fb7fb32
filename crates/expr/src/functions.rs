//! Implementations of the builtin functions.

mod arrays;
mod maps;
mod numbers;
mod texts;

use crate::compare;
use crate::error::Error;
use crate::machine::Budget;
use crate::value::Value;

pub(crate) use texts::position;

/// An implementation. The checker has verified the number of arguments, but not every type.
pub(crate) type Implementation = for<'v> fn(&mut Budget, &[Value<'v>]) -> Result<Value<'v>, Error>;

pub(crate) fn find(name: &str) -> Option<Implementation> {
    let function: Implementation = match name {
        "len" => texts::len,
        "string" => texts::string,
        "trim" => texts::trim,
        "trimPrefix" => texts::trim_prefix,
        "trimSuffix" => texts::trim_suffix,
        "upper" => texts::upper,
        "lower" => texts::lower,
        "split" => |_, arguments| texts::split(arguments, false),
        "splitAfter" => |_, arguments| texts::split(arguments, true),
        "replace" => texts::replace,
        "repeat" => texts::repeat,
        "join" => texts::join,
        "indexOf" => texts::index_of,
        "lastIndexOf" => texts::last_index_of,
        "hasPrefix" => texts::has_prefix,
        "hasSuffix" => texts::has_suffix,
        "toBase64" => texts::to_base64,
        "fromBase64" => texts::from_base64,
        "duration" => texts::duration,
        "toJSON" => |_, arguments| crate::json::write(one(arguments)?),
        "fromJSON" => |_, arguments| crate::json::read(text(arguments, 0)?),
        "now" => |_, arguments| crate::times::now(arguments),
        "date" => |_, arguments| crate::times::date(arguments),
        "abs" => numbers::abs,
        "ceil" => |_, arguments| numbers::round(arguments, f64::ceil),
        "floor" => |_, arguments| numbers::round(arguments, f64::floor),
        "round" => |_, arguments| numbers::round(arguments, f64::round),
        "int" => numbers::int,
        "float" => numbers::float,
        "max" => |_, arguments| numbers::extreme(arguments, std::cmp::Ordering::Less),
        "min" => |_, arguments| numbers::extreme(arguments, std::cmp::Ordering::Greater),
        "mean" => numbers::mean,
        "median" => numbers::median,
        "bitand" => |_, arguments| numbers::bits(arguments, |x, y| Ok(x & y)),
        "bitor" => |_, arguments| numbers::bits(arguments, |x, y| Ok(x | y)),
        "bitxor" => |_, arguments| numbers::bits(arguments, |x, y| Ok(x ^ y)),
        "bitnand" => |_, arguments| numbers::bits(arguments, |x, y| Ok(x & !y)),
        "bitshl" => |_, arguments| numbers::bits(arguments, numbers::shift_left),
        "bitshr" => |_, arguments| numbers::bits(arguments, numbers::shift_right),
        "bitushr" => |_, arguments| numbers::bits(arguments, numbers::shift_right_unsigned),
        "bitnot" => numbers::bit_not,
        "first" => arrays::first,
        "last" => arrays::last,
        "get" => arrays::get,
        "take" => arrays::take,
        "reverse" => arrays::reverse,
        "uniq" => arrays::uniq,
        "concat" => arrays::concat,
        "flatten" => arrays::flatten,
        "sort" => arrays::sort,
        "keys" => maps::keys,
        "values" => maps::values,
        "toPairs" => maps::to_pairs,
        "fromPairs" => maps::from_pairs,
        _ => return None,
    };
    Some(function)
}

/// An unknown time zone is a run-time error.
pub(crate) fn unknown_zone<'v>(_: &mut Budget, _: &[Value<'v>]) -> Result<Value<'v>, Error> {
    Err(Error::new("unknown time zone"))
}

fn one<'a, 'v>(arguments: &'a [Value<'v>]) -> Result<&'a Value<'v>, Error> {
    arguments.first().ok_or_else(|| Error::new("invalid number of arguments (expected 1, got 0)"))
}

/// An argument that must be a string.
fn text<'a>(arguments: &'a [Value<'_>], place: usize) -> Result<&'a [u8], Error> {
    match arguments.get(place) {
        Some(Value::String(text)) => Ok(text),
        other => {
            let ty = other.map_or("nil", Value::type_name);
            Err(Error::new(format!("interface conversion: interface {{}} is {ty}, not string")))
        }
    }
}

/// Sorts by a value of each item; fails on values that cannot be compared.
pub(crate) fn sorted<'v, T>(
    mut items: Vec<T>,
    by: impl Fn(&T) -> &Value<'v>,
    descending: bool,
) -> Result<Vec<T>, Error> {
    let mut failed = None;
    items.sort_by(|a, b| {
        let (a, b) = if descending { (by(b), by(a)) } else { (by(a), by(b)) };
        match compare::order(a, b, "<") {
            Ok(order) => order.unwrap_or(std::cmp::Ordering::Equal),
            Err(error) => {
                failed.get_or_insert(error);
                std::cmp::Ordering::Equal
            }
        }
    });
    failed.map_or(Ok(items), Err)
}
