//! `import`: replaces the directive by the tokens of a snippet or of other files.
//!
//! A snippet of that name takes precedence. Otherwise the argument is a path, relative to the importing file, with at
//! most one `*` and one `?`.

use crate::diagnostic::Diagnostic;
use crate::glob::{BadPattern, glob};
use crate::lexer;
use crate::parse::Parser;
use crate::path;
use crate::source::ReadError;
use crate::span::SourceFile;
use crate::suggest::nearest;
use crate::token::Token;

/// Limits on the imports of one parse, which stop loops.
const MAX_SNIPPET_EXPANSIONS: usize = 10_000;
const MAX_FILE_EXPANSIONS: usize = 100_000;

impl Parser<'_> {
    /// Replaces the import at the current token. The first imported token becomes the current one.
    pub(crate) fn import(&mut self) -> Result<(), Diagnostic> {
        if !self.tokens.advance_on_line() {
            return Err(self.argument_error());
        }
        let pattern = self.expanded();
        if pattern.is_empty() {
            return Err(self.error("Import requires a non-empty filepath"));
        }
        if self.tokens.advance_on_line() {
            return Err(self.error("Import takes only one argument (glob pattern or file)"));
        }
        if let Some(tokens) = self.snippets.get(&*pattern) {
            if self.snippet_expansions >= MAX_SNIPPET_EXPANSIONS {
                return Err(self.too_many_expansions("snippet"));
            }
            self.snippet_expansions += 1;
            self.tokens.splice_import(tokens);
        } else {
            if self.file_expansions >= MAX_FILE_EXPANSIONS {
                return Err(self.too_many_expansions("file"));
            }
            self.file_expansions += 1;
            let tokens = self.imported_tokens(&pattern)?;
            self.tokens.splice_import(&tokens);
        }
        Ok(())
    }

    /// CoreDNS reports the limit of snippets in both cases.
    pub(crate) fn too_many_expansions(&self, of: &str) -> Diagnostic {
        self.error(format!("maximum {of} import depth ({MAX_SNIPPET_EXPANSIONS}) exceeded"))
    }

    fn imported_tokens(&mut self, pattern: &str) -> Result<Vec<Token>, Diagnostic> {
        let importing = self.tokens.current().map_or(&*self.name, |token| token.span.file.name());
        let full = if pattern.starts_with('/') {
            pattern.to_string()
        } else {
            let current = self.source.current_directory().map_err(|error| {
                self.error(format!("Failed to get absolute path of file: {}: {error}", self.name))
            })?;
            path::join(&path::directory(&path::absolute(importing, &current)), pattern)
        };
        let count = |wildcard: char| full.matches(wildcard).count();
        if count('*') > 1 || count('?') > 1 || (full.contains('[') && full.contains(']')) {
            let message = format!("Glob pattern may only contain one wildcard (*), but has others: {full}");
            return Err(self.error(message));
        }
        let files = glob(&full, self.source).map_err(|BadPattern| {
            self.error(format!("Failed to use import pattern {pattern}: syntax error in pattern"))
        })?;
        if files.is_empty() {
            self.report_no_files(pattern, &full)?;
        }
        let mut tokens = Vec::new();
        for file in files {
            tokens.extend_from_slice(self.file_tokens(&file)?);
        }
        Ok(tokens)
    }

    /// A pattern without matches is a warning, a missing file an error.
    fn report_no_files(&mut self, pattern: &str, full: &str) -> Result<(), Diagnostic> {
        if full.contains(['*', '?', '[', ']']) {
            let warning = Diagnostic::warning(format!("No files matching import glob pattern: {pattern}"));
            let warning = match self.tokens.current() {
                Some(token) => warning.at(&token.span),
                None => warning,
            };
            self.parsed.warnings.push(warning);
            return Ok(());
        }
        let error = self.error(format!("File to import not found: {pattern}"));
        let mut snippets: Vec<_> = self.snippets.keys().map(String::as_str).collect();
        snippets.sort_unstable();
        Err(match nearest(pattern, snippets) {
            Some(name) => error.help(format!("there is a snippet named '{name}'")),
            None => error.help(format!("looked for the file {full}; snippets have to be defined before use")),
        })
    }

    fn file_tokens(&mut self, file: &str) -> Result<&[Token], Diagnostic> {
        if !self.lexed.contains_key(file) {
            let bytes = self.source.read(file).map_err(|error| {
                self.error(match error {
                    ReadError::Open(why) => format!("Could not import {file}: {why}"),
                    ReadError::Directory => format!("Could not import {file}: is a directory"),
                    ReadError::Read(why) => format!("Could not read tokens while importing {file}: {why}"),
                })
            })?;
            // Patterns and the files found are absolute; the path may still need cleaning.
            let tokens = lexer::tokens(&SourceFile::imported(&path::clean(file), &bytes));
            self.lexed.insert(file.to_string(), tokens);
        }
        Ok(self.lexed.get(file).map_or(&[], Vec::as_slice))
    }
}
