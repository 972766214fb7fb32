//! Errors of expressions, with their position.

use std::fmt;

/// An error with expr-lang's text. `Display` adds the source line and a marker, if the position is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    column: usize,
    snippet: String,
}

impl Error {
    /// A run-time error, which has no position.
    pub fn new(message: impl Into<String>) -> Error {
        Error { message: message.into(), place: None }
    }

    /// An error at the `at`-th character of the source.
    pub(crate) fn at(source: &str, at: usize, message: impl Into<String>) -> Error {
        let before: String = source.chars().take(at).collect();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let text = source[line_start..].split('\n').next().unwrap_or_default();
        let place = (!text.is_empty()).then(|| Place {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count(),
            snippet: text.replace('\t', " "),
        });
        Error { message: message.into(), place }
    }

    /// The first line, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(Place { line, column, snippet }) = &self.place else { return Ok(()) };
        let dots = ".".repeat(*column);
        write!(f, " ({line}:{})\n | {snippet}\n | {dots}^", column + 1)
    }
}

impl std::error::Error for Error {}
