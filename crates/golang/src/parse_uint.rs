//! `strconv.ParseUint`

use std::borrow::Cow;

use crate::quote::quoted_bytes;

/// Parses a number in `base` (0: given by its prefix) that fits into `bits` (0: 64). The error is Go's.
pub fn parse_uint(text: &[u8], base: i64, bits: i64) -> Result<u64, Cow<'static, str>> {
    let error = |reason: &str| {
        let text = quoted_bytes(text, '"', false);
        Cow::Owned(format!("strconv.ParseUint: parsing {text}: {reason}"))
    };
    const SYNTAX: &str = "invalid syntax";
    if text.is_empty() {
        return Err(error(SYNTAX));
    }
    let (digits, radix) = match (base, text) {
        (2..=36, _) => (text, base as u64),
        (0, [b'0', b'b' | b'B', rest @ ..]) if !rest.is_empty() => (rest, 2),
        (0, [b'0', b'o' | b'O', rest @ ..]) if !rest.is_empty() => (rest, 8),
        (0, [b'0', b'x' | b'X', rest @ ..]) if !rest.is_empty() => (rest, 16),
        (0, [b'0', rest @ ..]) => (rest, 8),
        (0, _) => (text, 10),
        _ => return Err(error(&format!("invalid base {base}"))),
    };
    let max = match bits {
        0 | 64 => u64::MAX,
        1..=63 => (1 << bits) - 1,
        _ => return Err(error(&format!("invalid bit size {bits}"))),
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
            _ => return Err(error(SYNTAX)),
        };
        if digit >= radix {
            return Err(error(SYNTAX));
        }
        let next = value.checked_mul(radix).and_then(|value| value.checked_add(digit));
        match next.filter(|next| *next <= max) {
            Some(next) => value = next,
            None => return Err(error("value out of range")),
        }
    }
    if underscores && !underscores_are_valid(text) {
        return Err(error(SYNTAX));
    }
    Ok(value)
}

/// Underscores must be between digits, or between a prefix and a digit.
fn underscores_are_valid(text: &[u8]) -> bool {
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
    fn results_and_errors_are_those_of_go() {
        let error =
            |text: &str, reason: &str| Err(format!("strconv.ParseUint: parsing \"{text}\": {reason}"));
        for (text, base, bits, expected) in [
            ("7b", 16, 8, Ok(123)),
            ("ff", 16, 8, Ok(255)),
            ("100", 16, 8, error("100", "value out of range")),
            ("", 10, 0, error("", "invalid syntax")),
            ("-1", 10, 0, error("-1", "invalid syntax")),
            ("0x1f", 0, 0, Ok(31)),
            ("0_7", 0, 0, Ok(7)),
            ("1__0", 0, 0, error("1__0", "invalid syntax")),
            ("12", 1, 0, error("12", "invalid base 1")),
            ("12", 10, 65, error("12", "invalid bit size 65")),
        ] {
            let got = parse_uint(text.as_bytes(), base, bits).map_err(Cow::into_owned);
            assert_eq!(got, expected, "{text} {base} {bits}");
        }
    }
}
