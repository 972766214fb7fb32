//! The flags of a verb: padding, truncation, digits.

use super::Printer;
use crate::quote::is_print;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%+v`
    pub plus_v: bool,
    /// `%#v`
    pub sharp_v: bool,
}

impl Flags {
    /// Truncates text to the precision, in characters.
    pub fn truncated(self, text: &[u8]) -> &[u8] {
        let Some(precision) = self.precision else { return text };
        let mut end = 0;
        let mut left = precision;
        while left > 0 && end < text.len() {
            end += char_len(&text[end..]);
            left -= 1;
        }
        &text[..end]
    }
}

/// Bytes of the first character; 1 for an invalid byte.
fn char_len(text: &[u8]) -> usize {
    let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.chars().next().map_or(1, char::len_utf8)
}

fn char_count(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

impl Printer {
    pub(super) fn padding(&mut self, len: usize) {
        let byte = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + len, byte);
    }

    /// Writes a word padded to the width.
    pub(super) fn padded(&mut self, word: &[u8]) {
        let missing = self.flags.width.map_or(0, |width| width.saturating_sub(char_count(word)));
        if self.flags.minus {
            self.out.extend_from_slice(word);
            self.padding(missing);
        } else {
            self.padding(missing);
            self.out.extend_from_slice(word);
        }
    }

    /// Writes a word padded with spaces; it already has its zeros.
    fn padded_by_spaces(&mut self, word: &[u8]) {
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.padded(word);
        self.flags.zero = zero;
    }

    /// Writes an integer in a base.
    pub(super) fn digits(&mut self, number: u64, negative: bool, base: u64, verb: char) {
        let flags = self.flags;
        let mut least = 0;
        if let Some(precision) = flags.precision {
            least = precision;
            if precision == 0 && number == 0 {
                let zero = std::mem::replace(&mut self.flags.zero, false);
                self.padding(flags.width.unwrap_or(0));
                self.flags.zero = zero;
                return;
            }
        } else if let (true, false, Some(width)) = (flags.zero, flags.minus, flags.width) {
            let sign = negative || flags.plus || flags.space;
            least = width.saturating_sub(usize::from(sign));
        }
        let mut digits = match (base, verb) {
            (2, _) => format!("{number:b}"),
            (8, _) => format!("{number:o}"),
            (16, 'X') => format!("{number:X}"),
            (16, _) => format!("{number:x}"),
            _ => number.to_string(),
        };
        if digits.len() < least {
            digits.insert_str(0, &"0".repeat(least - digits.len()));
        }
        let mut word = String::new();
        match (negative, flags.plus, flags.space) {
            (true, _, _) => word.push('-'),
            (_, true, _) => word.push('+'),
            (_, _, true) => word.push(' '),
            _ => {}
        }
        if verb == 'O' {
            word.push_str("0o");
        }
        if flags.sharp {
            word.push_str(match (base, verb) {
                (2, _) => "0b",
                (8, _) if !digits.starts_with('0') => "0",
                (16, 'X') => "0X",
                (16, _) => "0x",
                _ => "",
            });
        }
        word.push_str(&digits);
        self.padded_by_spaces(word.as_bytes());
    }

    /// `U+0041`
    pub(super) fn code_point(&mut self, number: u64) {
        let least = self.flags.precision.unwrap_or(4).max(4);
        let digits = format!("{number:X}");
        let mut word = format!("U+{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
        let c = u32::try_from(number).ok().and_then(char::from_u32);
        if let Some(c) = c.filter(|c| self.flags.sharp && is_print(*c)) {
            word.push_str(&format!(" '{c}'"));
        }
        self.padded_by_spaces(word.as_bytes());
    }

    /// Writes bytes in hexadecimal.
    pub(super) fn hexadecimal(&mut self, text: &[u8], upper: bool) {
        let flags = self.flags;
        let text = &text[..flags.precision.unwrap_or(text.len()).min(text.len())];
        let prefix = match (flags.sharp, upper) {
            (false, _) => "",
            (true, false) => "0x",
            (true, true) => "0X",
        };
        let mut word = String::new();
        for (i, byte) in text.iter().enumerate() {
            if i == 0 || flags.space {
                if i > 0 {
                    word.push(' ');
                }
                word.push_str(prefix);
            }
            word.push_str(&if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
        }
        self.padded(word.as_bytes());
    }
}
