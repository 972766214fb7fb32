//! Source files and ranges in them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One file and its text.
#[derive(PartialEq, Eq)]
pub struct SourceFile {
    name: String,
    imported: bool,
    text: String,
}

impl SourceFile {
    /// The Corefile itself; `name` is the path given by the operator.
    pub fn main(name: &str, bytes: &[u8]) -> Arc<Self> {
        Arc::new(Self { name: name.to_string(), imported: false, text: decode(bytes) })
    }

    /// A file read by `import`; `path` is absolute.
    pub fn imported(path: &str, bytes: &[u8]) -> Arc<Self> {
        Arc::new(Self { name: path.to_string(), imported: true, text: decode(bytes) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name in the configuration hash: empty for the Corefile itself.
    pub fn hashed_name(&self) -> &str {
        if self.imported { &self.name } else { "" }
    }

    /// Whether two tokens can share a line: CoreDNS compares file names. A file that imports itself counts as another file,
    /// since only the imported copy has a path.
    pub fn same_file(&self, other: &Self) -> bool {
        self.imported == other.imported && self.name == other.name
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

/// A range of one file. Offsets are bytes of [`SourceFile::text`]; line and column count from 1, columns in
/// characters.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    pub file: Arc<SourceFile>,
    pub start: usize,
    pub end: usize,
    pub line: u32,
    pub column: u32,
}

impl Span {
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The text as written, with quotes.
    pub fn raw(&self) -> &str {
        self.file.text.get(self.range()).unwrap_or_default()
    }

    /// The source line on which the span begins, without its line ending.
    pub fn source_line(&self) -> &str {
        let text = &self.file.text;
        let start = text[..self.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        text[start..end].trim_end_matches('\r')
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.name, self.line, self.column)
    }
}

/// Decodes UTF-8 as Go's rune reader does: each invalid byte becomes one replacement character. (The standard library
/// merges some of them.)
pub fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invalid_byte_counts() {
        assert_eq!(decode(b"a\xe2\x82b\xff"), "a\u{fffd}\u{fffd}b\u{fffd}");
        assert_eq!(decode(b"\xed\xa0\x80"), "\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(decode("ž".as_bytes()), "ž");
    }
}
