//! Strings in quotes, in the two ways Go has.

use std::fmt::Write;

/// As `%q` writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c != ' ' && (c.is_control() || c.is_whitespace()) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// As the `time` package writes it: what is not plain ASCII as hexadecimal.
pub fn quoted_ascii(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        for (text, long, ascii) in [
            ("plain", "\"plain\"", "\"plain\""),
            ("a\"b\\", "\"a\\\"b\\\\\"", "\"a\\\"b\\\\\""),
            ("\t\u{1}", "\"\\t\\x01\"", "\"\\x09\\x01\""),
            ("é", "\"é\"", "\"\\xc3\\xa9\""),
            ("\u{2028}", "\"\\u2028\"", "\"\\xe2\\x80\\xa8\""),
        ] {
            assert_eq!((quoted(text).as_str(), quoted_ascii(text).as_str()), (long, ascii));
        }
    }
}
