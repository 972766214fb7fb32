//! Character classes: `[a-z]`, `[[:alpha:]]`, `\d`, `\pL`.

use std::iter::Peekable;
use std::str::Chars;

use regex::bytes::Regex;

use super::Reader;

impl<'a> Reader<'a> {
    /// `[...]`, written with all characters as code points.
    pub(super) fn class(&mut self) -> Result<(), String> {
        let start = self.at;
        self.at += 1;
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            match self.peek() {
                None => return Err(format!("missing closing ]: `{}`", &self.whole[start..])),
                Some(']') if !first => break,
                _ => {}
            }
            first = false;
            if let Some(posix) = self.posix_class()? {
                self.out.push_str(posix);
            } else if let Some(class) = self.named_class()? {
                self.out.push_str(&class);
            } else {
                self.range(start)?;
            }
        }
        self.at += 1;
        self.out.push(']');
        Ok(())
    }

    fn posix_class(&mut self) -> Result<Option<&'a str>, String> {
        let rest = self.rest();
        let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) else { return Ok(None) };
        let text = &rest[..end + 4];
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let name = &rest[2..end + 2];
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(format!("invalid character class range: `{text}`"));
        }
        self.at += text.len();
        Ok(Some(text))
    }

    fn range(&mut self, class: usize) -> Result<(), String> {
        let start = self.at;
        let low = self.class_char(class)?;
        let mut high = low;
        let mut ahead: Peekable<Chars<'_>> = self.rest().chars().peekable();
        if ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']') {
            self.at += 1;
            high = self.class_char(class)?;
            if high < low {
                return Err(format!("invalid character class range: `{}`", &self.whole[start..self.at]));
            }
        }
        self.out.push_str(&format!("\\x{{{:X}}}-\\x{{{:X}}}", u32::from(low), u32::from(high)));
        Ok(())
    }

    fn class_char(&mut self, class: usize) -> Result<char, String> {
        if self.peek() == Some('\\') {
            return self.escaped_char();
        }
        self.bump().ok_or_else(|| format!("missing closing ]: `{}`", &self.whole[class..]))
    }

    /// `\d`, `\s`, `\w` and their negations, or `\pL`, without the brackets of a class.
    pub(super) fn named_class(&mut self) -> Result<Option<String>, String> {
        let perl = match self.rest().get(..2) {
            Some("\\d") => "0-9",
            Some("\\D") => "[^0-9]",
            Some("\\s") => "\\t\\n\\x0C\\r\\x20",
            Some("\\S") => "[^\\t\\n\\x0C\\r\\x20]",
            Some("\\w") => "0-9A-Za-z_",
            Some("\\W") => "[^0-9A-Za-z_]",
            Some("\\p" | "\\P") => return self.unicode_class().map(Some),
            _ => return Ok(None),
        };
        self.at += 2;
        Ok(Some(perl.to_owned()))
    }

    fn unicode_class(&mut self) -> Result<String, String> {
        let start = self.at;
        let mut negative = self.rest().starts_with("\\P");
        self.at += 2;
        let invalid = |end: usize| format!("invalid character class range: `{}`", &self.whole[start..end]);
        let mut name = match self.rest().chars().next() {
            None => return Err(invalid(self.whole.len())),
            Some('{') => match self.rest().find('}') {
                None => return Err(invalid(self.whole.len())),
                Some(end) => &self.rest()[1..end],
            },
            Some(letter) => &self.rest()[..letter.len_utf8()],
        };
        let end = self.at + name.len() + if self.rest().starts_with('{') { 2 } else { 0 };
        if let Some(inverted) = name.strip_prefix('^') {
            (negative, name) = (!negative, inverted);
        }
        let class = format!("\\{}{{{name}}}", if negative { 'P' } else { 'p' });
        let known = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && Regex::new(&class).is_ok();
        if !known {
            return Err(invalid(end));
        }
        self.at = end;
        Ok(class)
    }
}
