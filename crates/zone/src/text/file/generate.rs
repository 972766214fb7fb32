//! `$GENERATE START-STOP[/STEP] OWNER [TTL] [CLASS] TYPE DATA`, as BIND has it.

use std::io::Write;

use crate::text::fields::number;

/// More lines than a class B network has addresses are a mistake.
const MAX_LINES: u64 = 65536;

/// A text in which `$` is a number.
pub(super) struct LineTemplate(Vec<Part>);

enum Part {
    Text(Vec<u8>),
    Number { offset: i64, width: usize, base: Base },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Decimal,
    Octal,
    Hex {
        upper: bool,
    },
    /// Hexadecimal digits from the last to the first, with dots, as in ip6.arpa. The width counts dots, too.
    Nibbles {
        upper: bool,
    },
}

/// The numbers of a range.
pub(super) fn range(text: &[u8]) -> Result<impl Iterator<Item = i64> + use<>, String> {
    let shown = String::from_utf8_lossy(text);
    let bad = || format!("$GENERATE: expected a range START-STOP or START-STOP/STEP, got '{shown}'");
    let mut parts = text.splitn(2, |byte| *byte == b'/');
    let bounds = parts.next().unwrap_or_default();
    let most = i32::MAX as u64;
    let step =
        parts.next().map_or(Some(1), |step| number(step, most)).filter(|step| *step > 0).ok_or_else(bad)?;
    let dash = bounds.iter().position(|byte| *byte == b'-').ok_or_else(bad)?;
    let start = number(&bounds[..dash], most).ok_or_else(bad)?;
    let stop = number(&bounds[dash + 1..], most).filter(|stop| *stop >= start).ok_or_else(bad)?;
    if (stop - start) / step >= MAX_LINES {
        return Err(format!("$GENERATE: the range '{shown}' has more than {MAX_LINES} numbers"));
    }
    Ok((start..=stop).step_by(step as usize).map(|number| number as i64))
}

impl LineTemplate {
    pub fn parse(text: &[u8]) -> Result<LineTemplate, String> {
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match (byte, after) {
                (b'\\', [next, after @ ..]) => {
                    plain.extend_from_slice(&[b'\\', *next]);
                    rest = after;
                }
                (b'$', [b'$', after @ ..]) => {
                    plain.push(b'$');
                    rest = after;
                }
                (b'$', _) => {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    let (part, after) = modifiers(after)?;
                    parts.push(part);
                    rest = after;
                }
                _ => plain.push(byte),
            }
        }
        parts.push(Part::Text(plain));
        Ok(LineTemplate(parts))
    }

    /// Writes the line of one number. Fails if a number with its offset is negative or has more than 31 bits.
    pub fn render(&self, iteration: i64, out: &mut Vec<u8>) -> Result<(), String> {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Number { offset, width, base } => {
                    let value =
                        u32::try_from(iteration + offset).ok().filter(|value| *value <= i32::MAX as u32);
                    let value = value.ok_or_else(|| {
                        format!("$GENERATE: {iteration} with offset {offset} is not from 0 to {}", i32::MAX)
                    })?;
                    base.write(value, *width, out);
                }
            }
        }
        Ok(())
    }
}

impl Base {
    fn write(self, value: u32, width: usize, out: &mut Vec<u8>) {
        // Writing to a vector does not fail.
        let _ = match self {
            Base::Decimal => write!(out, "{value:0width$}"),
            Base::Octal => write!(out, "{value:0width$o}"),
            Base::Hex { upper: false } => write!(out, "{value:0width$x}"),
            Base::Hex { upper: true } => write!(out, "{value:0width$X}"),
            Base::Nibbles { upper } => {
                nibbles(value, width, upper, out);
                Ok(())
            }
        };
    }
}

fn nibbles(mut value: u32, mut width: usize, upper: bool, out: &mut Vec<u8>) {
    loop {
        let digit = char::from_digit(value & 0xF, 16).unwrap_or('0');
        out.push(if upper { digit.to_ascii_uppercase() } else { digit } as u8);
        value >>= 4;
        width = width.saturating_sub(1);
        if width == 0 && value == 0 {
            return;
        }
        out.push(b'.');
        width = width.saturating_sub(1);
        if width == 0 && value == 0 {
            return;
        }
    }
}

/// The optional `{OFFSET[,WIDTH[,BASE]]}` after a dollar.
fn modifiers(after: &[u8]) -> Result<(Part, &[u8]), String> {
    let Some(inside) = after.strip_prefix(b"{") else {
        return Ok((Part::Number { offset: 0, width: 0, base: Base::Decimal }, after));
    };
    let end = inside.iter().position(|byte| *byte == b'}');
    let bad = || {
        let shown = String::from_utf8_lossy(&inside[..end.map_or(inside.len(), |end| end)]);
        format!(
            "$GENERATE: expected ${{OFFSET[,WIDTH[,BASE]]}} with base d, o, x, X, n or N, got '${{{shown}'"
        )
    };
    let end = end.ok_or_else(bad)?;
    let mut parts = inside[..end].split(|byte| *byte == b',');
    let offset = parts.next().unwrap_or_default();
    let (sign, digits) = match offset.split_first() {
        Some((b'-', digits)) => (-1, digits),
        Some((b'+', digits)) => (1, digits),
        _ => (1, offset),
    };
    let offset = sign * number(digits, i32::MAX as u64).ok_or_else(bad)? as i64;
    let width = parts.next().map_or(Some(0), |width| number(width, 255)).ok_or_else(bad)? as usize;
    let base = match parts.next() {
        None | Some(b"d") => Base::Decimal,
        Some(b"o") => Base::Octal,
        Some(b"x") => Base::Hex { upper: false },
        Some(b"X") => Base::Hex { upper: true },
        Some(b"n") => Base::Nibbles { upper: false },
        Some(b"N") => Base::Nibbles { upper: true },
        Some(_) => return Err(bad()),
    };
    if parts.next().is_some() {
        return Err(bad());
    }
    Ok((Part::Number { offset, width, base }, &inside[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bounds: &str, text: &str) -> String {
        let lines = || -> Result<Vec<String>, String> {
            let template = LineTemplate::parse(text.as_bytes())?;
            let line = |number| {
                let mut out = Vec::new();
                template.render(number, &mut out)?;
                Ok(String::from_utf8_lossy(&out).into_owned())
            };
            range(bounds.as_bytes())?.map(line).collect()
        };
        lines().map_or_else(|error| error, |lines| lines.join("|"))
    }

    /// The nibbles are those of named-compilezone.
    #[test]
    fn lines_of_ranges() {
        for (bounds, text, expected) in [
            ("1-3", "a$ A 10.0.0.$", "a1 A 10.0.0.1|a2 A 10.0.0.2|a3 A 10.0.0.3"),
            ("0-9/4", "$", "0|4|8"),
            ("8-9", "${0,3}-${-8,2,d}", "008-00|009-01"),
            ("10-11", "${0,4,x} ${0,0,X} ${0,3,o}", "000a A 012|000b B 013"),
            ("18-18", "${0,0,n} ${0,7,n} ${0,2,N}", "2.1 2.1.0.0 2.1"),
            ("1-1", r"a$$b \$c $", r"a$b \$c 1"),
        ] {
            assert_eq!(lines(bounds, text), expected, "{bounds} {text}");
        }
        for (bounds, text, part) in [
            ("3-1", "$", "expected a range"),
            ("1", "$", "expected a range"),
            ("1-2/0", "$", "expected a range"),
            ("0-65536", "$", "more than 65536 numbers"),
            ("1-2", "${", "expected ${OFFSET"),
            ("1-2", "${1,2,q}", "expected ${OFFSET"),
            ("1-2", "${1,2,d,4}", "expected ${OFFSET"),
            ("1-2", "${-2}", "is not from 0"),
        ] {
            assert!(lines(bounds, text).contains(part), "{bounds} {text}: {}", lines(bounds, text));
        }
    }
}
