//! Time zones, from the files the system has.

use std::sync::{Arc, OnceLock};

use super::civil;

/// Where Go looks for zones.
const FOLDERS: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"];

/// A time zone.
#[derive(Debug)]
pub struct Zone {
    pub(crate) name: String,
    /// What holds from a moment on, by time.
    changes: Vec<(i64, Period)>,
    /// What held before the first of them.
    first: Period,
    /// What holds after the last of them.
    rule: Option<Rule>,
}

/// How far the clocks are from UTC, in seconds, and what that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub offset: i64,
    pub abbreviation: String,
}

/// When summer time begins and ends, every year.
#[derive(Debug)]
struct Rule {
    standard: Period,
    summer: Option<(Period, Turn, Turn)>,
}

#[derive(Debug)]
struct Turn {
    day: Day,
    /// Seconds since midnight.
    time: i64,
}

#[derive(Debug)]
enum Day {
    /// The n-th such day of the week of a month; 5 is the last.
    OfMonth { month: i64, week: i64, weekday: i64 },
    /// From 1 to 365, without leap days.
    Julian(i64),
    /// From 0 to 365.
    OfYear(i64),
}

impl Zone {
    pub fn utc() -> Arc<Zone> {
        static UTC: OnceLock<Arc<Zone>> = OnceLock::new();
        UTC.get_or_init(|| Arc::new(Zone::fixed("UTC", "UTC", 0))).clone()
    }

    pub fn fixed(name: &str, abbreviation: &str, offset: i64) -> Zone {
        let first = Period { offset, abbreviation: abbreviation.to_owned() };
        Zone { name: name.to_owned(), changes: Vec::new(), first, rule: None }
    }

    /// The zone the machine is in. Read once, when the first expression that needs it is set up.
    pub fn local() -> Arc<Zone> {
        static LOCAL: OnceLock<Arc<Zone>> = OnceLock::new();
        LOCAL.get_or_init(|| Zone::find_local().map_or_else(Zone::utc, Arc::new)).clone()
    }

    fn find_local() -> Option<Zone> {
        let named = |zone: Zone| Zone { name: "Local".to_owned(), ..zone };
        let Some(wanted) = std::env::var_os("TZ") else {
            return Zone::read("/etc/localtime").map(named);
        };
        let wanted = wanted.into_string().ok()?;
        let wanted = wanted.strip_prefix(':').unwrap_or(&wanted);
        match wanted {
            "" => None,
            path if path.starts_with('/') => Zone::read(path).map(named),
            name => Zone::find(name).map(named),
        }
    }

    /// A zone by its name.
    pub fn load(name: &str) -> Result<Arc<Zone>, String> {
        match name {
            "" | "UTC" => return Ok(Zone::utc()),
            "Local" => return Ok(Zone::local()),
            _ if name.contains("..") || name.starts_with(['/', '\\']) => {
                return Err("time: invalid location name".to_owned());
            }
            _ => {}
        }
        Zone::find(name).map(Arc::new).ok_or_else(|| format!("unknown time zone {name}"))
    }

    fn find(name: &str) -> Option<Zone> {
        let zone = FOLDERS.iter().find_map(|folder| Zone::read(&format!("{folder}/{name}")))?;
        Some(Zone { name: name.to_owned(), ..zone })
    }

    fn read(path: &str) -> Option<Zone> {
        Zone::parse(&std::fs::read(path).ok()?)
    }

    /// A TZif file (RFC 8536), of its second version on.
    fn parse(file: &[u8]) -> Option<Zone> {
        let counts = |header: &[u8]| -> Option<[usize; 6]> {
            if !header.starts_with(b"TZif") {
                return None;
            }
            let mut counts = [0; 6];
            for (i, count) in counts.iter_mut().enumerate() {
                *count = u32::from_be_bytes(header.get(20 + 4 * i..24 + 4 * i)?.try_into().ok()?) as usize;
            }
            Some(counts)
        };
        let [utc, wall, leaps, times, types, names] = counts(file)?;
        let skipped = 44 + times * 5 + types * 6 + names + leaps * 8 + wall + utc;
        let file = file.get(skipped..)?;
        let [utc, wall, leaps, times, types, names] = counts(file)?;
        let body = file.get(44..)?;
        let (moments, body) = body.split_at_checked(times * 8)?;
        let (kinds, body) = body.split_at_checked(times)?;
        let (types, body) = body.split_at_checked(types * 6)?;
        let (names, body) = body.split_at_checked(names)?;
        let footer = body.get(leaps * 12 + wall + utc..)?;
        let period = |kind: usize| {
            let entry = types.get(kind * 6..kind * 6 + 6)?;
            let offset = i32::from_be_bytes(entry.get(..4)?.try_into().ok()?);
            let name = names.get(usize::from(entry[5])..)?.split(|octet| *octet == 0).next()?;
            Some(Period {
                offset: i64::from(offset),
                abbreviation: String::from_utf8_lossy(name).into_owned(),
            })
        };
        let mut changes = Vec::with_capacity(times);
        for (moment, kind) in moments.chunks_exact(8).zip(kinds) {
            changes.push((i64::from_be_bytes(moment.try_into().ok()?), period(usize::from(*kind))?));
        }
        let rule = std::str::from_utf8(footer).ok().and_then(|footer| Rule::parse(footer.trim_matches('\n')));
        Some(Zone { name: String::new(), changes, first: period(0)?, rule })
    }

    /// What holds at a moment.
    pub(crate) fn at(&self, unix: i64) -> Period {
        let after = self.changes.partition_point(|(from, _)| *from <= unix);
        match (after.checked_sub(1).and_then(|last| self.changes.get(last)), &self.rule) {
            (_, Some(rule)) if after == self.changes.len() => rule.at(unix),
            (Some((_, period)), _) => period.clone(),
            (None, _) => self.first.clone(),
        }
    }

    /// The moment at which clocks here show a time (given as if it were UTC).
    pub(crate) fn unix(&self, shown: i64) -> i64 {
        // The offset of the moment before or after, whichever shows that time.
        let guess = shown - self.at(shown).offset;
        let offset = self.at(guess).offset;
        if guess + offset == shown { guess } else { shown - offset }
    }
}

impl Rule {
    /// `CET-1CEST,M3.5.0,M10.5.0/3`
    fn parse(text: &str) -> Option<Rule> {
        let (abbreviation, rest) = name(text)?;
        let (offset, rest) = clock(rest)?;
        let standard = Period { offset: -offset, abbreviation };
        if rest.is_empty() {
            return Some(Rule { standard, summer: None });
        }
        let (abbreviation, rest) = name(rest)?;
        let (offset, rest) =
            if rest.starts_with(',') { (-standard.offset - 3600, rest) } else { clock(rest)? };
        let mut turns = rest.strip_prefix(',')?.split(',').map(Turn::parse);
        let (start, end) = (turns.next()??, turns.next()??);
        let summer = Period { offset: -offset, abbreviation };
        Some(Rule { standard, summer: Some((summer, start, end)) })
    }

    fn at(&self, unix: i64) -> Period {
        let Some((summer, start, end)) = &self.summer else { return self.standard.clone() };
        let (year, ..) = civil::date(unix.div_euclid(civil::DAY));
        let second = unix - civil::days(year, 1, 1) * civil::DAY;
        let start = start.second_of(year) - self.standard.offset;
        let end = end.second_of(year) - summer.offset;
        // South of the equator the year begins in summer.
        let in_summer =
            if start <= end { (start..end).contains(&second) } else { !(end..start).contains(&second) };
        if in_summer { summer.clone() } else { self.standard.clone() }
    }
}

impl Turn {
    fn parse(text: &str) -> Option<Turn> {
        let (day, time) = match text.split_once('/') {
            Some((day, time)) => (day, clock(time)?.0),
            None => (text, 7200),
        };
        let number = |text: &str| text.parse().ok();
        let day = if let Some(parts) = day.strip_prefix('M') {
            let mut parts = parts.split('.').map(number);
            Day::OfMonth { month: parts.next()??, week: parts.next()??, weekday: parts.next()?? }
        } else if let Some(day) = day.strip_prefix('J') {
            Day::Julian(number(day)?)
        } else {
            Day::OfYear(number(day)?)
        };
        Some(Turn { day, time })
    }

    /// Seconds since the year began, by the clocks of the time before.
    fn second_of(&self, year: i64) -> i64 {
        let january = civil::days(year, 1, 1);
        let day = match self.day {
            Day::OfYear(day) => day,
            Day::Julian(day) => day - 1 + i64::from(civil::is_leap(year) && day >= 60),
            Day::OfMonth { month, week, weekday } => {
                let first = civil::days(year, month, 1);
                let next =
                    if month == 12 { civil::days(year + 1, 1, 1) } else { civil::days(year, month + 1, 1) };
                let mut day = first + (weekday - civil::weekday(first)).rem_euclid(7) + 7 * (week - 1);
                if day >= next {
                    day -= 7;
                }
                day - january
            }
        };
        day * civil::DAY + self.time
    }
}

/// `CET`, or anything in angle brackets.
fn name(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('<') {
        let (name, rest) = quoted.split_once('>')?;
        return Some((name.to_owned(), rest));
    }
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    (end >= 3).then(|| (text[..end].to_owned(), &text[end..]))
}

/// `-1`, `5:45`, `+3:00:00`, in seconds.
fn clock(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | ':')).unwrap_or(text.len());
    let (written, rest) = text.split_at(end);
    let negative = written.starts_with('-');
    let mut seconds = 0;
    for (part, unit) in written.trim_start_matches(['+', '-']).split(':').zip([3600, 60, 1]) {
        seconds += part.parse::<i64>().ok()? * unit;
    }
    Some((if negative { -seconds } else { seconds }, rest))
}
