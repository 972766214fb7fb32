//! Floating point numbers as `strconv.FormatFloat` and `fmt` format them.

use super::Printer;
use crate::value::Value;

impl Printer {
    pub(super) fn float(&mut self, number: f64, value: &Value<'_>, verb: char) {
        match verb {
            'v' => self.number(number, 'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => self.number(number, verb, None),
            'f' | 'e' | 'E' => self.number(number, verb, Some(6)),
            'F' => self.number(number, 'f', Some(6)),
            _ => self.bad_verb(value, verb),
        }
    }

    pub(super) fn complex(&mut self, real: f64, imaginary: f64, value: &Value<'_>, verb: char) {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(value, verb);
        }
        self.push("(");
        self.float(real, value, verb);
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float(imaginary, value, verb);
        self.push("i)");
        self.flags.plus = plus;
    }

    fn number(&mut self, number: f64, verb: char, precision: Option<usize>) {
        let flags = self.flags;
        let precision = flags.precision.or(precision);
        let mut sign = if number.is_sign_negative() && !number.is_nan() { '-' } else { '+' };
        let mut digits = format_float(number.abs(), verb, precision);
        if flags.space && sign == '+' && !flags.plus {
            sign = ' ';
        }
        if !number.is_finite() {
            let zero = std::mem::replace(&mut self.flags.zero, false);
            let signed = !(number.is_nan() && !flags.space && !flags.plus)
                && (sign != '+' || flags.plus || !number.is_nan());
            let word = if signed && (sign != '+' || flags.plus || number.is_infinite()) {
                format!("{sign}{digits}")
            } else {
                digits
            };
            self.padded(word.as_bytes());
            self.flags.zero = zero;
            return;
        }
        if flags.sharp && verb != 'b' {
            digits = with_all_digits(&digits, verb, precision);
        }
        let has_sign = flags.plus || sign != '+';
        if !has_sign {
            return self.padded(digits.as_bytes());
        }
        let word = format!("{sign}{digits}");
        match flags.width {
            Some(width) if flags.zero && !flags.minus && width > word.len() => {
                self.out.push(sign as u8);
                self.padding(width - word.len());
                self.push(&digits);
            }
            _ => self.padded(word.as_bytes()),
        }
    }
}

/// With the flag `#` the point and trailing zeros stay.
fn with_all_digits(text: &str, verb: char, precision: Option<usize>) -> String {
    let mut digits = match verb {
        'g' | 'G' | 'x' => precision.map_or(6, |precision| precision as i64),
        _ => 0,
    };
    let exponent_marks: &[char] = if matches!(verb, 'x' | 'X') { &['p', 'P'] } else { &['p', 'P', 'e', 'E'] };
    let (mut number, tail) = match text.find(exponent_marks) {
        Some(at) => (text[..at].to_owned(), &text[at..]),
        None => (text.to_owned(), ""),
    };
    let mut seen = false;
    for c in number.chars().filter(|c| *c != '.') {
        seen |= c != '0';
        digits -= i64::from(seen);
    }
    if !number.contains('.') {
        if number == "0" {
            digits -= 1;
        }
        number.push('.');
    }
    number.push_str(&"0".repeat(usize::try_from(digits).unwrap_or(0)));
    number + tail
}

/// Formats a non-negative number.
fn format_float(number: f64, verb: char, precision: Option<usize>) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return "Inf".into();
    }
    match verb {
        'b' => binary(number),
        'x' | 'X' => hexadecimal(number, verb, precision),
        'e' | 'E' => exponential(&scientific(number, precision), verb),
        'f' => match precision {
            Some(precision) => {
                let exact = precision.min(MAX_DIGITS);
                format!("{number:.exact$}") + &"0".repeat(precision - exact)
            }
            None => number.to_string(),
        },
        _ => general(number, verb, precision),
    }
}

/// More digits than any number has; further ones are zeros.
const MAX_DIGITS: usize = 1_100;

/// `d.ddde[-]x`, as Rust formats it.
fn scientific(number: f64, precision: Option<usize>) -> String {
    let Some(precision) = precision else { return format!("{number:e}") };
    let exact = precision.min(MAX_DIGITS);
    let text = format!("{number:.exact$e}");
    match text.split_once('e') {
        Some((digits, exponent)) if precision > exact => {
            format!("{digits}{}e{exponent}", "0".repeat(precision - exact))
        }
        _ => text,
    }
}

/// Adds the sign and at least two digits of the exponent.
fn exponential(scientific: &str, verb: char) -> String {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{verb}{sign}{:02}", exponent.abs())
}

fn general(number: f64, verb: char, precision: Option<usize>) -> String {
    let precision = precision.map(|precision| precision.max(1));
    let scientific = scientific(number, precision.map(|precision| precision - 1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let mut threshold = precision.map_or(6, |precision| precision as i32);
    let count = digits.len() as i32;
    if threshold > count && count > exponent {
        threshold = count;
    }
    if precision.is_none() {
        threshold = 6;
    }
    if exponent < -4 || exponent >= threshold {
        let mut mantissa = digits[..1].to_owned();
        if digits.len() > 1 {
            mantissa.push('.');
            mantissa.push_str(&digits[1..]);
        }
        let letter = if verb == 'G' { 'E' } else { 'e' };
        return exponential(&format!("{mantissa}e{exponent}"), letter);
    }
    let whole_len = exponent + 1;
    if whole_len <= 0 {
        return format!("0.{}{digits}", "0".repeat(whole_len.unsigned_abs() as usize));
    }
    let whole_len = whole_len as usize;
    if digits.len() <= whole_len {
        return format!("{digits}{}", "0".repeat(whole_len - digits.len()));
    }
    format!("{}.{}", &digits[..whole_len], &digits[whole_len..])
}

/// The mantissa as an integer and a power of two.
fn binary(number: f64) -> String {
    let (mantissa, exponent) = parts(number);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}p{sign}{}", exponent.abs())
}

fn parts(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, 1 - 1075),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}

/// `0x1.8p+01`
fn hexadecimal(number: f64, verb: char, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(number);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // Bit 60 is before the point, so that 15 digits follow it.
        let shift = mantissa.leading_zeros() as i32 - 3;
        mantissa <<= shift;
        exponent += 60 - shift;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let kept = 60 - 4 * precision as u32;
        let rest = mantissa & ((1 << kept) - 1);
        let half = 1 << (kept - 1);
        mantissa >>= kept;
        if rest > half || rest == half && mantissa & 1 == 1 {
            mantissa += 1;
        }
        mantissa <<= kept;
        if mantissa & 1 << 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let fraction = match precision {
        Some(precision) if precision >= 15 => digits + &"0".repeat(precision - 15),
        Some(precision) => digits[..precision].to_owned(),
        None => digits.trim_end_matches('0').to_owned(),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let text = format!("0x{}{point}{fraction}p{sign}{:02}", mantissa >> 60, exponent.abs());
    if verb == 'X' { text.to_uppercase() } else { text }
}
