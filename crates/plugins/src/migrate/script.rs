//! The edit script of a document: edits are collected first and applied together.

use std::ops::Range;

use corefile::{Diagnostic, Document, Item, Place, Stanza, Token};

use super::lines::{Lines, source_text};
use super::text::{indent_at, line_rest, range_of, whole_lines};
use super::{Change, Migrated, Note};

/// One plugin in a document.
pub(super) struct Site<'a> {
    item: &'a Item,
    block: usize,
    plugin: usize,
    pub lines: Lines<'a>,
}

impl<'a> Site<'a> {
    pub fn name(&self) -> &str {
        &self.lines.name.text
    }

    /// The later plugins of the same block.
    pub fn later(&self) -> impl Iterator<Item = Lines<'a>> {
        self.item.plugins.iter().skip(self.plugin + 1).filter_map(Lines::of)
    }
}

/// All plugins of all blocks and snippets, from the top.
pub(super) fn sites(document: &Document) -> impl Iterator<Item = Site<'_>> {
    document.items().iter().enumerate().flat_map(|(block, item)| {
        item.plugins
            .iter()
            .enumerate()
            .filter_map(move |(plugin, found)| Some(Site { item, block, plugin, lines: Lines::of(found)? }))
    })
}

pub(super) struct Script<'a> {
    document: &'a Document,
    /// Replacements; no two overlap.
    edits: Vec<Edit>,
    /// New plugins, each after an existing one: block, plugin, directive.
    inserts: Vec<(usize, usize, Stanza)>,
    changes: Vec<Change>,
    notes: Vec<Note>,
    /// Lines removed from the current plugin.
    removed: Vec<Range<usize>>,
    /// Whether the current plugin got a new line.
    added: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Edit {
    start: usize,
    end: usize,
    new: String,
}

/// Collects edits.
impl<'a> Script<'a> {
    pub fn new(document: &'a Document) -> Script<'a> {
        Script {
            document,
            edits: Vec::new(),
            inserts: Vec::new(),
            changes: Vec::new(),
            notes: Vec::new(),
            removed: Vec::new(),
            added: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Reports a change of the line that a token is on.
    pub fn report(&mut self, token: &Token, what: impl Into<String>, why: impl Into<String>) {
        // A quoted word may contain line breaks; a report is one line.
        let what = what.into().replace(['\r', '\n'], " ");
        self.changes.push(Change { line: token.line(), what, why: why.into() });
    }

    pub fn note(&mut self, line: u32, text: impl Into<String>) {
        self.notes.push(Note { line, text: text.into() });
    }

    pub fn replace(&mut self, range: Range<usize>, new: impl Into<String>) {
        self.edits.push(Edit { start: range.start, end: range.end, new: new.into() });
    }

    /// Replaces all tokens of a line.
    pub fn replace_line(&mut self, line: &[Token], new: impl Into<String>) {
        self.replace(range_of(line), new);
    }

    /// Deletes a property and reports why.
    pub fn remove(&mut self, property: &[Token], why: &str) {
        if let Some(first) = property.first() {
            self.report(first, format!("removed '{}'", source_text(property)), why);
            self.delete_line(property);
        }
    }

    /// Deletes a property without a report; the caller reports the change.
    pub fn delete_line(&mut self, property: &[Token]) {
        self.removed.push(whole_lines(self.document.text(), range_of(property)));
    }

    /// Adds a property below another one.
    pub fn add_below(&mut self, property: &[Token], line: &str) {
        let text = self.document.text();
        let range = range_of(property);
        let end = range.end + line_rest(text, range.end).len();
        let indent = indent_at(text, range.start).unwrap_or("    ");
        self.replace(end..end, format!("{}{indent}{line}", self.newline()));
        self.added = true;
    }

    /// Adds a property as the plugin's first, with braces if it has none.
    pub fn add_property(&mut self, site: &Site<'_>, line: &str) {
        let Lines { name, args, braces, properties } = &site.lines;
        let text = self.document.text();
        let newline = self.newline();
        let own = indent_at(text, name.span.start).unwrap_or_default();
        let deeper = if own.is_empty() { "    ".to_owned() } else { own.repeat(2) };
        let first = properties.first().and_then(|line| indent_at(text, line.first()?.span.start));
        let line = format!("{newline}{}{line}", first.unwrap_or(&deeper));
        match braces {
            Some((open, close)) if open.line() < close.line() => {
                let end = open.span.end + line_rest(text, open.span.end).len();
                self.replace(end..end, line);
            }
            // All on one line: existing properties move to a line below.
            Some((open, _)) => {
                self.replace(open.span.end..open.span.end, format!("{line}{newline}{own}"));
            }
            None => {
                let end = args.last().unwrap_or(name).span.end;
                self.replace(end..end, format!(" {{{line}{newline}{own}}}"));
            }
        }
        self.added = true;
    }

    /// Inserts a new plugin after the given one.
    pub fn insert_after(&mut self, site: &Site<'_>, stanza: Stanza) {
        self.inserts.push((site.block, site.plugin, stanza));
    }

    /// Ends the edits of a plugin; braces left empty are deleted too.
    pub fn finish_plugin(&mut self, site: &Site<'_>) {
        let mut removed = std::mem::take(&mut self.removed);
        removed.sort_by_key(|range| range.start);
        let added = std::mem::take(&mut self.added);
        let Lines { name, args, braces, properties } = &site.lines;
        if let Some((open, close)) = braces
            && !added
            && !properties.is_empty()
            && removed.len() == properties.len()
            && self.is_blank_but_for(&removed, open.span.end..close.span.start)
        {
            self.replace(args.last().unwrap_or(name).span.end..close.span.end, "");
            return;
        }
        for range in removed {
            self.replace(range, "");
        }
    }

    fn is_blank_but_for(&self, removed: &[Range<usize>], body: Range<usize>) -> bool {
        let text = self.document.text();
        let mut at = body.start;
        let between = removed.iter().map(|range| (range.start, range.end)).chain([(body.end, body.end)]);
        between.into_iter().all(|(start, end)| {
            let blank = text.get(at..start.max(at)).is_some_and(|text| text.trim().is_empty());
            at = at.max(end);
            blank
        })
    }

    fn newline(&self) -> &'static str {
        if self.document.text().contains("\r\n") { "\r\n" } else { "\n" }
    }
}

/// Applies the edits.
impl Script<'_> {
    /// The new text; everything outside of the edits stays byte for byte.
    pub fn run(mut self) -> Result<Migrated, Diagnostic> {
        self.edits.sort();
        if self.edits.windows(2).any(|pair| matches!(pair, [one, next] if one.end > next.start)) {
            return Err(Diagnostic::error("two changes overlap; migrate this file by hand"));
        }
        // From the end, so that the offsets of the remaining edits stay valid.
        let mut text = self.document.text().to_owned();
        for Edit { start, end, new } in self.edits.iter().rev() {
            text.replace_range(start..end, new);
        }
        let mut edited = Document::parse_named(self.document.name(), &text)?;
        if shape(&edited) != shape(self.document) {
            return Err(Diagnostic::error(
                "the changes would change how the rest of the file is parsed; migrate it by hand",
            ));
        }
        self.inserts.sort_by_key(|(block, plugin, _)| (*block, *plugin));
        for (block, plugin, stanza) in self.inserts.iter().rev() {
            edited.insert_plugin(*block, Place::After(*plugin), stanza)?;
        }
        self.changes.sort_by_key(|change| change.line);
        self.notes.sort_by_key(|note| note.line);
        Ok(Migrated {
            file: self.document.name().to_owned(),
            result: edited.to_string(),
            changes: self.changes,
            notes: self.notes,
        })
    }
}

/// Keys and plugin counts of all blocks, which edits inside of plugins must not change.
fn shape(document: &Document) -> Vec<(Vec<&str>, usize)> {
    document
        .items()
        .iter()
        .map(|item| (item.keys.iter().map(|key| key.span.raw()).collect(), item.plugins.len()))
        .collect()
}
