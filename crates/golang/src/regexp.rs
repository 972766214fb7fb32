//! Go's regular expressions, translated to the syntax of the `regex` crate.
//!
//! In Go `\d`, `\w`, `\s` and `\b` are ASCII; a `{` without a count and most escaped punctuation are literals; classes
//! have no intersection; `a**` is an error. So the expression is parsed by Go's rules, with Go's errors, and written
//! again in syntax that means the same in both.

mod class;
mod escape;

use regex::bytes::{Regex, RegexBuilder};

/// Go's limit for `{n,m}`, also when nested.
const MAX_REPEAT: u32 = 1000;
/// Go's limit.
const MAX_NESTING: u32 = 1000;
/// Go limits the compiled size only by the two above; expressions within these stay below this in practice.
const MAX_COMPILED: usize = 64 << 20;

/// A compiled Go regular expression.
#[derive(Debug)]
pub struct Regexp {
    source: String,
    // Matches bytes, because only then `\B` can be ASCII-only.
    regex: Regex,
    /// Names of the groups, the whole match first; empty for unnamed groups.
    names: Box<[String]>,
    /// The `regex` crate's index of each group; it drops groups that can never match, as in `(a){0}`.
    indices: Box<[Option<usize>]>,
}

/// Positions of a match's groups in the text, the whole match first.
#[derive(Debug)]
pub struct Groups(Box<[Option<(usize, usize)>]>);

impl Groups {
    /// Number of groups, with the whole match.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A group's text; empty if it did not participate. `text` is the text searched.
    pub fn get<'t>(&self, text: &'t str, group: usize) -> &'t str {
        let range = self.0.get(group).copied().flatten();
        range.and_then(|(start, end)| text.get(start..end)).unwrap_or_default()
    }
}

impl Regexp {
    /// The error is Go's.
    pub fn compile(source: &str) -> Result<Regexp, String> {
        let failed = |reason: String| format!("error parsing regexp: {reason}");
        let (translated, names) = translate(source).map_err(failed)?;
        let regex = RegexBuilder::new(&translated)
            .size_limit(MAX_COMPILED)
            .nest_limit(MAX_NESTING)
            .build()
            .map_err(|error| failed(last_line(&error.to_string())))?;
        let index = |group: usize| match group {
            0 => Some(0),
            _ => regex.capture_names().position(|name| name == Some(&group_name(group))),
        };
        let indices = (0..names.len()).map(index).collect();
        Ok(Regexp { source: source.to_owned(), regex, names, indices })
    }

    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    /// As [`Regexp::matches`], for bytes that need not be UTF-8.
    pub fn matches_octets(&self, octets: &[u8]) -> bool {
        self.regex.is_match(octets)
    }

    /// Number of groups, without the whole match.
    pub fn groups(&self) -> usize {
        self.names.len() - 1
    }

    /// The first match and its groups; a group that did not participate is empty.
    pub fn find<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let found = self.regex.captures(text.as_bytes())?;
        let group = |index: &Option<usize>| {
            index.and_then(|index| text.get(found.get(index)?.range())).unwrap_or_default()
        };
        Some(self.indices.iter().map(group).collect())
    }

    /// The first match's groups.
    pub fn find_groups(&self, text: &str) -> Option<Groups> {
        let found = self.regex.captures(text.as_bytes())?;
        let group = |index: &Option<usize>| {
            let group = found.get((*index)?)?;
            Some((group.start(), group.end()))
        };
        Some(Groups(self.indices.iter().map(group).collect()))
    }

    /// Names of the groups, the whole match first; empty for unnamed groups.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Name of a group in the translation.
fn group_name(group: usize) -> String {
    format!("g{group}")
}

/// The last line of the `regex` crate's multi-line error has the reason.
fn last_line(error: &str) -> String {
    let line = error.lines().last().unwrap_or(error);
    line.trim_start_matches("error: ").to_owned()
}

fn translate(source: &str) -> Result<(String, Box<[String]>), String> {
    let mut reader = Reader {
        whole: source,
        at: 0,
        out: String::new(),
        flags: String::new(),
        groups: vec![Group::default()],
        names: vec![String::new()],
    };
    while let Some(c) = reader.peek() {
        reader.item(c)?;
    }
    if reader.groups.len() > 1 {
        return Err(format!("missing closing ): `{source}`"));
    }
    Ok((reader.out, reader.names.into()))
}

/// A group being parsed; the outermost is the whole expression.
#[derive(Default)]
struct Group {
    /// Product of the repeat counts inside the last item; `None` if there is no item to repeat.
    last: Option<u32>,
    /// Maximum of the items before it.
    max: u32,
    /// Start of the repetition operator that ends here.
    repeated_from: Option<usize>,
}

impl Group {
    /// Ends the last item: it can no longer be repeated.
    fn end_item(&mut self) {
        self.max = self.max.max(self.last.take().unwrap_or(0));
        self.repeated_from = None;
    }
}

struct Reader<'a> {
    whole: &'a str,
    at: usize,
    out: String,
    /// Flags parsed but not yet written: `a(?i)*` repeats the `a`, so they follow the operator.
    flags: String,
    groups: Vec<Group>,
    /// Names of the capturing groups, the whole expression first.
    names: Vec<String>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.whole[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    fn group(&mut self) -> &mut Group {
        // The outermost group is never closed.
        self.groups.last_mut().expect("a group is open")
    }

    /// Records a new item with the product of its repeat counts.
    fn begin_item(&mut self, repeats: u32) {
        let group = self.group();
        group.end_item();
        group.last = Some(repeats);
    }

    fn item(&mut self, c: char) -> Result<(), String> {
        let repeats = matches!(c, '*' | '+' | '?') || read_count(self.rest()).is_some();
        if !repeats && c != '(' {
            self.write_flags();
        }
        match c {
            '(' => self.open(),
            ')' => self.close(),
            '|' => {
                self.at += 1;
                self.out.push('|');
                self.group().end_item();
                Ok(())
            }
            '*' | '+' | '?' => {
                let start = self.at;
                self.at += 1;
                self.out.push(c);
                self.repeat(start, 1)
            }
            '{' => self.count(),
            '[' => {
                self.class()?;
                self.begin_item(1);
                Ok(())
            }
            '^' | '$' | '.' => {
                self.at += 1;
                self.out.push(c);
                self.begin_item(1);
                Ok(())
            }
            '\\' => self.escape(),
            _ => {
                self.at += c.len_utf8();
                self.literal(c);
                Ok(())
            }
        }
    }

    fn write_flags(&mut self) {
        self.out.push_str(&self.flags);
        self.flags.clear();
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
        self.begin_item(1);
    }

    /// Checks a repetition operator that was read and written; `times` is its count.
    fn repeat(&mut self, start: usize, times: u32) -> Result<(), String> {
        if self.eat("?") {
            self.out.push('?');
        }
        let counted = &self.whole[start..self.at];
        let Some(inner) = self.group().last else {
            let operator = &self.whole[start..self.at];
            return Err(format!("missing argument to repetition operator: `{operator}`"));
        };
        if let Some(first) = self.group().repeated_from {
            let both = &self.whole[first..self.at];
            return Err(format!("invalid nested repetition operator: `{both}`"));
        }
        let repeats = inner.max(1).saturating_mul(times);
        if times > 1 && repeats > MAX_REPEAT {
            return Err(format!("invalid repeat count: `{counted}`"));
        }
        let group = self.group();
        group.last = Some(repeats);
        group.repeated_from = Some(start);
        Ok(())
    }

    /// `{n}`, `{n,}`, `{n,m}`, or a literal brace.
    fn count(&mut self) -> Result<(), String> {
        let start = self.at;
        let Some((min, max, len)) = read_count(self.rest()) else {
            self.at += 1;
            self.literal('{');
            return Ok(());
        };
        self.at += len;
        let text = &self.whole[start..self.at];
        let (Some(min), Some(max)) = (min, max) else {
            return Err(format!("invalid repeat count: `{text}`"));
        };
        if max.is_some_and(|max| min > max) {
            return Err(format!("invalid repeat count: `{text}`"));
        }
        self.out.push_str(text);
        self.repeat(start, max.unwrap_or(min))
    }

    /// Reads the start of a group, or flags. Capturing groups get generated names.
    fn open(&mut self) -> Result<(), String> {
        let start = self.at;
        if !self.eat("(?") {
            self.at += 1;
            self.begin_capture("");
            return Ok(());
        }
        let named = self.whole[start..].len() > 4 && self.rest().starts_with("P<")
            || self.whole[start..].len() > 3 && self.rest().starts_with('<');
        if named {
            return self.open_named(start);
        }
        let flags = self.at;
        let (mut negative, mut saw_flag) = (false, false);
        while let Some(c) = self.bump() {
            match c {
                'i' | 'm' | 's' | 'U' => saw_flag = true,
                '-' if !negative => (negative, saw_flag) = (true, false),
                ':' | ')' if !negative || saw_flag => {
                    let flags = &self.whole[flags..self.at - 1];
                    if c == ':' {
                        self.begin_group(&format!("(?{flags}:"));
                    } else {
                        if !flags.is_empty() {
                            self.flags.push_str(&format!("(?{flags})"));
                        }
                        self.group().repeated_from = None;
                    }
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(format!("invalid or unsupported Perl syntax: `{}`", &self.whole[start..self.at]))
    }

    fn open_named(&mut self, start: usize) -> Result<(), String> {
        let rest = self.rest();
        let name_at = if rest.starts_with('P') { 2 } else { 1 };
        let Some(end) = rest.find('>') else {
            return Err(format!("invalid named capture: `{}`", &self.whole[start..]));
        };
        let name = &rest[name_at..end];
        self.at += end + 1;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("invalid named capture: `{}`", &self.whole[start..self.at]));
        }
        self.begin_capture(name);
        Ok(())
    }

    fn begin_capture(&mut self, name: &str) {
        let open = format!("(?P<{}>", group_name(self.names.len()));
        self.names.push(name.to_owned());
        self.begin_group(&open);
    }

    fn begin_group(&mut self, text: &str) {
        self.write_flags();
        self.out.push_str(text);
        self.groups.push(Group::default());
    }

    fn close(&mut self) -> Result<(), String> {
        if self.groups.len() == 1 {
            return Err(format!("unexpected ): `{}`", self.whole));
        }
        let closed = self.groups.pop().map_or(1, |group| group.max.max(group.last.unwrap_or(0)));
        self.at += 1;
        self.out.push(')');
        self.begin_item(closed);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        if self.eat("\\Q") {
            let (text, end) = match self.rest().split_once("\\E") {
                Some((text, _)) => (text, text.len() + 2),
                None => (self.rest(), self.rest().len()),
            };
            self.at += end;
            text.chars().for_each(|c| self.literal(c));
            return Ok(());
        }
        let written = match self.rest().get(1..2) {
            Some("A") => Some("\\A"),
            Some("z") => Some("\\z"),
            Some("b") => Some("(?-u:\\b)"),
            Some("B") => Some("(?-u:\\B)"),
            _ => None,
        };
        if let Some(written) = written {
            self.at += 2;
            self.out.push_str(written);
            self.begin_item(1);
            return Ok(());
        }
        if let Some(class) = self.named_class()? {
            self.out.push_str(&format!("[{class}]"));
            self.begin_item(1);
            return Ok(());
        }
        let c = self.escaped_char()?;
        self.literal(c);
        Ok(())
    }
}

fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:X}}}", u32::from(c)));
    }
}

/// The numbers of `{n,m}` and its length. A number above the limit is `None`; an open maximum is `Some(None)`.
fn read_count(text: &str) -> Option<(Option<u32>, Option<Option<u32>>, usize)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        // `{01}` is literal.
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        (plain && !leading_zero).then(|| digits.parse().ok().filter(|n| *n <= MAX_REPEAT))
    };
    let (min, max) = match inner[..end].split_once(',') {
        None => {
            let count = number(&inner[..end])?;
            (count, count.map(Some))
        }
        Some((min, "")) => (number(min)?, Some(None)),
        Some((min, max)) => (number(min)?, number(max)?.map(Some)),
    };
    Some((min, max, end + 2))
}

#[cfg(test)]
mod tests;
