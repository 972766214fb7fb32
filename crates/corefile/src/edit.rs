//! Edits of a document: insert, replace and remove blocks and plugins.
//!
//! Each edit replaces one range of text. The document is then parsed again, and the edit refused if anything else parses
//! differently than before: an unclosed quote, for example, would include the inserted text.
//!
//! The `put_` functions are idempotent.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::document::{Document, Item, ItemKind};
use crate::layout::{Layout, blank_after, blank_before, indent_at, line_end, line_start};
use crate::lexer;
use crate::span::SourceFile;
use crate::stanza::{NewBlock, Stanza};
use crate::token::Token;

/// Where to insert, among the items of a document or the plugins of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Before(usize),
    After(usize),
    End,
}

/// Whether to keep the comment lines directly above a removed item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    Keep,
    Remove,
}

/// Blocks.
impl Document {
    /// Inserts a block, with a blank line between it and its neighbours. Returns its index.
    ///
    /// A block without braces extends to the end of the file, so it gets braces first.
    pub fn insert_block(&mut self, place: Place, block: &NewBlock) -> Result<usize, Diagnostic> {
        let index = match place {
            Place::Before(at) => at,
            Place::After(at) => at + 1,
            Place::End => self.items.len(),
        };
        if index > self.items.len() {
            return Err(no_such_index());
        }
        // On a copy, so that a refused edit adds no braces.
        let mut edited = self.clone();
        edited.enclose_open_blocks()?;
        let layout = Layout::of(&edited, None);
        let mut new = block.write_comments(&layout);
        new.push_str(&block.write(&layout)?);
        new.push_str(layout.newline);
        let at = match (place, index.checked_sub(1).and_then(|at| edited.items.get(at))) {
            (Place::Before(at), _) => {
                let start = edited.item(at)?.range.start;
                match indent_at(edited.text(), start) {
                    Some(_) => edited.comments_above(start),
                    None => start,
                }
            }
            (Place::After(_), Some(item)) => edited.end_of_line(item.range.end),
            _ => edited.text().len(),
        };
        let mut shapes = self.shapes();
        shapes.splice(index..index, Document::parse(&new)?.shapes());
        edited.replace_text(at..at, &edited.with_blank_lines(at, new, &layout), &shapes)?;
        *self = edited;
        Ok(index)
    }

    /// Adds the line endings and blank lines that `new` needs around it at `at`.
    fn with_blank_lines(&self, at: usize, new: String, layout: &Layout) -> String {
        let text = self.text();
        let newline = layout.newline;
        let line_breaks = match text[..at].ends_with('\n') {
            _ if blank_before(text, at) => 0,
            true => 1,
            false => 2,
        };
        let trail = if blank_after(text, at) { "" } else { newline };
        format!("{}{new}{trail}", newline.repeat(line_breaks))
    }

    /// Removes a block, snippet or import, and one blank line if two would be adjacent.
    pub fn remove_block(&mut self, index: usize, comments: Comments) -> Result<(), Diagnostic> {
        let range = self.item(index)?.range.clone();
        let range = self.lines_of(range, comments);
        let text = self.text();
        let mut start = range.start;
        let mut end = range.end;
        if blank_before(text, start) && blank_after(text, end) {
            match text[..start].strip_suffix('\n') {
                Some(before) => start = line_start(text, before.len()),
                None => end = line_end(text, end),
            }
        }
        let mut shapes = self.shapes();
        shapes.remove(index);
        self.replace_text(start..end, "", &shapes)
    }

    /// Replaces keys and body of a block. Comments above it stay.
    pub fn replace_block(&mut self, index: usize, block: &NewBlock) -> Result<(), Diagnostic> {
        let item = self.item(index)?;
        let range = item.range.clone();
        let new = block.write(&Layout::of(self, Some(item)))?;
        let mut shapes = self.shapes();
        shapes.splice(index..=index, Document::parse(&new)?.shapes());
        self.replace_text(range, &new, &shapes)
    }

    /// Inserts `block`, or replaces the block that serves its first key; does nothing if that has the same words. Returns
    /// whether anything changed. Fails if the other block has keys that the new one lacks, since they would be lost.
    pub fn put_block(&mut self, place: Place, block: &NewBlock) -> Result<bool, Diagnostic> {
        let found = block.keys.first().and_then(|key| self.find_block(key));
        let Some(index) = found else {
            self.insert_block(place, block)?;
            return Ok(true);
        };
        let item = self.item(index)?;
        let new = block.write(&Layout::of(self, Some(item)))?;
        if words_of(&new) == self.words_in(&item.range) {
            return Ok(false);
        }
        if let Some(other) =
            item.keys.iter().find(|key| !block.keys.iter().any(|new| item.same_zone(&key.text, new)))
        {
            let message =
                format!("block to replace also serves '{}', which the new block does not", other.text);
            return Err(Diagnostic::error(message).at(&other.span));
        }
        self.replace_block(index, block)?;
        Ok(true)
    }

    /// Adds missing braces, so that each block ends before the next begins.
    fn enclose_open_blocks(&mut self) -> Result<(), Diagnostic> {
        let lacking =
            |item: &Item| item.kind != ItemKind::Import && (item.open.is_none() || item.close.is_none());
        while let Some(item) = self.items.iter().find(|item| lacking(item)) {
            let newline = Layout::of(self, None).newline;
            let end = self.end_of_line(item.range.end);
            let open = if item.open.is_none() { " {" } else { "" };
            let close = match item.close {
                Some(_) => String::new(),
                None if self.text()[..end].ends_with('\n') => format!("}}{newline}"),
                None => format!("{newline}}}{newline}"),
            };
            let start = item.keys_end;
            let new = format!("{open}{}{close}", &self.text()[start..end]);
            self.replace_text(start..end, &new, &self.shapes())?;
        }
        Ok(())
    }
}

/// Plugins.
impl Document {
    /// Inserts a plugin into a block, indented as its neighbours are.
    pub fn insert_plugin(&mut self, block: usize, place: Place, plugin: &Stanza) -> Result<(), Diagnostic> {
        let item = self.block(block)?;
        let layout = Layout::of(self, Some(item));
        let text = self.text();
        let mut new = String::new();
        plugin.write(&mut new, &layout)?;
        let neighbour = match place {
            Place::Before(at) | Place::After(at) => Some(item.plugins.get(at).ok_or_else(no_such_index)?),
            Place::End => item.plugins.last(),
        };
        let range = match (place, neighbour, item.open.as_ref().zip(item.close.as_ref())) {
            (Place::Before(_), Some(neighbour), _) => {
                let start = neighbour.range().start;
                match indent_at(text, start) {
                    Some(_) => {
                        let at = self.comments_above(start);
                        at..at
                    }
                    // The neighbour shares the line of the opening brace.
                    None => {
                        new = format!("{}{new}{}", layout.newline, layout.plugin);
                        text[..start].trim_end_matches([' ', '\t']).len()..start
                    }
                }
            }
            (_, Some(neighbour), _) => self.line_after(neighbour.range().end, &mut new, &layout),
            (_, None, Some((open, close))) => match indent_at(text, close.span.start) {
                Some(_) => {
                    let at = line_start(text, close.span.start);
                    at..at
                }
                None => {
                    new = format!("{}{new}", layout.newline);
                    open.span.end..close.span.start
                }
            },
            (_, None, None) => self.line_after(item.keys_end, &mut new, &layout),
        };
        let index = match place {
            Place::Before(at) => at,
            Place::After(at) => at + 1,
            Place::End => item.plugins.len(),
        };
        let mut shapes = self.shapes();
        shapes[block].plugins.insert(index, words_of(&new));
        self.replace_text(range, &new, &shapes)
    }

    /// Replaces a plugin. Comments before and after it stay, those inside its braces go.
    pub fn replace_plugin(&mut self, block: usize, plugin: usize, new: &Stanza) -> Result<(), Diagnostic> {
        let item = self.block(block)?;
        let range = item.plugins.get(plugin).ok_or_else(no_such_index)?.range();
        let mut layout = Layout::of(self, Some(item));
        if let Some(indent) = indent_at(self.text(), range.start) {
            layout.plugin = indent.to_string();
        }
        let mut written = String::new();
        new.write(&mut written, &layout)?;
        let mut shapes = self.shapes();
        shapes[block].plugins[plugin] = words_of(&written);
        self.replace_text(range, written.trim(), &shapes)
    }

    pub fn remove_plugin(
        &mut self,
        block: usize,
        plugin: usize,
        comments: Comments,
    ) -> Result<(), Diagnostic> {
        let item = self.block(block)?;
        let range = item.plugins.get(plugin).ok_or_else(no_such_index)?.range();
        let range = self.lines_of(range, comments);
        let mut shapes = self.shapes();
        shapes[block].plugins.remove(plugin);
        self.replace_text(range, "", &shapes)
    }

    /// Inserts `plugin` unless the block has one with the same words. Returns whether it was inserted.
    pub fn put_plugin(&mut self, block: usize, place: Place, plugin: &Stanza) -> Result<bool, Diagnostic> {
        let item = self.block(block)?;
        let mut new = String::new();
        plugin.write(&mut new, &Layout::of(self, Some(item)))?;
        let new = words_of(&new);
        if item.plugins.iter().any(|there| self.words_in(&there.range()) == new) {
            return Ok(false);
        }
        self.insert_plugin(block, place, plugin)?;
        Ok(true)
    }

    /// The position after the line that `at` is on; prepends a line ending to `new` if that line has none.
    fn line_after(&self, at: usize, new: &mut String, layout: &Layout) -> Range<usize> {
        let end = self.end_of_line(at);
        if !self.text()[..end].ends_with('\n') {
            new.insert_str(0, layout.newline);
        }
        end..end
    }
}

/// Positions, ranges and the text replacement shared by all edits.
impl Document {
    fn item(&self, index: usize) -> Result<&Item, Diagnostic> {
        self.items.get(index).ok_or_else(no_such_index)
    }

    fn block(&self, index: usize) -> Result<&Item, Diagnostic> {
        let item = self.item(index)?;
        if item.kind == ItemKind::Import { Err(no_such_index()) } else { Ok(item) }
    }

    /// End of the line `at` is on, or `at` if another token follows on that line.
    fn end_of_line(&self, at: usize) -> usize {
        let end = line_end(self.text(), at);
        let shared = self.tokens.iter().any(|token| (at..end).contains(&token.span.start));
        if shared { at } else { end }
    }

    /// Start of the comment lines directly above the line `at` is on, or of that line if there are none.
    fn comments_above(&self, at: usize) -> usize {
        let text = self.text();
        let mut start = line_start(text, at);
        while let Some(before) = text[..start].strip_suffix('\n') {
            let above = line_start(text, before.len());
            // A line inside a quoted token may look like a comment.
            let word = self.tokens.iter().any(|token| token.span.start < start && above < token.span.end);
            if word || !text[above..start].trim_start().starts_with('#') {
                break;
            }
            start = above;
        }
        start
    }

    /// `range` extended to whole lines where no other token shares them.
    fn lines_of(&self, range: Range<usize>, comments: Comments) -> Range<usize> {
        let text = self.text();
        let mut end = self.end_of_line(range.end);
        let start = match indent_at(text, range.start) {
            Some(_) if comments == Comments::Remove => self.comments_above(range.start),
            Some(_) => line_start(text, range.start),
            None => {
                // The line begins before the range, so its line ending stays.
                end = text[..end].trim_end_matches(['\r', '\n']).len().max(range.end);
                range.start
            }
        };
        start..end
    }

    fn words_in(&self, range: &Range<usize>) -> Vec<Arc<str>> {
        let within = |token: &&Token| range.start <= token.span.start && token.span.end <= range.end;
        self.tokens.iter().filter(within).map(|token| token.text.clone()).collect()
    }

    fn shapes(&self) -> Vec<Shape> {
        let words = |tokens: &[Token]| tokens.iter().map(|token| token.text.clone()).collect();
        let shape = |item: &Item| Shape {
            kind: item.kind,
            keys: words(&item.keys),
            plugins: item.plugins.iter().map(|plugin| words(&plugin.tokens)).collect(),
        };
        self.items.iter().map(shape).collect()
    }

    /// Replaces `range` by `new`. Fails without a change unless the document then parses as `expected`.
    fn replace_text(&mut self, range: Range<usize>, new: &str, expected: &[Shape]) -> Result<(), Diagnostic> {
        let text = self.text();
        let text = format!("{}{new}{}", &text[..range.start], &text[range.end..]);
        let edited = Self::parse_named(self.name(), &text)?;
        if edited.shapes() != expected {
            return Err(Diagnostic::error(
                "edit refused: it would change how the rest of the file is parsed",
            ));
        }
        *self = edited;
        Ok(())
    }
}

/// The content of an item without its position.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    kind: ItemKind,
    keys: Vec<Arc<str>>,
    plugins: Vec<Vec<Arc<str>>>,
}

fn words_of(text: &str) -> Vec<Arc<str>> {
    let tokens = lexer::tokens(&SourceFile::main("", text.as_bytes()));
    tokens.into_iter().map(|token| token.text).collect()
}

fn no_such_index() -> Diagnostic {
    Diagnostic::error("the document has no item or plugin at this index")
}
