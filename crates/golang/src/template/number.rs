//! Numbers in templates: one literal may be valid as several types of number.

use crate::quote::{Unit, quoted, unquoted_unit};

#[derive(Debug, Default)]
pub(super) struct Number {
    pub text: String,
    pub int: Option<i64>,
    pub uint: Option<u64>,
    pub float: Option<f64>,
    pub complex: Option<(f64, f64)>,
}

impl Number {
    /// Parses a character constant.
    pub fn character(text: &str) -> Result<Number, String> {
        let syntax = || "invalid syntax".to_owned();
        let (unit, tail) = unquoted_unit(&text[1..], '\'').ok_or_else(syntax)?;
        if tail != "'" {
            return Err(format!("malformed character constant: {text}"));
        }
        let code = match unit {
            Unit::Char(c) => u32::from(c),
            Unit::Byte(byte) => u32::from(byte),
        };
        Ok(Number {
            text: text.to_owned(),
            int: Some(code.into()),
            uint: Some(code.into()),
            float: Some(code.into()),
            complex: None,
        })
    }

    /// Parses `1+2i`.
    pub fn complex(text: &str) -> Result<Number, String> {
        // The parts are split at the last sign that is not an exponent's.
        let mut signs = text.match_indices(['+', '-']).map(|(at, _)| at);
        let exponent = |at: usize| text[..at].ends_with(['e', 'E', 'p', 'P']);
        let split = signs.rfind(|at| *at > 0 && !exponent(*at));
        let parts = split.map(|at| text.split_at(at)).and_then(|(real, imaginary)| {
            Some((read_float(real)?, read_float(imaginary.strip_suffix('i')?)?))
        });
        let parts = parts.ok_or("syntax error scanning complex number")?;
        Ok(Number { text: text.to_owned(), ..Number::default() }.with_complex(parts))
    }

    /// Parses any other number.
    pub fn plain(text: &str) -> Result<Number, String> {
        let mut number = Number { text: text.to_owned(), ..Number::default() };
        if let Some(imaginary) = text.strip_suffix('i').and_then(read_float) {
            return Ok(number.with_complex((0.0, imaginary)));
        }
        number.uint = read_uint(text);
        number.int = read_int(text);
        if number.int == Some(0) {
            number.uint = Some(0);
        }
        number.float = number.int.map(|int| int as f64).or(number.uint.map(|uint| uint as f64));
        if number.float.is_none()
            && let Some(float) = read_float(text)
        {
            if !text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {}", quoted(text)));
            }
            number.set_float(float);
        }
        if number.float.is_none() {
            return Err(format!("illegal number syntax: {}", quoted(text)));
        }
        Ok(number)
    }

    fn with_complex(mut self, (real, imaginary): (f64, f64)) -> Number {
        self.complex = Some((real, imaginary));
        if imaginary == 0.0 {
            self.set_float(real);
        }
        self
    }

    fn set_float(&mut self, float: f64) {
        self.float = Some(float);
        let int = float as i64;
        if int as f64 == float && int != i64::MAX {
            self.int = Some(int);
        }
        let uint = float as u64;
        if uint as f64 == float && uint != u64::MAX {
            self.uint = Some(uint);
        }
    }

    /// Whether the literal has a fraction or an exponent.
    pub fn is_float_literal(&self) -> bool {
        let text = &self.text;
        let hexadecimal = text.len() > 2
            && (text.starts_with("0x") || text.starts_with("0X"))
            && !text.contains(['p', 'P']);
        self.float.is_some()
            && !hexadecimal
            && !text.starts_with('\'')
            && text.contains(['.', 'e', 'E', 'p', 'P'])
    }
}

/// Digits without prefix and underscores, and their base; `None` if an underscore is misplaced.
fn digits(text: &str) -> Option<(String, u32)> {
    let lower = text.to_ascii_lowercase();
    let (body, base) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (&lower[..], 10),
    };
    underscores_are_valid(&lower).then(|| (body.replace('_', ""), base))
}

/// Underscores must be between digits, or between the prefix and a digit.
fn underscores_are_valid(lower: &str) -> bool {
    if !lower.contains('_') {
        return true;
    }
    let digits = lower.trim_start_matches(['+', '-']);
    let prefixed = matches!(digits.as_bytes(), [b'0', b'x' | b'b' | b'o', ..]);
    let hexadecimal = digits.starts_with("0x");
    let body = if prefixed { &digits[2..] } else { digits };
    let is_digit = |c: char| c.is_ascii_digit() || hexadecimal && c.is_ascii_hexdigit();
    // The prefix counts as a digit.
    let mut before = if prefixed { '0' } else { ' ' };
    for c in body.chars() {
        if c == '_' && !is_digit(before) || before == '_' && !is_digit(c) {
            return false;
        }
        before = c;
    }
    before != '_'
}

fn read_uint(text: &str) -> Option<u64> {
    let (digits, base) = digits(text)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then(|| u64::from_str_radix(&digits, base).ok()).flatten()
}

fn read_int(text: &str) -> Option<i64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = i128::from(read_uint(rest)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// `strconv.ParseFloat`; `None` for numbers out of range.
pub(super) fn read_float(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_start_matches(['+', '-']);
    if lower.len() - digits.len() > 1 {
        return None;
    }
    let sign = if lower.starts_with('-') { -1.0 } else { 1.0 };
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return underscores_are_valid(&lower)
            .then(|| read_hexadecimal(hexadecimal))
            .flatten()
            .map(|f| f * sign);
    }
    // Underscores are allowed in numbers with a prefix only.
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'+' | b'-'));
    let value: f64 = plain.then(|| digits.parse().ok()).flatten()?;
    value.is_finite().then_some(value * sign)
}

/// A hexadecimal number with an exponent, after its `0x`.
fn read_hexadecimal(text: &str) -> Option<f64> {
    let text = text.replace('_', "");
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let exponent: i32 = exponent.parse().ok()?;
    let scaled = value * 2f64.powi(exponent.checked_sub(4 * fraction.len() as i32)?);
    scaled.is_finite().then_some(scaled)
}
