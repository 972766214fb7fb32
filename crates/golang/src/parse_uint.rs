//! `strconv.ParseUint`

use std::borrow::Cow;

use crate::quote::quoted_bytes;

/// Reads a number of a base (0: by its prefix) that must fit into so many bits (0: 64). The error is Go's.
pub fn parse_uint(text: &[u8], base: i64, bits: i64) -> Result<u64, Cow<'static, str>> {
    let wrong = |what: &str| {
        let text = quoted_bytes(text, '"', false);
        Cow::Owned(format!("strconv.ParseUint: parsing {text}: {what}"))
    };
    const SYNTAX: &str = "invalid syntax";
    if text.is_empty() {
        return Err(wrong(SYNTAX));
    }
    let (digits, radix) = match (base, text) {
        (2..=36, _) => (text, base as u64),
        (0, [b'0', b'b' | b'B', rest @ ..]) if !rest.is_empty() => (rest, 2),
        (0, [b'0', b'o' | b'O', rest @ ..]) if !rest.is_empty() => (rest, 8),
        (0, [b'0', b'x' | b'X', rest @ ..]) if !rest.is_empty() => (rest, 16),
        (0, [b'0', rest @ ..]) => (rest, 8),
        (0, _) => (text, 10),
        _ => return Err(wrong(&format!("invalid base {base}"))),
    };
    let max = match bits {
        0 | 64 => u64::MAX,
        1..=63 => (1 << bits) - 1,
        _ => return Err(wrong(&format!("invalid bit size {bits}"))),
    };
    let mut value: u64 = 0;
    let mut underscores = false;
    for &byte in digits {
        let digit = match byte {
            b'_' if base == 0 => {
                underscores = true;
                continue;
            }
            b'0'..=b'9' => u64::from(byte - b'0'),
            b'a'..=b'z' => u64::from(byte - b'a') + 10,
            b'A'..=b'Z' => u64::from(byte - b'A') + 10,
            _ => return Err(wrong(SYNTAX)),
        };
        if digit >= radix {
            return Err(wrong(SYNTAX));
        }
        let next = value.checked_mul(radix).and_then(|value| value.checked_add(digit));
        match next.filter(|next| *next <= max) {
            Some(next) => value = next,
            None => return Err(wrong("value out of range")),
        }
    }
    if underscores && !underscores_are_right(text) {
        return Err(wrong(SYNTAX));
    }
    Ok(value)
}

/// An underscore stands between digits, or between a prefix and a digit.
fn underscores_are_right(text: &[u8]) -> bool {
    let prefixed = matches!(text, [b'0', b'x' | b'X' | b'b' | b'B' | b'o' | b'O', ..]);
    let mut before = if prefixed { b'0' } else { b' ' };
    for &byte in if prefixed { &text[2..] } else { text } {
        if byte == b'_' && !before.is_ascii_alphanumeric() {
            return false;
        }
        before = byte;
    }
    before != b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_reads_them() {
        let wrong = |text: &str, what: &str| Err(format!("strconv.ParseUint: parsing \"{text}\": {what}"));
        for (text, base, bits, expected) in [
            ("7b", 16, 8, Ok(123)),
            ("ff", 16, 8, Ok(255)),
            ("100", 16, 8, wrong("100", "value out of range")),
            ("", 10, 0, wrong("", "invalid syntax")),
            ("-1", 10, 0, wrong("-1", "invalid syntax")),
            ("0x1f", 0, 0, Ok(31)),
            ("0_7", 0, 0, Ok(7)),
            ("1__0", 0, 0, wrong("1__0", "invalid syntax")),
            ("12", 1, 0, wrong("12", "invalid base 1")),
            ("12", 10, 65, wrong("12", "invalid bit size 65")),
        ] {
            let got = parse_uint(text.as_bytes(), base, bits).map_err(Cow::into_owned);
            assert_eq!(got, expected, "{text} {base} {bits}");
        }
    }
}
