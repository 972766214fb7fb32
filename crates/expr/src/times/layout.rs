//! Go's layouts: the format of a time, given by the reference time January 2, 2006 15:04:05.

mod format;
mod parse;

pub(super) use format::format;
pub(super) use parse::parse;

/// An element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    LongMonth,
    ShortMonth,
    Month { padded: bool },
    LongWeekday,
    ShortWeekday,
    Day { padding: Option<char> },
    DayOfYear { padding: char },
    Hour,
    HalfHour { padded: bool },
    Minute { padded: bool },
    Second { padded: bool },
    Year,
    ShortYear,
    Half { upper: bool },
    Abbreviation,
    Offset { zulu: bool, colons: bool, digits: u8 },
    Fraction { digits: usize, trimmed: bool },
}

/// Patterns of the parts, in matching order.
const PARTS: &[(&str, Part)] = &[
    ("January", Part::LongMonth),
    ("Jan", Part::ShortMonth),
    ("Monday", Part::LongWeekday),
    ("Mon", Part::ShortWeekday),
    ("MST", Part::Abbreviation),
    ("002", Part::DayOfYear { padding: '0' }),
    ("01", Part::Month { padded: true }),
    ("02", Part::Day { padding: Some('0') }),
    ("03", Part::HalfHour { padded: true }),
    ("04", Part::Minute { padded: true }),
    ("05", Part::Second { padded: true }),
    ("06", Part::ShortYear),
    ("15", Part::Hour),
    ("1", Part::Month { padded: false }),
    ("2006", Part::Year),
    ("2", Part::Day { padding: None }),
    ("__2", Part::DayOfYear { padding: ' ' }),
    ("_2", Part::Day { padding: Some(' ') }),
    ("3", Part::HalfHour { padded: false }),
    ("4", Part::Minute { padded: false }),
    ("5", Part::Second { padded: false }),
    ("PM", Part::Half { upper: true }),
    ("pm", Part::Half { upper: false }),
    ("-070000", Part::Offset { zulu: false, colons: false, digits: 6 }),
    ("-07:00:00", Part::Offset { zulu: false, colons: true, digits: 6 }),
    ("-0700", Part::Offset { zulu: false, colons: false, digits: 4 }),
    ("-07:00", Part::Offset { zulu: false, colons: true, digits: 4 }),
    ("-07", Part::Offset { zulu: false, colons: false, digits: 2 }),
    ("Z070000", Part::Offset { zulu: true, colons: false, digits: 6 }),
    ("Z07:00:00", Part::Offset { zulu: true, colons: true, digits: 6 }),
    ("Z0700", Part::Offset { zulu: true, colons: false, digits: 4 }),
    ("Z07:00", Part::Offset { zulu: true, colons: true, digits: 4 }),
    ("Z07", Part::Offset { zulu: true, colons: false, digits: 2 }),
];

/// The next part of a layout: the text before it, the part, and the rest.
fn next_part(layout: &str) -> (&str, Option<Part>, &str) {
    for (at, _) in layout.char_indices() {
        let rest = &layout[at..];
        if let Some((pattern, part)) = PARTS.iter().find(|(pattern, _)| rest.starts_with(pattern)) {
            // `_2006` is an underscore and a year; `Janet` is literal text.
            let year_behind = *pattern == "_2" && rest.starts_with("_2006");
            let longer_word = matches!(part, Part::ShortMonth | Part::ShortWeekday)
                && rest[3..].starts_with(|c: char| c.is_ascii_lowercase());
            if year_behind {
                return (&layout[..at + 1], Some(Part::Year), &rest[5..]);
            }
            if !longer_word {
                return (&layout[..at], Some(*part), &rest[pattern.len()..]);
            }
        }
        if let Some((part, length)) = fraction(rest) {
            return (&layout[..at], Some(part), &rest[length..]);
        }
    }
    (layout, None, "")
}

/// `.000` or `,999`, unless more digits follow.
fn fraction(rest: &str) -> Option<(Part, usize)> {
    let digits = rest.strip_prefix(['.', ','])?;
    let digit = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let count = digits.len() - digits.trim_start_matches(digit).len();
    let ends = !digits[count..].starts_with(|c: char| c.is_ascii_digit());
    ends.then_some((Part::Fraction { digits: count, trimmed: digit == '9' }, count + 1))
}
