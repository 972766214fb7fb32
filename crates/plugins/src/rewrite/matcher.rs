//! Matching of names by KIND.

use super::pattern::{Pattern, PatternError};

/// How a rule compares names: the KIND of the Corefile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Exact,
    Prefix,
    Suffix,
    Substring,
    Regex,
}

impl Kind {
    pub fn read(word: &str) -> Option<Kind> {
        Some(match word.to_lowercase().as_str() {
            "exact" => Kind::Exact,
            "prefix" => Kind::Prefix,
            "suffix" => Kind::Suffix,
            "substring" => Kind::Substring,
            "regex" => Kind::Regex,
            _ => return None,
        })
    }
}

/// Names are compared as text in lower case, with the trailing dot.
pub(super) enum Matcher {
    Exact(String),
    Prefix(String),
    Suffix(String),
    Substring(String),
    Regex(Pattern),
}

impl Matcher {
    /// `from` must be normalized as its kind requires.
    pub fn new(kind: Kind, from: String) -> Result<Matcher, PatternError> {
        Ok(match kind {
            Kind::Exact => Matcher::Exact(from),
            Kind::Prefix => Matcher::Prefix(from),
            Kind::Suffix => Matcher::Suffix(from),
            Kind::Substring => Matcher::Substring(from),
            Kind::Regex => Matcher::Regex(Pattern::compile(&from)?),
        })
    }

    /// For rules about replies, whose errors name the field (`ttl`, `rcode`).
    pub fn for_replies(kind: Kind, from: &str, field: &str) -> Result<Matcher, String> {
        let from_text = if kind == Kind::Regex { from.to_owned() } else { normal(from) };
        Matcher::new(kind, from_text).map_err(|error| match error {
            PatternError::TooLong(len) => PatternError::too_long(&format!(" in a {field} rule"), len),
            PatternError::Syntax(_) => format!("invalid regex pattern in a {field} rule: {from}"),
        })
    }

    pub fn matches(&self, name: &str) -> bool {
        match self {
            Matcher::Exact(from) => name == from,
            Matcher::Prefix(from) => name.starts_with(from.as_str()),
            Matcher::Suffix(from) => name.ends_with(from.as_str()),
            Matcher::Substring(from) => name.contains(from.as_str()),
            Matcher::Regex(pattern) => pattern.matches(name),
        }
    }

    /// The name with `to` in place of what matched, if it matches.
    pub fn rewritten(&self, name: &str, to: &str) -> Option<String> {
        match self {
            Matcher::Exact(from) => (name == from).then(|| to.to_owned()),
            Matcher::Prefix(from) => name.strip_prefix(from.as_str()).map(|rest| format!("{to}{rest}")),
            Matcher::Suffix(from) => name.strip_suffix(from.as_str()).map(|rest| format!("{rest}{to}")),
            Matcher::Substring(from) => name.contains(from.as_str()).then(|| name.replace(from, to)),
            Matcher::Regex(pattern) => pattern.expand(name, to),
        }
    }
}

/// In lower case, with the trailing dot.
pub(super) fn normal(name: &str) -> String {
    absolute(name).to_lowercase()
}

/// With the trailing dot; an escaped dot does not count.
pub(super) fn absolute(name: &str) -> String {
    let closed = name.strip_suffix('.').is_some_and(|before| {
        let escapes = before.len() - before.trim_end_matches('\\').len();
        escapes % 2 == 0
    });
    if closed { name.to_owned() } else { format!("{name}.") }
}
