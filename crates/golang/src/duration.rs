//! Durations as Go parses and prints them, negative ones included, with Go's errors.

use std::fmt;
use std::time::Duration;

use crate::quoted_ascii;

/// A duration that may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoDuration {
    pub negative: bool,
    pub size: Duration,
}

impl GoDuration {
    /// Parses `300ms`, `1.5h`, `1h2m3s`, `-5s`, `0`; the error is Go's.
    pub fn parse(text: &str) -> Result<GoDuration, String> {
        let invalid = || format!("time: invalid duration {}", quoted_ascii(text));
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "0" {
            return Ok(GoDuration { negative: false, size: Duration::ZERO });
        }
        if unsigned.is_empty() {
            return Err(invalid());
        }
        let mut rest = unsigned;
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (number, after) = Number::read(rest).ok_or_else(invalid)?;
            let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(unit_len);
            let scale: u64 = match unit {
                "ns" => 1,
                "us" | "µs" | "μs" => 1_000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                "m" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "" => return Err(format!("time: missing unit in duration {}", quoted_ascii(text))),
                unknown => {
                    let (unknown, text) = (quoted_ascii(unknown), quoted_ascii(text));
                    return Err(format!("time: unknown unit {unknown} in duration {text}"));
                }
            };
            total = number.times(scale).and_then(|part| total.checked_add(part)).ok_or_else(invalid)?;
            rest = after;
        }
        // In Go a duration is a signed 64-bit number.
        if total > i64::MAX as u64 {
            return Err(invalid());
        }
        Ok(GoDuration { negative: text.starts_with('-') && total > 0, size: Duration::from_nanos(total) })
    }

    /// The duration, or `None` if it is zero or negative.
    pub fn above_zero(self) -> Option<Duration> {
        (!self.negative && !self.size.is_zero()).then_some(self.size)
    }

    /// The duration, or `None` if it is negative.
    pub fn not_negative(self) -> Option<Duration> {
        (!self.negative).then_some(self.size)
    }
}

impl From<Duration> for GoDuration {
    fn from(size: Duration) -> GoDuration {
        GoDuration { negative: false, size }
    }
}

/// A decimal number: its integer part and the digits after the point.
struct Number<'a> {
    whole: u64,
    fraction: &'a str,
}

impl Number<'_> {
    fn read(text: &str) -> Option<(Number<'_>, &str)> {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, after) = text.split_at(digits(text));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()? as u64 };
        Some((Number { whole, fraction }, after))
    }

    fn times(&self, scale: u64) -> Option<u64> {
        let whole = self.whole.checked_mul(scale)?;
        let (mut value, mut unit) = (0u128, 1u128);
        // Digits after the eighteenth are below a nanosecond in every unit.
        for digit in self.fraction.bytes().take(18) {
            value = value * 10 + u128::from(digit - b'0');
            unit *= 10;
        }
        whole.checked_add((value * u128::from(scale) / unit) as u64)
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let nanos = self.size.as_nanos();
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write!(f, "{}µs", decimal(nanos, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", decimal(nanos, 1_000_000)),
            _ => {
                let minutes = nanos / 60_000_000_000;
                let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
                match (minutes / 60, minutes % 60) {
                    (0, 0) => write!(f, "{seconds}s"),
                    (0, minutes) => write!(f, "{minutes}m{seconds}s"),
                    (hours, minutes) => write!(f, "{hours}h{minutes}m{seconds}s"),
                }
            }
        }
    }
}

/// `value / unit` without trailing zeros.
fn decimal(value: u128, unit: u128) -> String {
    let (whole, part) = (value / unit, value % unit);
    if part == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{}", format!("{part:0width$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line was printed by Go 1.26.
    #[test]
    fn errors_are_those_of_go() {
        for (text, error) in [
            ("", "time: invalid duration \"\""),
            ("foo", "time: invalid duration \"foo\""),
            ("-", "time: invalid duration \"-\""),
            (".s", "time: invalid duration \".s\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1s5", "time: missing unit in duration \"1s5\""),
            ("-5", "time: missing unit in duration \"-5\""),
            ("5d", "time: unknown unit \"d\" in duration \"5d\""),
            ("1h5 m", "time: unknown unit \" m\" in duration \"1h5 m\""),
            ("5é", "time: unknown unit \"\\xc3\\xa9\" in duration \"5\\xc3\\xa9\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("9999999h", "time: invalid duration \"9999999h\""),
        ] {
            assert_eq!(GoDuration::parse(text), Err(error.to_owned()), "{text}");
        }
        for (text, shown) in [("-5s", "-5s"), ("5m", "5m0s"), ("0", "0s"), ("-0", "0s"), ("+1.5h", "1h30m0s")]
        {
            assert_eq!(GoDuration::parse(text).map(|d| d.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, nanos) in [
            ("0", 0),
            ("5s", 5_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1h2m3s", 3_723_000_000_000),
            ("100ms", 100_000_000),
            (".5s", 500_000_000),
            ("0.1s", 100_000_000),
            ("0.3s", 300_000_000),
            ("1.000000001s", 1_000_000_001),
            ("7us", 7_000),
        ] {
            assert_eq!(
                GoDuration::parse(text).map(|d| (d.negative, d.size.as_nanos())),
                Ok((false, nanos)),
                "{text}"
            );
        }
    }

    #[test]
    fn printed_as_go_does() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
        ] {
            assert_eq!(GoDuration::from(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}
