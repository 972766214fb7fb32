//! Offsets in the text of a Corefile: lines, indentation and line endings.

use std::ops::Range;

use corefile::Token;

pub(super) fn range_of(tokens: &[Token]) -> Range<usize> {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.start..last.span.end,
        _ => 0..0,
    }
}

/// The whole line of a property, with a comment at its end; comments above stay. If the line has a brace too, only the
/// property and the space before it.
pub(super) fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let rest = line_rest(text, range.end);
    let ends_line = rest.trim().is_empty() || rest.trim_start().starts_with('#');
    match indent_at(text, range.start) {
        Some(indent) if ends_line => {
            let end = range.end + rest.len();
            range.start - indent.len()..end + line_ending(text, end).len()
        }
        _ => text.get(..range.start).unwrap_or_default().trim_end_matches([' ', '\t']).len()..range.end,
    }
}

/// The rest of the line from `at` on, without its ending.
pub(super) fn line_rest(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    rest.split('\n').next().unwrap_or_default().trim_end_matches('\r')
}

/// The line ending at `at`; empty at the end of the file.
fn line_ending(text: &str, at: usize) -> &'static str {
    let rest = text.get(at..).unwrap_or_default();
    ["\r\n", "\n"].into_iter().find(|ending| rest.starts_with(ending)).unwrap_or_default()
}

/// The indentation before `at`, if only white space precedes it on its line.
pub(super) fn indent_at(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = &before[before.rfind('\n').map_or(0, |newline| newline + 1)..];
    line.chars().all(char::is_whitespace).then_some(line)
}
