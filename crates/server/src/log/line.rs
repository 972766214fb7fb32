//! The format of a log line, as text and as JSON. No state, no output.

use std::fmt::{self, Display};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Format;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
    Fatal,
}

impl Level {
    fn prefix(self) -> &'static [u8] {
        match self {
            Level::Debug => b"[DEBUG] ",
            Level::Info => b"[INFO] ",
            Level::Warning => b"[WARNING] ",
            Level::Error => b"[ERROR] ",
            Level::Fatal => b"[FATAL] ",
        }
    }

    /// The names of Go's slog, which has WARN where CoreDNS's text has WARNING.
    fn json(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warning => "WARN",
            Level::Error => "ERROR",
            Level::Fatal => "FATAL",
        }
    }
}

/// A whole message line.
pub(super) fn message(
    out: &mut Vec<u8>,
    format: Format,
    level: Level,
    plugin: Option<&str>,
    message: &dyn Display,
) {
    match format {
        Format::Text => {
            out.extend_from_slice(level.prefix());
            if let Some(name) = plugin {
                out.extend_from_slice(b"plugin/");
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b": ");
            }
            // Writing to a Vec fails only if the message's own Display does; then the line ends there.
            let _ = write!(out, "{message}");
            end_text(out);
        }
        Format::Json => {
            let mut fields = Fields::open(out, SystemTime::now(), level);
            fields.text("msg", message);
            if let Some(name) = plugin {
                fields.text("plugin", name);
            }
            fields.close();
        }
    }
}

pub(super) fn text_query(out: &mut Vec<u8>, message: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(Level::Info.prefix());
    message(out);
    end_text(out);
}

pub(super) fn json_query(out: &mut Vec<u8>, message: &[u8], more: impl FnOnce(&mut Fields<'_>)) {
    let mut fields = Fields::open(out, SystemTime::now(), Level::Info);
    fields.key("msg");
    fields.quoted(message);
    more(&mut fields);
    fields.close();
}

/// Go's log adds a newline only where there is none.
fn end_text(out: &mut Vec<u8>) {
    if out.last() != Some(&b'\n') {
        out.push(b'\n');
    }
}

/// The members of a JSON line, in the order they are added. Keys are constants and need no escaping.
pub struct Fields<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Fields<'a> {
    fn open(out: &'a mut Vec<u8>, now: SystemTime, level: Level) -> Self {
        out.extend_from_slice(b"{\"time\":\"");
        time(out, now);
        out.extend_from_slice(b"\",\"level\":\"");
        out.extend_from_slice(level.json().as_bytes());
        out.push(b'"');
        Fields { out }
    }

    fn close(self) {
        self.out.extend_from_slice(b"}\n");
    }

    fn key(&mut self, key: &str) {
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn quoted(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        escape(self.out, bytes);
        self.out.push(b'"');
    }

    /// Writing to a Vec cannot fail.
    fn plain(&mut self, key: &str, value: fmt::Arguments<'_>) {
        self.key(key);
        let _ = self.out.write_fmt(value);
    }

    pub fn text(&mut self, key: &str, value: impl Display) {
        self.key(key);
        self.out.push(b'"');
        let _ = fmt::Write::write_fmt(&mut Escaped(self.out), format_args!("{value}"));
        self.out.push(b'"');
    }

    pub fn number(&mut self, key: &str, value: u64) {
        self.plain(key, format_args!("{value}"));
    }

    /// As Go's encoding/json: an exponent only below 1e-6 and from 1e21 on.
    pub fn float(&mut self, key: &str, value: f64) {
        let size = value.abs();
        if !value.is_finite() {
            self.null(key); // JSON cannot represent it.
        } else if size != 0.0 && size < 1e-6 {
            self.plain(key, format_args!("{value:e}"));
        } else if size >= 1e21 {
            // Go keeps the plus: 1e+21.
            let start = self.out.len();
            self.plain(key, format_args!("{value:e}"));
            if let Some(at) = self.out[start..].iter().rposition(|b| *b == b'e') {
                self.out.insert(start + at + 1, b'+');
            }
        } else {
            self.plain(key, format_args!("{value}"));
        }
    }

    pub fn flag(&mut self, key: &str, value: bool) {
        self.plain(key, format_args!("{value}"));
    }

    pub fn null(&mut self, key: &str) {
        self.plain(key, format_args!("null"));
    }
}

struct Escaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text.as_bytes());
        Ok(())
    }
}

/// The inside of a JSON string, as slog escapes it: what JSON demands, U+2028 and U+2029 (which JavaScript takes
/// for line ends), and a replacement character for each byte that is not UTF-8.
fn escape(out: &mut Vec<u8>, mut bytes: &[u8]) {
    // Nearly all of a log line is plain ASCII; copied in runs, a JSON line takes less than half the time.
    while !bytes.is_empty() {
        let (plain, rest) = bytes.split_at(bytes.iter().position(|b| !is_plain(*b)).unwrap_or(bytes.len()));
        out.extend_from_slice(plain);
        let (special, rest) = rest.split_at(rest.iter().position(|b| is_plain(*b)).unwrap_or(rest.len()));
        escape_special(out, special);
        bytes = rest;
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..0x80) && byte != b'"' && byte != b'\\'
}

fn escape_special(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
}

/// RFC 3339 in UTC, with as many digits of the fraction as needed, like Go's RFC3339Nano.
fn time(out: &mut Vec<u8>, now: SystemTime) {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if since.subsec_nanos() != 0 {
        let _ = write!(out, ".{:09}", since.subsec_nanos());
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
    out.push(b'Z');
}

/// The date of a day after 1970-01-01. Counted in years that begin in March, so that the leap day comes last and
/// the months before it follow one formula; an era is 400 years of 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let day = days + 719_468; // Since 0000-03-01.
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153; // 0 is March.
    let date = day - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + u64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn string(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_that_of_coredns() {
        let table: &[(Level, Option<&str>, &str, &str)] = &[
            (Level::Info, None, "hello", "[INFO] hello\n"),
            (Level::Warning, None, "hello", "[WARNING] hello\n"),
            (Level::Error, Some("errors"), "2 a. A: timeout", "[ERROR] plugin/errors: 2 a. A: timeout\n"),
            (Level::Debug, Some("k8s"), "x", "[DEBUG] plugin/k8s: x\n"),
            (Level::Fatal, None, "", "[FATAL] \n"),
            (Level::Info, None, "ends\n", "[INFO] ends\n"),
        ];
        for (level, plugin, text, expected) in table {
            assert_eq!(string(|out| message(out, Format::Text, *level, *plugin, text)), *expected);
        }
        assert_eq!(string(|out| text_query(out, |out| out.extend(b"q"))), "[INFO] q\n");
    }

    /// The line without its time, which is checked on its own below.
    fn timeless(line: &str) -> &str {
        let rest = line.strip_prefix("{\"time\":\"").unwrap();
        rest.split_once("Z\",").unwrap().1
    }

    #[test]
    fn json_is_that_of_slog() {
        let line = string(|out| message(out, Format::Json, Level::Warning, Some("hosts"), &"a\nb"));
        assert_eq!(timeless(&line), "\"level\":\"WARN\",\"msg\":\"a\\nb\",\"plugin\":\"hosts\"}\n");
        let line = string(|out| message(out, Format::Json, Level::Fatal, None, &"x"));
        assert_eq!(timeless(&line), "\"level\":\"FATAL\",\"msg\":\"x\"}\n");

        let line = string(|out| {
            json_query(out, b"\"A IN\"", |f| {
                f.text("plugin", "log");
                f.number("client_port", 53);
                f.flag("dnssec_ok", false);
                f.null("rcode");
                f.float("duration_seconds", 0.000123);
            });
        });
        assert_eq!(
            timeless(&line),
            "\"level\":\"INFO\",\"msg\":\"\\\"A IN\\\"\",\"plugin\":\"log\",\"client_port\":53,\
             \"dnssec_ok\":false,\"rcode\":null,\"duration_seconds\":0.000123}\n"
        );
    }

    #[test]
    fn escapes_are_those_of_slog() {
        // Both sides as printed by Go 1.26's slog.
        let input =
            b"a\"\\/<>&\n\r\t\x08\x0c\x00\x1f\x7f\xe2\x80\xa8\xe2\x80\xa9\xc3\xa9\xff\xf0\x9f\xa6\x80'";
        let expected = "a\\\"\\\\/<>&\\n\\r\\t\\u0008\\u000c\\u0000\\u001f\x7f\\u2028\\u2029é\\ufffd🦀'";
        assert_eq!(string(|out| escape(out, input)), expected);
    }

    #[test]
    fn floats_are_those_of_encoding_json() {
        let table: &[(f64, &str)] = &[
            (0.0, "0"),
            (2.0, "2"),
            (0.000123, "0.000123"),
            (1.23e-6, "0.00000123"),
            (1.23e-7, "1.23e-7"),
            (1e20, "100000000000000000000"),
            (1e22, "1e+22"),
            (f64::NAN, "null"),
        ];
        for (value, text) in table {
            assert_eq!(string(|out| Fields { out }.float("d", *value)), format!(",\"d\":{text}"));
        }
    }

    #[test]
    fn times_are_rfc3339() {
        // `date -u -d @SECONDS +%FT%TZ`
        let table: &[(u64, u32, &str)] = &[
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_399, 0, "2000-02-28T23:59:59Z"),
            (951_782_400, 500_000_000, "2000-02-29T00:00:00.5Z"),
            (951_868_800, 1, "2000-03-01T00:00:00.000000001Z"),
            (1_735_689_599, 0, "2024-12-31T23:59:59Z"),
            (1_794_737_328, 928_419_040, "2026-11-15T10:08:48.92841904Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, nanos, text) in table {
            let now = UNIX_EPOCH + Duration::new(*seconds, *nanos);
            assert_eq!(string(|out| time(out, now)), *text);
        }
    }
}
