//! Go's `fmt`: `Sprint`, `Sprintln` and `Sprintf`.

mod flags;
mod float;
mod printf;

use flags::Flags;
pub(crate) use printf::printf;

use crate::quote::quoted_bytes;
use crate::value::{Data, Value};

/// `Sprint`: adds a space between operands when neither is a string.
pub(crate) fn print(args: &[Value<'_>]) -> Vec<u8> {
    let mut printer = Printer::default();
    let mut after_text = false;
    for (i, arg) in args.iter().enumerate() {
        let is_text = matches!(arg, Value::Text(_));
        if i > 0 && !is_text && !after_text {
            printer.out.push(b' ');
        }
        printer.arg(arg, 'v');
        after_text = is_text;
    }
    printer.out
}

/// `Sprintln`.
pub(crate) fn println(args: &[Value<'_>]) -> Vec<u8> {
    let mut printer = Printer::default();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            printer.out.push(b' ');
        }
        printer.arg(arg, 'v');
    }
    printer.out.push(b'\n');
    printer.out
}

/// Formats values by verb and flags.
#[derive(Default)]
struct Printer {
    out: Vec<u8>,
    flags: Flags,
    /// Inside `%!verb(type=value)`, where Go does not call `String` methods.
    in_bad_verb: bool,
}

impl Printer {
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Formats an operand.
    fn arg(&mut self, arg: &Value<'_>, verb: char) {
        match (arg, verb) {
            (Value::Nil, 'T' | 'v') => self.padded(b"<nil>"),
            (Value::Nil, _) => self.bad_verb(arg, verb),
            (_, 'T') => {
                let name = arg.type_name().unwrap_or_default().to_owned();
                self.text(name.as_bytes(), 's');
            }
            _ => self.value(arg, verb, 0),
        }
    }

    /// Formats a value; `depth` is its nesting.
    fn value(&mut self, value: &Value<'_>, verb: char, depth: usize) {
        if verb == 'w' && !self.in_bad_verb {
            return self.bad_verb(value, verb);
        }
        match value {
            Value::Nil if verb == 'v' => self.push("<nil>"),
            Value::Nil => self.bad_verb(value, verb),
            Value::Bool(truth) => match verb {
                't' | 'v' => self.padded(if *truth { b"true" } else { b"false" }),
                _ => self.bad_verb(value, verb),
            },
            Value::Int(number) => self.integer(number.unsigned_abs(), *number < 0, true, value, verb),
            Value::Uint(number, _) => self.integer(*number, false, false, value, verb),
            Value::Float(number) => self.float(*number, value, verb),
            Value::Complex(real, imaginary) => self.complex(*real, *imaginary, value, verb),
            Value::Text(text) => match verb {
                'v' if self.flags.sharp_v => self.text(text, 'q'),
                'v' => self.text(text, 's'),
                's' | 'x' | 'X' | 'q' => self.text(text, verb),
                _ => self.bad_verb(value, verb),
            },
            Value::List(data, ..) | Value::Map(data) if data.is_nil() && self.flags.sharp_v => {
                self.push(data.type_name());
                self.push("(nil)");
            }
            Value::List(data, from, to) => {
                self.open(data.type_name(), "[", "{");
                for index in *from..*to {
                    self.separator(index > *from);
                    self.value(&data.item(index), verb, depth + 1);
                }
                self.close();
            }
            Value::Map(data) => {
                self.open(data.type_name(), "map[", "{");
                for index in 0..data.len() {
                    self.separator(index > 0);
                    self.value(&data.key(index), verb, depth + 1);
                    self.push(":");
                    self.value(&data.item(index), verb, depth + 1);
                }
                self.close();
            }
            Value::Struct(data) => match data.string() {
                Some(text) if self.uses_string_method(verb) => {
                    self.text(text.as_bytes(), if verb == 'v' { 's' } else { verb });
                }
                _ => self.fields(*data, verb, depth),
            },
        }
    }

    /// Whether a verb prints the result of a `String` method.
    fn uses_string_method(&self, verb: char) -> bool {
        !self.in_bad_verb && !self.flags.sharp_v && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
    }

    fn fields(&mut self, data: &dyn Data, verb: char, depth: usize) {
        let name = data.type_name();
        // Go prints the struct behind a pointer at depth 0 only; below, it prints the address.
        let bare = name.trim_start_matches('*');
        if bare.len() < name.len() && depth == 0 {
            self.push("&");
        }
        if self.flags.sharp_v {
            self.push(bare);
        }
        self.push("{");
        for (i, (field, value)) in data.fields().iter().enumerate() {
            self.separator(i > 0);
            if self.flags.plus_v || self.flags.sharp_v {
                self.push(field);
                self.push(":");
            }
            self.value(value, verb, depth + 1);
        }
        self.push("}");
    }

    fn open(&mut self, name: &str, plain: &str, sharp: &str) {
        if self.flags.sharp_v {
            self.push(name);
            self.push(sharp);
        } else {
            self.push(plain);
        }
    }

    fn separator(&mut self, needed: bool) {
        if needed {
            self.push(if self.flags.sharp_v { ", " } else { " " });
        }
    }

    fn close(&mut self) {
        self.push(if self.flags.sharp_v { "}" } else { "]" });
    }

    /// `%!d(string=x)`
    fn bad_verb(&mut self, value: &Value<'_>, verb: char) {
        self.push(&format!("%!{verb}("));
        let outer = std::mem::replace(&mut self.in_bad_verb, true);
        match value.type_name() {
            None => self.push("<nil>"),
            Some(name) => {
                let name = format!("{name}=");
                self.push(&name);
                self.value(value, 'v', 0);
            }
        }
        self.in_bad_verb = outer;
        self.push(")");
    }

    fn integer(&mut self, number: u64, negative: bool, signed: bool, value: &Value<'_>, verb: char) {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.digits(number, negative, 16, 'v');
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.digits(number, negative, 10, verb),
            'b' => self.digits(number, negative, 2, verb),
            'o' | 'O' => self.digits(number, negative, 8, verb),
            'x' | 'X' => self.digits(number, negative, 16, verb),
            'c' => {
                let c = character(number, negative);
                self.padded(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            'q' => {
                let c = character(number, negative);
                let quoted = quoted_bytes(c.encode_utf8(&mut [0; 4]).as_bytes(), '\'', self.flags.plus);
                self.padded(quoted.as_bytes());
            }
            'U' => {
                let number = if negative { number.wrapping_neg() } else { number };
                self.code_point(number);
            }
            _ => self.bad_verb(value, verb),
        }
    }

    /// Formats text by `s`, `x`, `X` or `q`.
    fn text(&mut self, text: &[u8], verb: char) {
        match verb {
            's' => {
                let text = self.flags.truncated(text);
                self.padded(text);
            }
            'q' => {
                let text = self.flags.truncated(text);
                let quoted = match std::str::from_utf8(text) {
                    Ok(text) if self.flags.sharp && can_be_raw(text) => format!("`{text}`"),
                    _ => quoted_bytes(text, '"', self.flags.plus),
                };
                self.padded(quoted.as_bytes());
            }
            _ => self.hexadecimal(text, verb == 'X'),
        }
    }
}

/// The character of a number, as `%c` prints it; the replacement character for invalid numbers.
fn character(number: u64, negative: bool) -> char {
    let code = u32::try_from(number).ok().filter(|_| !negative);
    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Go's `strconv.CanBackquote`.
fn can_be_raw(text: &str) -> bool {
    text.chars().all(|c| c != '`' && c != '\u{7f}' && c != '\u{feff}' && (c == '\t' || c >= ' '))
}
