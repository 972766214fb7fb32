//! Times, durations and time zones, and their methods.

mod civil;
mod duration;
mod layout;
mod zone;

use std::sync::Arc;
use std::time::SystemTime;

pub(crate) use duration::{duration_text, parse_duration};
pub use zone::Zone;

use crate::environment::Function;
use crate::error::Error;
use crate::types::Type;
use crate::value::Value;
use zone::Period;

const SECOND: i64 = 1_000_000_000;

/// Go's zero time.
const YEAR_ONE: i64 = -62_135_596_800;

/// Layouts that `date` tries when none is given.
const LAYOUTS: [&str; 7] = [
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "2006-01-02T15:04:05Z07:00",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
];

/// An instant in a time zone.
#[derive(Clone, Debug)]
pub struct Time {
    /// Seconds since 1970.
    unix: i64,
    nanos: u32,
    zone: Arc<Zone>,
}

/// Date and time of day in the time's zone.
struct DateTime {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    weekday: i64,
    hour: i64,
    minute: i64,
    second: i64,
    period: Period,
}

impl Time {
    pub(crate) fn now(zone: Arc<Zone>) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time { unix: since.as_secs() as i64, nanos: since.subsec_nanos(), zone }
    }

    pub(crate) fn instant(&self) -> (i64, u32) {
        (self.unix, self.nanos)
    }

    pub(crate) fn plus(&self, nanos: i64) -> Time {
        let sum = i64::from(self.nanos) + nanos.rem_euclid(SECOND);
        Time {
            unix: self.unix.saturating_add(nanos.div_euclid(SECOND) + sum / SECOND),
            nanos: (sum % SECOND) as u32,
            zone: self.zone.clone(),
        }
    }

    /// The difference, saturating.
    pub(crate) fn since(&self, other: &Time) -> i64 {
        let nanos = i128::from(self.unix - other.unix) * i128::from(SECOND) + i128::from(self.nanos)
            - i128::from(other.nanos);
        nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    fn date_time(&self) -> DateTime {
        let period = self.zone.at(self.unix);
        let local = self.unix + period.offset;
        let (days, second) = (local.div_euclid(civil::DAY), local.rem_euclid(civil::DAY));
        let (year, month, day) = civil::date(days);
        DateTime {
            year,
            month,
            day,
            day_of_year: days - civil::days(year, 1, 1) + 1,
            weekday: civil::weekday(days),
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            period,
        }
    }

    /// The format of JSON.
    pub(crate) fn rfc3339(&self) -> String {
        layout::format(self, "2006-01-02T15:04:05.999999999Z07:00")
    }

    fn within(&self, zone: Arc<Zone>) -> Time {
        Time { zone, ..self.clone() }
    }

    /// Adds years, months and days; the time of day stays.
    fn add_date(&self, years: i64, months: i64, days: i64) -> Time {
        let fields = self.date_time();
        let date = civil::days(fields.year + years, fields.month + months, fields.day) + days;
        let clock = fields.hour * 3600 + fields.minute * 60 + fields.second;
        Time { unix: self.zone.unix(date * civil::DAY + clock), ..self.clone() }
    }

    /// Remainder of the time since year one, divided by `unit`.
    fn remainder(&self, unit: i64) -> i64 {
        let nanos = i128::from(self.unix - YEAR_ONE) * i128::from(SECOND) + i128::from(self.nanos);
        nanos.rem_euclid(i128::from(unit)) as i64
    }
}

/// The format of Go's `Time.String`.
impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&layout::format(self, "2006-01-02 15:04:05.999999999 -0700 MST"))
    }
}

/// Methods of Go's times that Rhumb does not have.
const UNSUPPORTED_METHODS: [&str; 13] = [
    "AppendBinary",
    "AppendFormat",
    "AppendText",
    "Clock",
    "Date",
    "GoString",
    "GobEncode",
    "ISOWeek",
    "IsDST",
    "MarshalBinary",
    "MarshalJSON",
    "MarshalText",
    "ZoneBounds",
];

/// The method of this name, if the type has it; an error if only Go's type has it.
pub(crate) fn method(ty: &Type, name: &str) -> Result<Option<Arc<Function>>, String> {
    let function = match (ty, name) {
        (Type::Duration, _) => duration::method(name),
        (Type::Month | Type::Weekday | Type::Location, "String") => Some(Function::new([], Type::String)),
        (Type::Time, name) if UNSUPPORTED_METHODS.contains(&name) || name == "Zone" => {
            return Err(format!("method {name} of time.Time is not part of Rhumb"));
        }
        (Type::Time, _) => time_method(name),
        _ => None,
    };
    Ok(function.map(|function| Arc::new(function.with_receiver(ty))))
}

fn time_method(name: &str) -> Option<Function> {
    Some(match name {
        "Year" | "Day" | "Hour" | "Minute" | "Second" | "Nanosecond" | "YearDay" => {
            Function::new([], Type::Int)
        }
        "Unix" | "UnixMilli" | "UnixMicro" | "UnixNano" => Function::new([], Type::Int64),
        "Month" => Function::new([], Type::Month),
        "Weekday" => Function::new([], Type::Weekday),
        "String" => Function::new([], Type::String),
        "Format" => Function::new([Type::String], Type::String),
        "Add" | "Truncate" | "Round" => Function::new([Type::Duration], Type::Time),
        "AddDate" => Function::new([Type::Int, Type::Int, Type::Int], Type::Time),
        "Sub" => Function::new([Type::Time], Type::Duration),
        "Before" | "After" | "Equal" => Function::new([Type::Time], Type::Bool),
        "Compare" => Function::new([Type::Time], Type::Int),
        "IsZero" => Function::new([], Type::Bool),
        "UTC" | "Local" => Function::new([], Type::Time),
        "In" => Function::new([Type::Location], Type::Time),
        "Location" => Function::new([], Type::Location),
        _ => return None,
    })
}

/// Calls a method; None if the type has no methods.
pub(crate) fn call<'v>(
    base: &Value<'v>,
    name: &str,
    arguments: &[Value<'v>],
) -> Option<Result<Value<'v>, Error>> {
    let ty = match base {
        Value::Duration(_) => Type::Duration,
        Value::Time(_) => Type::Time,
        Value::Month(_) => Type::Month,
        Value::Weekday(_) => Type::Weekday,
        Value::Location(_) => Type::Location,
        _ => return None,
    };
    // Calls on unknown types are not checked: name and number of arguments may be wrong.
    let Ok(Some(method)) = method(&ty, name) else {
        return Some(Err(Error::new(format!("cannot fetch {name} from {ty}"))));
    };
    if method.parameters.len() != arguments.len() {
        return Some(Err(Error::new(format!("invalid number of arguments to call {name}"))));
    }
    Some(match base {
        Value::Duration(nanos) => duration::call(*nanos, name, arguments),
        Value::Time(time) => call_time(time, name, arguments),
        _ => Ok(Value::text(base.to_string())),
    })
}

fn call_time<'v>(time: &Time, name: &str, arguments: &[Value<'v>]) -> Result<Value<'v>, Error> {
    let order = |other: &Time| time.instant().cmp(&other.instant());
    let nanos = |unit: i64| time.unix.wrapping_mul(SECOND / unit).wrapping_add(i64::from(time.nanos) / unit);
    Ok(match (name, arguments) {
        ("Year", _) => Value::Int(time.date_time().year),
        ("Month", _) => Value::Month(time.date_time().month as u8),
        ("Day", _) => Value::Int(time.date_time().day),
        ("YearDay", _) => Value::Int(time.date_time().day_of_year),
        ("Weekday", _) => Value::Weekday(time.date_time().weekday as u8),
        ("Hour", _) => Value::Int(time.date_time().hour),
        ("Minute", _) => Value::Int(time.date_time().minute),
        ("Second", _) => Value::Int(time.date_time().second),
        ("Nanosecond", _) => Value::Int(i64::from(time.nanos)),
        ("Unix", _) => Value::Int(time.unix),
        ("UnixMilli", _) => Value::Int(nanos(1_000_000)),
        ("UnixMicro", _) => Value::Int(nanos(1_000)),
        ("UnixNano", _) => Value::Int(nanos(1)),
        ("String", _) => Value::text(time.to_string()),
        ("Format", [layout]) => {
            let layout =
                layout.as_str().ok_or_else(|| Error::new("layout: expected a string of valid UTF-8"))?;
            Value::text(layout::format(time, layout))
        }
        ("Add", [Value::Duration(by)]) => Value::Time(time.plus(*by)),
        ("Truncate", [Value::Duration(unit)]) if *unit > 0 => Value::Time(time.plus(-time.remainder(*unit))),
        ("Round", [Value::Duration(unit)]) if *unit > 0 => {
            let remainder = time.remainder(*unit);
            Value::Time(time.plus(if remainder < unit - remainder { -remainder } else { unit - remainder }))
        }
        ("Truncate" | "Round", [Value::Duration(_)]) => Value::Time(time.clone()),
        ("AddDate", [Value::Int(years), Value::Int(months), Value::Int(days)]) => {
            Value::Time(time.add_date(*years, *months, *days))
        }
        ("Sub", [Value::Time(other)]) => Value::Duration(time.since(other)),
        ("Before", [Value::Time(other)]) => Value::Bool(order(other).is_lt()),
        ("After", [Value::Time(other)]) => Value::Bool(order(other).is_gt()),
        ("Equal", [Value::Time(other)]) => Value::Bool(order(other).is_eq()),
        ("Compare", [Value::Time(other)]) => Value::Int(order(other) as i64),
        ("IsZero", _) => Value::Bool(time.instant() == (YEAR_ONE, 0)),
        ("UTC", _) => Value::Time(time.within(Zone::utc())),
        ("Local", _) => Value::Time(time.within(Zone::local())),
        ("In", [Value::Location(zone)]) => Value::Time(time.within(zone.clone())),
        ("Location", _) => Value::Location(time.zone.clone()),
        _ => return Err(Error::new(format!("cannot call {name}"))),
    })
}

/// `now()` and `now(zone)`
pub(crate) fn now<'v>(arguments: &[Value<'v>]) -> Result<Value<'v>, Error> {
    match arguments {
        [] => Ok(Value::Time(Time::now(Zone::local()))),
        [Value::Location(zone)] => Ok(Value::Time(Time::now(zone.clone()))),
        _ => Err(Error::new("invalid number of arguments (expected 0, got 1)")),
    }
}

/// `date([zone,] text [, layout [, zone]])`
pub(crate) fn date<'v>(arguments: &[Value<'v>]) -> Result<Value<'v>, Error> {
    let (zone, arguments) = match arguments {
        [Value::Location(zone), rest @ ..] => (Some(zone), rest),
        _ => (None, arguments),
    };
    let text = |value: &Value<'v>| match value {
        Value::String(_) => Ok(value.to_string()),
        other => Err(Error::new(format!(
            "interface conversion: interface {{}} is {}, not string",
            other.type_name()
        ))),
    };
    let found = match arguments {
        [date] => {
            let date = text(date)?;
            LAYOUTS.iter().find_map(|layout| layout::parse(layout, &date, zone))
        }
        [date, layout] => layout::parse(&text(layout)?, &text(date)?, zone),
        [date, layout, Value::Location(zone)] => layout::parse(&text(layout)?, &text(date)?, Some(zone)),
        _ => None,
    };
    let failed = || Error::new(format!("invalid date {}", arguments.first().unwrap_or(&Value::Nil)));
    found.map(Value::Time).ok_or_else(failed)
}

pub(crate) fn month_name(month: u8) -> &'static str {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    MONTHS.get(usize::from(month).wrapping_sub(1)).copied().unwrap_or("%!Month(0)")
}

pub(crate) fn weekday_name(day: u8) -> &'static str {
    const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    DAYS.get(usize::from(day)).copied().unwrap_or("%!Weekday(7)")
}
