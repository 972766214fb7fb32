//! Durations of the Corefile as Go reads them, with the sign some options let through and with Go's complaints.

use std::fmt;
use std::time::Duration;

use crate::parse;

/// A duration that may be below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoDuration {
    pub negative: bool,
    pub size: Duration,
}

impl GoDuration {
    /// The duration, unless it is zero or less.
    pub fn above_zero(self) -> Option<Duration> {
        (!self.negative && !self.size.is_zero()).then_some(self.size)
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{}", parse::go_duration(self.size))
    }
}

/// Reads a duration; the error is Go's.
pub(crate) fn parse(text: &str) -> Result<GoDuration, String> {
    if let Some(size) = parse::duration(text) {
        return Ok(GoDuration { negative: false, size });
    }
    match text.strip_prefix('-').and_then(parse::duration) {
        Some(size) if parse::is_negative_duration(text) => Ok(GoDuration { negative: true, size }),
        _ => Err(complaint(text)),
    }
}

/// What Go says of a text that is no duration: the first number without a unit or with an unknown one is named.
fn complaint(text: &str) -> String {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    while !rest.is_empty() {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let whole = digits(rest);
        let mut end = whole;
        if rest[end..].starts_with('.') {
            end += 1 + digits(&rest[end + 1..]);
        }
        // Neither `.` alone is a number, nor what Go cannot keep in 64 bits.
        if end == 0 || &rest[..end] == "." || (whole > 0 && rest[..whole].parse::<i64>().is_err()) {
            return invalid();
        }
        rest = &rest[end..];
        let unit = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        match &rest[..unit] {
            "" => return format!("time: missing unit in duration {}", quote(text)),
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => {}
            unknown => return format!("time: unknown unit {} in duration {}", quote(unknown), quote(text)),
        }
        rest = &rest[unit..];
    }
    invalid()
}

/// A text in quotes, as Go's time package quotes it: what is not plain ASCII as hexadecimal.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line was printed by Go 1.26.
    #[test]
    fn complaints() {
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
            assert_eq!(parse(text), Err(error.to_owned()), "{text}");
        }
        for (text, shown) in [("-5s", "-5s"), ("5m", "5m0s"), ("0", "0s"), ("-0", "0s"), ("+1.5h", "1h30m0s")]
        {
            assert_eq!(parse(text).map(|d| d.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }
}
