//! One Corefile as written, for reading and editing. Imports and variables are not expanded.
//!
//! A document is its text; items are ranges of it. Every edit (see `edit.rs`) changes the text and parses it again, so
//! all other text stays the same to the byte.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::dispenser::Dispenser;
use crate::key::{self, ZoneKey};
use crate::lexer;
use crate::span::SourceFile;
use crate::token::Token;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub(crate) file: Arc<SourceFile>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) items: Vec<Item>,
}

/// An item at the top level of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub kind: ItemKind,
    /// Keys as written, without trailing commas; for an import, its arguments.
    pub keys: Vec<Token>,
    pub plugins: Vec<Plugin>,
    pub(crate) open: Option<Token>,
    pub(crate) close: Option<Token>,
    /// End of the line of keys, before the brace.
    pub(crate) keys_end: usize,
    /// From the first key to the end of the body.
    pub(crate) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    Server,
    /// `(name) { ... }`
    Snippet,
    /// `import X` outside of any block
    Import,
}

/// One directive or import in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The name first, then arguments and braces.
    pub tokens: Vec<Token>,
}

impl Plugin {
    pub fn name(&self) -> &str {
        self.tokens.first().map_or("", |token| &token.text)
    }

    /// A cursor positioned before the plugin's name.
    pub fn dispenser(&self) -> Dispenser<'_> {
        let file = self.tokens.first().map_or("", |token| token.span.file.name());
        Dispenser::new(file, &self.tokens)
    }

    pub(crate) fn range(&self) -> Range<usize> {
        range_of(&self.tokens)
    }
}

impl Item {
    /// Index of the first plugin called `name`.
    pub fn find_plugin(&self, name: &str) -> Option<usize> {
        self.plugins.iter().position(|plugin| plugin.name() == name)
    }

    /// Whether one of the keys expands to a zone of `key`, whatever their spelling.
    fn serves(&self, key: &str) -> bool {
        self.keys.iter().any(|own| self.same_zone(&own.text, key))
    }

    pub(crate) fn same_zone(&self, one: &str, other: &str) -> bool {
        let zones = self.zones_of(one);
        self.zones_of(other).iter().any(|zone| zones.contains(zone))
    }

    fn zones_of(&self, key: &str) -> Vec<String> {
        let Some(first) = self.keys.first() else { return Vec::new() };
        let zones = key::expand(key, &first.span, "53").unwrap_or_default();
        zones.iter().map(ZoneKey::to_string).collect()
    }
}

impl Document {
    /// Parses a file named `Corefile`.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        Self::parse_named("Corefile", text)
    }

    /// Parses `text`; `name` is for messages. Fails on unbalanced braces.
    pub fn parse_named(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let file = SourceFile::main(name, text.as_bytes());
        let tokens = lexer::tokens(&file);
        let items = Reader { tokens: &tokens, at: 0 }.items()?;
        Ok(Self { file, tokens, items })
    }

    pub fn name(&self) -> &str {
        self.file.name()
    }

    pub fn text(&self) -> &str {
        self.file.text()
    }

    /// All items, in order. Edits take indices into this.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The server blocks, with their indices.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().filter(|(_, item)| item.kind == ItemKind::Server)
    }

    /// Index of the first server block that serves a zone of `key`: `example.org` finds `EXAMPLE.org.:53`.
    pub fn find_block(&self, key: &str) -> Option<usize> {
        self.blocks().find(|(_, block)| block.serves(key)).map(|(at, _)| at)
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

pub(crate) fn range_of(tokens: &[Token]) -> Range<usize> {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.start..last.span.end,
        _ => 0..0,
    }
}

/// Parses the grammar of `parse.rs` without expanding anything.
struct Reader<'a> {
    tokens: &'a [Token],
    /// The next token to read.
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn peek_is(&self, text: &str) -> bool {
        self.peek().is_some_and(|token| &*token.text == text)
    }

    fn previous(&self) -> Option<&'a Token> {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at))
    }

    fn begins_line(&self) -> bool {
        match (self.previous(), self.peek()) {
            (Some(previous), Some(next)) => previous.line_breaks_before(next),
            _ => true,
        }
    }

    fn items(mut self) -> Result<Vec<Item>, Diagnostic> {
        let mut items = Vec::new();
        while self.peek().is_some() {
            let start = self.at;
            let mut item =
                if self.peek_is("import") && self.begins_line() { self.import() } else { self.block()? };
            item.range = range_of(&self.tokens[start..self.at]);
            items.push(item);
        }
        Ok(items)
    }

    fn import(&mut self) -> Item {
        self.at += 1;
        let start = self.at;
        while self.peek().is_some() && !self.begins_line() {
            self.at += 1;
        }
        let keys = self.tokens[start..self.at].to_vec();
        Item {
            kind: ItemKind::Import,
            keys,
            plugins: Vec::new(),
            open: None,
            close: None,
            keys_end: 0,
            range: 0..0,
        }
    }

    fn block(&mut self) -> Result<Item, Diagnostic> {
        let keys = self.keys();
        let kind = match keys.as_slice() {
            [key] if key.text.starts_with('(') && key.text.ends_with(')') && self.peek_is("{") => {
                ItemKind::Snippet
            }
            _ => ItemKind::Server,
        };
        let keys_end = self.previous().map_or(0, |token| token.span.end);
        let open = self.peek().filter(|token| &*token.text == "{").cloned();
        self.at += usize::from(open.is_some());
        let plugins = self.plugins(kind)?;
        let close = self.peek().cloned();
        self.at += usize::from(close.is_some());
        if let (Some(open), None) = (&open, &close) {
            // CoreDNS only checks that the last token is a closing brace, even if it closes an inner block.
            if kind == ItemKind::Snippet || self.previous().is_none_or(|token| &*token.text != "}") {
                return Err(self.error("Unexpected EOF", open).help("this block is never closed"));
            }
        }
        Ok(Item { kind, keys, plugins, open, close, keys_end, range: 0..0 })
    }

    fn keys(&mut self) -> Vec<Token> {
        let mut keys = Vec::new();
        let mut expecting_another = true;
        while let Some(token) = self.peek() {
            if &*token.text == "{" || (!expecting_another && self.begins_line()) {
                break;
            }
            self.at += 1;
            if !token.text.is_empty() {
                let key = token.text.strip_suffix(',');
                expecting_another = key.is_some();
                keys.push(Token { text: key.unwrap_or(&token.text).into(), span: token.span.clone() });
            } else if keys.is_empty() {
                expecting_another = false;
            }
        }
        keys
    }

    /// Directives up to the closing brace or the end. Only in a snippet may the brace be on a directive's line, since its
    /// body is not parsed before it is imported.
    fn plugins(&mut self, kind: ItemKind) -> Result<Vec<Plugin>, Diagnostic> {
        let mut plugins = Vec::new();
        while let Some(first) = self.peek().filter(|token| &*token.text != "}") {
            let start = self.at;
            self.at += 1;
            // A snippet's body must only be balanced, so there even a leading brace counts.
            let counts = kind == ItemKind::Snippet && &*first.text == "{";
            let mut opened: Vec<_> = counts.then_some(first).into_iter().collect();
            while let Some(token) = self.peek() {
                match &*token.text {
                    // An import ends with its line, even before a brace.
                    _ if &*first.text == "import" && opened.is_empty() && self.begins_line() => break,
                    "{" => opened.push(token),
                    _ if opened.is_empty() && self.begins_line() => break,
                    "}" if opened.is_empty() && kind == ItemKind::Snippet => break,
                    "}" if opened.pop().is_none() => {
                        return Err(self.error("Unexpected '}' because no matching opening brace", token));
                    }
                    _ => {}
                }
                self.at += 1;
            }
            if let Some(brace) = opened.pop() {
                return Err(self.error("Unexpected EOF", brace).help("this brace is never closed"));
            }
            plugins.push(Plugin { tokens: self.tokens[start..self.at].to_vec() });
        }
        Ok(plugins)
    }

    fn error(&self, message: &str, token: &Token) -> Diagnostic {
        Diagnostic::parsing(token.span.file.name(), token.line(), message).at(&token.span)
    }
}
