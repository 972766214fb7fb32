//! A plugin's directive in a document, line by line.

use corefile::{Plugin, Token};

/// A plugin's arguments and properties.
pub(super) struct Lines<'a> {
    pub name: &'a Token,
    pub args: &'a [Token],
    /// The braces, if any.
    pub braces: Option<(&'a Token, &'a Token)>,
    /// The lines between the braces; none is empty.
    pub properties: Vec<&'a [Token]>,
}

impl<'a> Lines<'a> {
    pub fn of(plugin: &'a Plugin) -> Option<Lines<'a>> {
        let (name, rest) = plugin.tokens.split_first()?;
        let Some(open) = rest.iter().position(|token| &*token.text == "{") else {
            return Some(Lines { name, args: rest, braces: None, properties: Vec::new() });
        };
        let (args, braced) = rest.split_at(open);
        let (open, braced) = braced.split_first()?;
        let (close, body) = braced.split_last()?;
        let properties = body.chunk_by(|one, next| next.line() <= last_line(one)).collect();
        Some(Lines { name, args, braces: Some((open, close)), properties })
    }

    /// The lines whose first word is `name`.
    pub fn properties_named(&self, name: &str) -> impl Iterator<Item = &'a [Token]> {
        self.properties
            .iter()
            .copied()
            .filter(move |line| line.first().is_some_and(|token| &*token.text == name))
    }
}

/// A quoted word may contain line breaks.
fn last_line(token: &Token) -> u32 {
    let breaks = token.span.raw().bytes().filter(|byte| *byte == b'\n').count();
    token.line().saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX))
}

/// The tokens as in the file, quotes and variables included.
pub(super) fn source_text(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.span.raw()).collect::<Vec<_>>().join(" ")
}

pub(super) fn texts(tokens: &[Token]) -> Vec<&str> {
    tokens.iter().map(|token| &*token.text).collect()
}
