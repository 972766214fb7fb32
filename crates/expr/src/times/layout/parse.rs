//! Parses times.

use std::sync::Arc;

use super::{Part, next_part};
use crate::times::zone::Zone;
use crate::times::{Time, civil, month_name, weekday_name};

/// The fields parsed so far.
struct PartialTime {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    afternoon: Option<bool>,
    offset: Option<i64>,
    utc: bool,
    abbreviation: Option<String>,
}

/// Parses a time by a layout; a time without a zone is in `zone`.
pub(in crate::times) fn parse(layout: &str, text: &str, zone: Option<&Arc<Zone>>) -> Option<Time> {
    let mut partial = PartialTime {
        year: 0,
        month: None,
        day: None,
        day_of_year: None,
        hour: 0,
        minute: 0,
        second: 0,
        nanos: 0,
        afternoon: None,
        offset: None,
        utc: false,
        abbreviation: None,
    };
    let (mut layout, mut rest) = (layout, text);
    loop {
        let (before, part, behind) = next_part(layout);
        rest = skip(rest, before)?;
        let Some(part) = part else { break };
        rest = partial.read(part, rest, behind)?;
        layout = behind;
    }
    if rest.is_empty() { partial.time(zone) } else { None }
}

/// Skips literal text; a run of spaces matches any number of spaces.
fn skip<'t>(mut text: &'t str, mut literal: &str) -> Option<&'t str> {
    while !literal.is_empty() {
        if literal.starts_with(' ') {
            if !text.is_empty() && !text.starts_with(' ') {
                return None;
            }
            (literal, text) = (literal.trim_start_matches(' '), text.trim_start_matches(' '));
        } else {
            let c = literal.chars().next()?;
            text = text.strip_prefix(c)?;
            literal = &literal[c.len_utf8()..];
        }
    }
    Some(text)
}

/// One or two digits; exactly two if `fixed`.
fn two_digits(text: &str, fixed: bool) -> Option<(i64, &str)> {
    let count = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if count == 0 || fixed && count < 2 {
        return None;
    }
    Some((text[..count].parse().ok()?, &text[count..]))
}

fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let read = text.get(..count).filter(|read| read.bytes().all(|octet| octet.is_ascii_digit()))?;
    Some((read.parse().ok()?, &text[count..]))
}

/// Length of a prefix such as `+03` or `-4`, up to 23 hours; 0 without one.
fn signed_hours(text: &str) -> usize {
    let digits = text.strip_prefix(['+', '-']).unwrap_or_default();
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if digits[..count].parse::<u64>().is_ok_and(|hours| hours <= 23) { 1 + count } else { 0 }
}

/// Index of the name that the text starts with, ignoring case.
fn word(text: &str, names: impl Iterator<Item = &'static str>, length: usize) -> Option<(i64, &str)> {
    names.enumerate().find_map(|(place, name)| {
        let name = &name[..name.len().min(length)];
        let found = text.get(..name.len())?.eq_ignore_ascii_case(name);
        found.then(|| (place as i64, &text[name.len()..]))
    })
}

impl PartialTime {
    fn read<'t>(&mut self, part: Part, text: &'t str, behind: &str) -> Option<&'t str> {
        let months = || (1..=12).map(month_name);
        let days = || (0..7).map(weekday_name);
        let (value, mut rest) = match part {
            Part::LongMonth => word(text, months(), 99)?,
            Part::ShortMonth => word(text, months(), 3)?,
            Part::LongWeekday => word(text, days(), 99)?,
            Part::ShortWeekday => word(text, days(), 3)?,
            Part::Month { padded } => two_digits(text, padded)?,
            Part::Day { padding } => {
                let text = if padding == Some(' ') { text.strip_prefix(' ').unwrap_or(text) } else { text };
                two_digits(text, padding == Some('0'))?
            }
            Part::DayOfYear { .. } => digits(text.trim_start_matches(' '), 3)?,
            Part::Hour => two_digits(text, false)?,
            Part::HalfHour { padded } | Part::Minute { padded } | Part::Second { padded } => {
                two_digits(text, padded)?
            }
            Part::Year => digits(text, 4)?,
            Part::ShortYear => digits(text, 2)?,
            Part::Half { .. } => {
                let half = text.get(..2)?;
                (
                    i64::from(match half {
                        "PM" | "pm" => true,
                        "AM" | "am" => false,
                        _ => return None,
                    }),
                    &text[2..],
                )
            }
            Part::Abbreviation => return self.abbreviation(text),
            Part::Offset { zulu, colons, digits } => return self.offset(text, zulu, colons, digits),
            Part::Fraction { digits, trimmed } => return self.fraction(text, digits, trimmed),
        };
        match part {
            Part::LongMonth | Part::ShortMonth => self.month = Some(value + 1),
            Part::Month { .. } if (1..=12).contains(&value) => self.month = Some(value),
            Part::LongWeekday | Part::ShortWeekday => {}
            Part::Day { .. } => self.day = Some(value),
            Part::DayOfYear { .. } => self.day_of_year = Some(value),
            Part::Hour if value < 24 => self.hour = value,
            Part::HalfHour { .. } if value <= 12 => self.hour = value,
            Part::Minute { .. } if value < 60 => self.minute = value,
            Part::Second { .. } if value < 60 => {
                self.second = value;
                // Go accepts a fraction of a second even if the layout has none.
                let named = matches!(next_part(behind), ("", Some(Part::Fraction { .. }), _));
                let fraction = rest.len() > 1
                    && rest.starts_with(['.', ','])
                    && rest[1..].starts_with(|c: char| c.is_ascii_digit());
                if fraction && !named {
                    let count = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                    rest = self.fraction(rest, count, false)?;
                }
            }
            Part::Year => self.year = value,
            Part::ShortYear => self.year = value + if value >= 69 { 1900 } else { 2000 },
            Part::Half { .. } => self.afternoon = Some(value == 1),
            _ => return None,
        }
        Some(rest)
    }

    fn fraction<'t>(&mut self, text: &'t str, count: usize, trimmed: bool) -> Option<&'t str> {
        let found =
            text.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let Some(rest) = found else { return trimmed.then_some(text) };
        let count = if trimmed { rest.bytes().take(9).take_while(u8::is_ascii_digit).count() } else { count };
        let read = rest.get(..count).filter(|read| read.bytes().all(|octet| octet.is_ascii_digit()))?;
        self.nanos = format!("{:0<9}", &read[..read.len().min(9)]).parse().ok()?;
        Some(&rest[count..])
    }

    fn offset<'t>(&mut self, text: &'t str, zulu: bool, colons: bool, count: u8) -> Option<&'t str> {
        if zulu && let Some(rest) = text.strip_prefix('Z') {
            self.utc = true;
            return Some(rest);
        }
        let negative = text.starts_with('-');
        let mut rest = text.strip_prefix(['+', '-'])?;
        let mut seconds = 0;
        for (place, unit) in [3600, 60, 1].into_iter().enumerate().take(usize::from(count) / 2) {
            if colons && place > 0 {
                rest = rest.strip_prefix(':')?;
            }
            let (value, behind) = digits(rest, 2)?;
            if value > if place == 0 { 24 } else { 60 } {
                return None;
            }
            seconds += value * unit;
            rest = behind;
        }
        self.offset = Some(if negative { -seconds } else { seconds });
        Some(rest)
    }

    fn abbreviation<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix("UTC") {
            self.utc = true;
            return Some(rest);
        }
        let upper = text.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
        let in_t = text[..upper].ends_with('T');
        let length = match upper {
            _ if text.starts_with("ChST") || text.starts_with("MeST") => 4,
            _ if text.starts_with("GMT") => 3 + signed_hours(&text[3..]),
            0 if text.len() > 2 => signed_hours(text),
            3 => 3,
            4 if in_t || text.starts_with("WITA") => 4,
            5 if in_t => 5,
            _ => 0,
        };
        if length == 0 {
            return None;
        }
        self.abbreviation = Some(text[..length].to_owned());
        Some(&text[length..])
    }

    fn time(self, zone: Option<&Arc<Zone>>) -> Option<Time> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let days = self.days()?;
        let local = days * civil::DAY + hour * 3600 + self.minute * 60 + self.second;
        let at = |unix: i64, zone: Arc<Zone>| Some(Time { unix, nanos: self.nanos, zone });
        if self.utc {
            return at(local, Zone::utc());
        }
        // Abbreviations and offsets are looked up in `zone`, else in the local zone.
        let home = zone.cloned().unwrap_or_else(Zone::local);
        if let Some(offset) = self.offset {
            let unix = local - offset;
            let known = home.at(unix);
            let same = known.offset == offset
                && self.abbreviation.as_ref().is_none_or(|name| *name == known.abbreviation);
            let name = self.abbreviation.as_deref().unwrap_or_default();
            return at(unix, if same { home } else { Arc::new(Zone::fixed(name, offset)) });
        }
        if let Some(name) = &self.abbreviation {
            let unix = home.unix(local);
            if home.at(unix).abbreviation == *name {
                return at(unix, home);
            }
            let hours =
                name.strip_prefix("GMT").and_then(|hours| hours.parse::<i64>().ok()).unwrap_or_default();
            // Go reads the time as UTC even if the name has an offset.
            return at(local, Arc::new(Zone::fixed(name, hours * 3600)));
        }
        match zone {
            Some(zone) => at(zone.unix(local), zone.clone()),
            None => at(local, Zone::utc()),
        }
    }

    fn days(&self) -> Option<i64> {
        let january = civil::days(self.year, 1, 1);
        if let Some(day) = self.day_of_year {
            if day < 1 || day > 365 + i64::from(civil::is_leap(self.year)) {
                return None;
            }
            let found = january + day - 1;
            let (_, month, day) = civil::date(found);
            let fits = self.month.is_none_or(|wanted| wanted == month)
                && self.day.is_none_or(|wanted| wanted == day);
            return fits.then_some(found);
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let found = civil::days(self.year, month, day);
        (day >= 1 && civil::date(found) == (self.year, month, day)).then_some(found)
    }
}
