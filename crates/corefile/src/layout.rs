//! Indentation, line endings and line positions of a document, so that inserted text has the style of the rest.

use crate::document::{Document, Item};

const DEFAULT_INDENT: &str = "    ";

/// White space for new text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub newline: &'static str,
    /// Before a plugin's name.
    pub plugin: String,
    /// Additional indentation of a property between a plugin's braces.
    pub step: String,
}

impl Layout {
    /// The layout of `block`, or else of the first block that shows one.
    pub fn of(document: &Document, block: Option<&Item>) -> Self {
        let text = document.text();
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let blocks = || block.into_iter().chain(document.items());
        let plugin = blocks().find_map(|item| plugin_indent(text, item));
        let step = blocks().find_map(|item| property_step(text, item));
        // Properties are indented by as much again as plugins.
        let plugin = plugin.unwrap_or_else(|| DEFAULT_INDENT.to_string());
        let step = step.unwrap_or_else(|| match plugin.as_str() {
            "" => DEFAULT_INDENT.to_string(),
            indent => indent.to_string(),
        });
        Self { newline, plugin, step }
    }
}

fn plugin_indent(text: &str, item: &Item) -> Option<String> {
    item.plugins.iter().find_map(|plugin| indent_at(text, plugin.range().start)).map(str::to_string)
}

fn property_step(text: &str, item: &Item) -> Option<String> {
    item.plugins.iter().find_map(|plugin| {
        let own = indent_at(text, plugin.range().start)?;
        let brace = plugin.tokens.iter().position(|token| &*token.text == "{")?;
        let property = plugin.tokens.get(brace + 1).filter(|token| &*token.text != "}")?;
        let step = indent_at(text, property.span.start)?.strip_prefix(own)?;
        (!step.is_empty()).then(|| step.to_string())
    })
}

/// The white space before `at`, if only white space precedes it on its line.
pub(crate) fn indent_at(text: &str, at: usize) -> Option<&str> {
    let before = &text[line_start(text, at)..at];
    before.chars().all(char::is_whitespace).then_some(before)
}

/// Start of the line that `at` is on; on the first line after a byte order mark.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    match text[..at].rfind('\n') {
        Some(newline) => newline + 1,
        None if text.starts_with('\u{feff}') => '\u{feff}'.len_utf8().min(at),
        None => 0,
    }
}

/// End of the line that `at` is on, its line ending included.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Whether the line before the one that begins at `at` is blank; true before the first line.
pub(crate) fn blank_before(text: &str, at: usize) -> bool {
    match text[..at].strip_suffix('\n') {
        Some(before) => text[line_start(text, before.len())..at].trim().is_empty(),
        None => text[..at].trim_start_matches('\u{feff}').is_empty(),
    }
}

/// Whether the line that begins at `at` is blank; true after the last line.
pub(crate) fn blank_after(text: &str, at: usize) -> bool {
    text[at..line_end(text, at)].trim().is_empty()
}
