//! Parses tokens into server blocks.
//!
//! ```text
//! file    = { [ import ] [ snippet | block ] }
//! block   = key { [","] key } ( "{" body "}" | NEWLINE body )      keys on one line, continued after a comma
//! snippet = "(" name ")" "{" body "}"
//! body    = { directive | import }
//! directive = name { argument } [ "{" ... "}" ]                    one line, braces span more
//! ```
//!
//! A block without braces extends to the end of the file or to a stray closing brace. Only the first error is reported,
//! the one that CoreDNS reports.

use std::collections::HashMap;
use std::sync::Arc;

use crate::block::ServerBlock;
use crate::diagnostic::Diagnostic;
use crate::env;
use crate::lexer;
use crate::source::Source;
use crate::span::{SourceFile, Span};
use crate::suggest::did_you_mean;
use crate::token::Token;
use crate::token_buffer::TokenBuffer;

/// The result of a parse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    pub blocks: Vec<ServerBlock>,
    /// Warnings that CoreDNS logs while parsing, such as an import pattern without matches.
    pub warnings: Vec<Diagnostic>,
    /// The first unknown directive; set by [`read`] only.
    pub unknown: Option<Diagnostic>,
}

/// Parses the Corefile `contents`, named `name` in messages. A directive not in `known` is an error; `None` accepts any.
///
/// A file without blocks is valid; the caller decides what to serve then.
pub fn parse(
    name: &str,
    contents: &[u8],
    known: Option<&[&str]>,
    source: &dyn Source,
) -> Result<Parsed, Diagnostic> {
    let mut parsed = read(name, contents, known, source)?;
    parsed.unknown.take().map_or(Ok(parsed), Err)
}

/// As [`parse`](fn@parse), but reports an unknown directive in [`Parsed::unknown`] and parses the rest.
pub fn read(
    name: &str,
    contents: &[u8],
    known: Option<&[&str]>,
    source: &dyn Source,
) -> Result<Parsed, Diagnostic> {
    let file = SourceFile::main(name, contents);
    let mut parser = Parser {
        name: name.into(),
        tokens: TokenBuffer::new(lexer::tokens(&file)),
        known,
        source,
        snippets: HashMap::new(),
        lexed: HashMap::new(),
        snippet_expansions: 0,
        file_expansions: 0,
        block: ServerBlock::new(name.into()),
        at_end: false,
        parsed: Parsed::default(),
    };
    match parser.file() {
        Ok(()) => Ok(parser.parsed),
        // Report the first mistake in the file.
        Err(error) => Err(parser.parsed.unknown.unwrap_or(error)),
    }
}

pub(crate) struct Parser<'a> {
    pub(crate) name: Arc<str>,
    pub(crate) tokens: TokenBuffer,
    known: Option<&'a [&'a str]>,
    pub(crate) source: &'a dyn Source,
    pub(crate) snippets: HashMap<String, Vec<Token>>,
    /// Imported files by path, so that each is read once.
    pub(crate) lexed: HashMap<String, Vec<Token>>,
    pub(crate) snippet_expansions: usize,
    pub(crate) file_expansions: usize,
    block: ServerBlock,
    /// The file ended after a line of keys.
    at_end: bool,
    pub(crate) parsed: Parsed,
}

impl Parser<'_> {
    fn file(&mut self) -> Result<(), Diagnostic> {
        while self.tokens.advance() {
            self.block = ServerBlock::new(self.name.clone());
            self.block()?;
            if !self.block.keys.is_empty() {
                let empty = ServerBlock::new(self.name.clone());
                self.parsed.blocks.push(std::mem::replace(&mut self.block, empty));
            }
        }
        Ok(())
    }

    fn block(&mut self) -> Result<(), Diagnostic> {
        self.keys()?;
        if self.at_end {
            return Ok(());
        }
        match self.snippet_name() {
            Some(name) => {
                self.snippet(name)?;
                // A snippet serves no zone; without keys `file` does not add it as a block.
                self.block.keys.clear();
                Ok(())
            }
            None => self.body(),
        }
    }

    fn keys(&mut self) -> Result<(), Diagnostic> {
        let mut expecting_another = false;
        loop {
            let mut text = self.expanded();
            if &*text == "import" && self.tokens.begins_line() {
                self.import()?;
                continue;
            }
            if &*text == "{" {
                if expecting_another {
                    let message =
                        format!("Expected another address but had '{text}' - check for extra comma");
                    return Err(self.error(message));
                }
                return Ok(());
            }
            if !text.is_empty() {
                expecting_another = text.ends_with(',');
                if expecting_another {
                    text = text[..text.len() - 1].into();
                }
                if let Some(token) = self.tokens.current() {
                    self.block.keys.push(Token { text, span: token.span.clone() });
                }
            }
            if !self.tokens.advance() {
                if expecting_another {
                    return Err(self.end_of_file());
                }
                self.at_end = true;
                return Ok(());
            }
            if !expecting_another && self.tokens.begins_line() {
                return Ok(());
            }
        }
    }

    /// The name in parentheses, if the block is a snippet.
    fn snippet_name(&self) -> Option<String> {
        let [key] = self.block.keys.as_slice() else { return None };
        key.text.strip_prefix('(')?.strip_suffix(')').map(str::to_string)
    }

    fn snippet(&mut self, name: String) -> Result<(), Diagnostic> {
        if self.snippets.contains_key(&name) {
            return Err(self.error(format!("redeclaration of previously declared snippet {name}")));
        }
        let tokens = self.snippet_tokens()?;
        // Only direct recursion is found here; other loops reach the limit on expansions.
        for (at, pair) in tokens.windows(2).enumerate() {
            let [word, argument] = pair else { continue };
            let previous = at.checked_sub(1).and_then(|at| tokens.get(at));
            let begins_line = previous.is_none_or(|previous| {
                !previous.span.file.same_file(&word.span.file) || previous.line() != word.line()
            });
            if &*word.text == "import" && begins_line && *self.expand(&argument.text) == *name {
                let message = self.too_many_expansions("snippet");
                return Err(message.help(format!("the snippet '{name}' imports itself")));
            }
        }
        self.snippets.insert(name, tokens);
        Ok(())
    }

    /// The tokens up to the brace that closes the snippet, inserted where it is imported.
    fn snippet_tokens(&mut self) -> Result<Vec<Token>, Diagnostic> {
        if self.tokens.text() != "{" {
            return Err(self.syntax_error("{"));
        }
        let mut depth = 1;
        let mut tokens = Vec::new();
        while self.tokens.advance() {
            match self.tokens.text() {
                "}" => depth -= 1,
                "{" => depth += 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(tokens);
            }
            tokens.extend(self.tokens.current().cloned());
        }
        Err(self.syntax_error("}").help("the snippet is never closed"))
    }

    fn body(&mut self) -> Result<(), Diagnostic> {
        let open = self.tokens.current().filter(|token| &*token.text == "{").map(|token| token.span.clone());
        if open.is_none() {
            self.tokens.step_back();
        }
        self.directives(open.is_none())?;
        match open {
            Some(open) if self.tokens.text() != "}" => {
                let help = format!("the block opened on line {} is never closed", open.line);
                Err(self.syntax_error("}").help(help))
            }
            _ => Ok(()),
        }
    }

    fn directives(&mut self, braceless: bool) -> Result<(), Diagnostic> {
        while self.tokens.advance() {
            match self.tokens.text() {
                "}" => break,
                "import" => {
                    self.import()?;
                    self.tokens.step_back();
                }
                _ => self.directive(braceless)?,
            }
        }
        Ok(())
    }

    fn directive(&mut self, braceless: bool) -> Result<(), Diagnostic> {
        let name = self.expanded();
        if self.known.is_some_and(|known| !known.contains(&&*name)) {
            let error = self.unknown_directive(&name, braceless);
            self.parsed.unknown.get_or_insert(error);
        }
        // The directive's own token keeps its variables as written; those of its arguments are expanded.
        self.collect(&name);
        let mut opened: Vec<Span> = Vec::new();
        while self.tokens.advance() {
            match self.tokens.text() {
                "{" => opened.extend(self.tokens.current().map(|token| token.span.clone())),
                _ if opened.is_empty() && self.tokens.begins_line() => {
                    self.tokens.step_back();
                    break;
                }
                "}" if opened.is_empty() => {
                    let error = self.error("Unexpected '}' because no matching opening brace");
                    return Err(error.help("a block's closing brace goes on a line of its own"));
                }
                "}" => {
                    opened.pop();
                }
                "import" if self.tokens.begins_line() => {
                    self.import()?;
                    self.tokens.step_back();
                    continue;
                }
                _ => {}
            }
            let text = self.expanded();
            if let Some(token) = self.tokens.current_mut() {
                token.text = text;
            }
            self.collect(&name);
        }
        match opened.last() {
            Some(brace) => {
                let help = format!("the brace opened on line {} is never closed", brace.line);
                Err(self.end_of_file().at(brace).help(help))
            }
            None => Ok(()),
        }
    }

    fn collect(&mut self, name: &str) {
        self.block.tokens_of(name).extend(self.tokens.current().cloned());
    }

    pub(crate) fn expand(&self, text: &Arc<str>) -> Arc<str> {
        match env::replace(text, &|name| self.source.variable(name)) {
            Some(expanded) => expanded.into(),
            None => text.clone(),
        }
    }

    /// The current token's text with variables expanded.
    pub(crate) fn expanded(&self) -> Arc<str> {
        self.tokens.current().map_or_else(|| "".into(), |token| self.expand(&token.text))
    }

    fn unknown_directive(&self, name: &str, braceless: bool) -> Diagnostic {
        let error = self.error(format!("Unknown directive '{name}'"));
        if let Some(help) = did_you_mean(name, self.known.into_iter().flatten().copied()) {
            return error.help(help);
        }
        let key_like = name.contains(['.', ':']);
        match (braceless && key_like, self.block.keys.first()) {
            (true, Some(key)) => error.help(format!(
                "the block of '{}' has no braces, so it extends to the end of the file; put its body in {{ }}",
                key.text
            )),
            _ => error,
        }
    }
}

/// Errors at the current token, in CoreDNS's words.
impl Parser<'_> {
    /// The file and line that CoreDNS reports; without a current token that is line 0 of the main file.
    fn position(&self) -> (&str, u32) {
        match self.tokens.current() {
            Some(token) => (token.span.file.name(), token.line()),
            None => (&self.name, 0),
        }
    }

    fn at_token(&self, error: Diagnostic) -> Diagnostic {
        match self.tokens.nearest() {
            Some(token) => error.at(&token.span),
            None => error,
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> Diagnostic {
        let (file, line) = self.position();
        self.at_token(Diagnostic::parsing(file, line, message))
    }

    pub(crate) fn argument_error(&self) -> Diagnostic {
        match self.tokens.text() {
            "{" => self.error("Unexpected token '{', expecting argument"),
            text => self.error(format!("Wrong argument count or unexpected line ending after '{text}'")),
        }
    }

    fn syntax_error(&self, expected: &str) -> Diagnostic {
        let (file, line) = self.position();
        let message = format!("Unexpected token '{}', expecting '{expected}'", self.tokens.text());
        self.at_token(Diagnostic::syntax(file, line, message))
    }

    fn end_of_file(&self) -> Diagnostic {
        self.error("Unexpected EOF")
    }
}
