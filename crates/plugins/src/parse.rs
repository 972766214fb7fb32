//! Words of Corefile options that many plugins share: durations, `fallthrough`, zones.

use std::time::Duration;

use wire::{Name, NameBuf};

/// A Go duration: `300ms`, `1.5h`, `1h2m3s`, `0`. Negative ones are None here unless `signed_duration` is used.
pub fn duration(text: &str) -> Option<Duration> {
    let (nanos, negative) = go_nanos(text)?;
    if negative && nanos != 0 {
        return None;
    }
    Some(Duration::from_nanos(nanos))
}

/// Whether the text is a Go duration below zero, which some options refuse with words of their own.
pub fn is_negative_duration(text: &str) -> bool {
    go_nanos(text).is_some_and(|(nanos, negative)| negative && nanos != 0)
}

fn go_nanos(text: &str) -> Option<(u64, bool)> {
    let (text, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    if text == "0" {
        return Some((0, negative));
    }
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, after) = rest.split_at(digits);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let scale: u64 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(scale)?)?;
        let mut place = scale as f64;
        for digit in fraction.bytes() {
            place /= 10.0;
            total = total.checked_add((f64::from(digit - b'0') * place) as u64)?;
        }
        rest = after;
    }
    // Go keeps durations in a signed 64-bit number.
    (total <= i64::MAX as u64).then_some((total, negative))
}

/// A duration as Go prints it: `5s`, `1m30s`, `100ms`, `0s`.
pub fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let decimal = |value: u128, unit: u128, suffix: &str| {
        let (whole, part) = (value / unit, value % unit);
        if part == 0 {
            return format!("{whole}{suffix}");
        }
        let width = unit.ilog10() as usize;
        let fraction = format!("{part:0width$}");
        format!("{whole}.{}{suffix}", fraction.trim_end_matches('0'))
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => decimal(nanos, 1_000, "µs"),
        1_000_000..1_000_000_000 => decimal(nanos, 1_000_000, "ms"),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000, "s");
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// Where misses go on to the next plugin: nowhere, everywhere, or under some zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fallthrough {
    zones: Vec<NameBuf>,
}

impl Fallthrough {
    /// From the arguments of `fallthrough`; without any it is everywhere.
    pub fn from_args(args: &[&str]) -> Fallthrough {
        let zones = if args.is_empty() {
            vec![NameBuf::root()]
        } else {
            args.iter()
                .flat_map(|arg| corefile::normalize_exact(arg))
                .filter_map(|zone| NameBuf::parse(&zone).ok())
                .collect()
        };
        Fallthrough { zones }
    }

    pub fn through(&self, name: Name<'_>) -> bool {
        is_under_any(name, &self.zones)
    }

    /// Whether `fallthrough` was written at all.
    pub fn is_set(&self) -> bool {
        !self.zones.is_empty()
    }
}

/// Whether the name is at or under one of the zones.
pub fn is_under_any(name: Name<'_>, zones: &[NameBuf]) -> bool {
    zones.iter().any(|zone| name.is_under(zone.as_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, nanos) in [
            ("0", Some(0)),
            ("5s", Some(5_000_000_000)),
            ("1.5h", Some(5_400_000_000_000)),
            ("1h2m3s", Some(3_723_000_000_000)),
            ("100ms", Some(100_000_000)),
            (".5s", Some(500_000_000)),
            ("5", None),
            ("", None),
            ("s", None),
            ("5 s", None),
            ("5d", None),
            ("-5s", None),
            ("1s1", None),
        ] {
            assert_eq!(duration(text).map(|d| d.as_nanos()), nanos, "{text}");
        }
        assert!(is_negative_duration("-5s"));
        assert!(!is_negative_duration("5s"));
    }

    #[test]
    fn durations_as_go_prints_them() {
        for (millis, text) in [
            (0, "0s"),
            (5000, "5s"),
            (90_000, "1m30s"),
            (3_600_000, "1h0m0s"),
            (1500, "1.5s"),
            (100, "100ms"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(millis)), text);
        }
    }
}
