//! Formats times.

use std::fmt::Write;

use super::{Part, next_part};
use crate::times::{Time, month_name, weekday_name};

/// Formats a time by a layout.
pub(in crate::times) fn format(time: &Time, layout: &str) -> String {
    let mut out = String::new();
    let fields = time.date_time();
    let mut layout = layout;
    loop {
        let (text, part, rest) = next_part(layout);
        out.push_str(text);
        let Some(part) = part else { return out };
        let separator = layout[text.len()..].chars().next().unwrap_or('.');
        layout = rest;
        let _ = match part {
            Part::LongMonth => write!(out, "{}", month_name(fields.month as u8)),
            Part::ShortMonth => write!(out, "{}", &month_name(fields.month as u8)[..3]),
            Part::Month { padded } => number(&mut out, fields.month, padded.then_some('0'), 2),
            Part::LongWeekday => write!(out, "{}", weekday_name(fields.weekday as u8)),
            Part::ShortWeekday => write!(out, "{}", &weekday_name(fields.weekday as u8)[..3]),
            Part::Day { padding } => number(&mut out, fields.day, padding, 2),
            Part::DayOfYear { padding } => number(&mut out, fields.day_of_year, Some(padding), 3),
            Part::Hour => number(&mut out, fields.hour, Some('0'), 2),
            Part::HalfHour { padded } => {
                number(&mut out, (fields.hour + 11) % 12 + 1, padded.then_some('0'), 2)
            }
            Part::Minute { padded } => number(&mut out, fields.minute, padded.then_some('0'), 2),
            Part::Second { padded } => number(&mut out, fields.second, padded.then_some('0'), 2),
            Part::Year if fields.year < 0 => write!(out, "-{:04}", -fields.year),
            Part::Year => write!(out, "{:04}", fields.year),
            Part::ShortYear => write!(out, "{:02}", fields.year.rem_euclid(100)),
            Part::Half { upper } => {
                let half = if fields.hour < 12 { "am" } else { "pm" };
                write!(out, "{}", if upper { half.to_uppercase() } else { half.to_owned() })
            }
            Part::Abbreviation if fields.period.abbreviation.is_empty() => {
                offset(&mut out, fields.period.offset, false, 4)
            }
            Part::Abbreviation => write!(out, "{}", fields.period.abbreviation),
            Part::Offset { zulu: true, .. } if fields.period.offset == 0 => write!(out, "Z"),
            Part::Offset { colons, digits, .. } => offset(&mut out, fields.period.offset, colons, digits),
            Part::Fraction { digits, trimmed } => {
                let all = format!("{:09}", time.nanos);
                let cut = &all[..digits.min(9)];
                let cut = if trimmed { cut.trim_end_matches('0') } else { cut };
                if cut.is_empty() {
                    Ok(())
                } else {
                    write!(out, "{separator}{cut:0<width$}", width = if trimmed { 0 } else { digits })
                }
            }
        };
    }
}

fn number(out: &mut String, value: i64, padding: Option<char>, width: usize) -> std::fmt::Result {
    match padding {
        None => write!(out, "{value}"),
        Some(' ') => write!(out, "{value:width$}"),
        Some(_) => write!(out, "{value:0width$}"),
    }
}

fn offset(out: &mut String, offset: i64, colons: bool, digits: u8) -> std::fmt::Result {
    let (sign, size) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
    let colon = if colons { ":" } else { "" };
    write!(out, "{sign}{:02}", size / 3600)?;
    if digits >= 4 {
        write!(out, "{colon}{:02}", size / 60 % 60)?;
    }
    if digits >= 6 { write!(out, "{colon}{:02}", size % 60) } else { Ok(()) }
}
