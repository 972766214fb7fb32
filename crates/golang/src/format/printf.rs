//! `Sprintf`: parses `%`, flags, argument index, width, precision and verb.

use super::Printer;
use super::flags::Flags;
use crate::value::Value;

/// Largest width, precision and argument index.
const MAX_NUMBER: i64 = 1_000_000;

pub(crate) fn printf(format: &[u8], args: &[Value<'_>]) -> Vec<u8> {
    let mut reader = Reader {
        format,
        at: 0,
        args,
        arg: 0,
        reordered: false,
        good_index: true,
        after_index: false,
        printer: Printer::default(),
    };
    while reader.directive() {}
    reader.extra();
    reader.printer.out
}

struct Reader<'a> {
    format: &'a [u8],
    at: usize,
    args: &'a [Value<'a>],
    /// The next argument.
    arg: usize,
    /// Whether the format has an argument index.
    reordered: bool,
    /// Whether the argument indexes of this directive are valid.
    good_index: bool,
    /// Directly after an argument index.
    after_index: bool,
    printer: Printer,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// Formats the text up to the next `%` and its directive; false at the end.
    fn directive(&mut self) -> bool {
        self.good_index = true;
        let rest = &self.format[self.at..];
        let text = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        self.printer.out.extend_from_slice(&rest[..text]);
        self.at += text;
        if self.byte().is_none() {
            return false;
        }
        self.at += 1;
        self.printer.flags = Flags::default();
        if self.flags() {
            return true;
        }
        self.index();
        self.width();
        self.precision();
        if !self.after_index {
            self.index();
        }
        let Some(verb) = self.verb() else {
            self.printer.push("%!(NOVERB)");
            return false;
        };
        self.apply(verb);
        true
    }

    /// Reads flags. Also formats a lower-case verb directly after them; true if it did.
    fn flags(&mut self) -> bool {
        while let Some(byte) = self.byte() {
            let flags = &mut self.printer.flags;
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                b'a'..=b'z' if self.arg < self.args.len() => {
                    self.at += 1;
                    self.print(char::from(byte));
                    return true;
                }
                _ => break,
            }
            self.at += 1;
        }
        false
    }

    fn print(&mut self, verb: char) {
        let flags = &mut self.printer.flags;
        if matches!(verb, 'v' | 'w') {
            flags.sharp_v = std::mem::take(&mut flags.sharp);
            flags.plus_v = std::mem::take(&mut flags.plus);
        }
        if let Some(arg) = self.args.get(self.arg) {
            self.printer.arg(arg, verb);
        }
        self.arg += 1;
    }

    /// Reads an argument index, `[n]`.
    fn index(&mut self) {
        self.after_index = false;
        if self.byte() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let end = if rest.len() < 3 { None } else { rest.iter().position(|byte| *byte == b']') };
        let Some(end) = end else {
            self.at += 1;
            self.good_index = false;
            return;
        };
        self.at += end + 1;
        let number = std::str::from_utf8(&rest[1..end])
            .ok()
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number =
            number.and_then(|digits| digits.parse::<usize>().ok()).filter(|n| *n <= MAX_NUMBER as usize);
        self.after_index = number.is_some();
        match number.and_then(|number| number.checked_sub(1)).filter(|index| *index < self.args.len()) {
            Some(index) => self.arg = index,
            None => self.good_index = false,
        }
    }

    /// Reads a number, unless it is too large.
    fn digits(&mut self) -> Option<usize> {
        let start = self.at;
        let mut number: i64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            if number > MAX_NUMBER {
                // The next digit is then read as the verb.
                return None;
            }
            number = number * 10 + i64::from(digit - b'0');
            self.at += 1;
        }
        (self.at > start).then_some(number as usize)
    }

    /// The argument for `*`, if it is a valid number.
    fn star(&mut self) -> Option<i64> {
        let value = self.args.get(self.arg)?;
        self.arg += 1;
        let number = match value {
            Value::Int(number) => *number,
            Value::Uint(number, _) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        (-MAX_NUMBER..=MAX_NUMBER).contains(&number).then_some(number)
    }

    fn width(&mut self) {
        if self.byte() == Some(b'*') {
            self.at += 1;
            let width = self.star();
            if width.is_none() {
                self.printer.push("%!(BADWIDTH)");
            }
            let flags = &mut self.printer.flags;
            if width.is_some_and(|width| width < 0) {
                flags.minus = true;
                flags.zero = false;
            }
            flags.width = width.map(|width| width.unsigned_abs() as usize);
            self.after_index = false;
            return;
        }
        self.printer.flags.width = self.digits();
        if self.after_index && self.printer.flags.width.is_some() {
            self.good_index = false;
        }
    }

    fn precision(&mut self) {
        if self.byte() != Some(b'.') || self.at + 1 >= self.format.len() {
            return;
        }
        self.at += 1;
        if self.after_index {
            self.good_index = false;
        }
        self.index();
        if self.byte() == Some(b'*') {
            self.at += 1;
            let precision = self.star().and_then(|precision| usize::try_from(precision).ok());
            if precision.is_none() {
                self.printer.push("%!(BADPREC)");
            }
            self.printer.flags.precision = precision;
            self.after_index = false;
        } else {
            self.printer.flags.precision = Some(self.digits().unwrap_or(0));
        }
    }

    fn verb(&mut self) -> Option<char> {
        let rest = self.format.get(self.at..).filter(|rest| !rest.is_empty())?;
        let valid = rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let verb = valid.chars().next();
        self.at += verb.map_or(1, char::len_utf8);
        Some(verb.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn apply(&mut self, verb: char) {
        if verb == '%' {
            self.printer.push("%");
        } else if !self.good_index {
            self.printer.push(&format!("%!{verb}(BADINDEX)"));
        } else if self.arg >= self.args.len() {
            self.printer.push(&format!("%!{verb}(MISSING)"));
        } else {
            self.print(verb);
        }
    }

    /// Reports unused arguments.
    fn extra(&mut self) {
        if self.reordered || self.arg >= self.args.len() {
            return;
        }
        let printer = &mut self.printer;
        printer.flags = Flags::default();
        printer.push("%!(EXTRA ");
        for (i, arg) in self.args[self.arg..].iter().enumerate() {
            if i > 0 {
                printer.push(", ");
            }
            if let Some(name) = arg.type_name() {
                let name = format!("{name}=");
                printer.push(&name);
            }
            printer.arg(arg, 'v');
        }
        printer.push(")");
    }
}
