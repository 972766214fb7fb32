//! Plugins and blocks to write into a document, not yet indented.

use crate::diagnostic::Diagnostic;
use crate::layout::Layout;
use crate::lexer;
use crate::span::SourceFile;
use crate::token::{Piece, Trivia, TriviaKind};

/// One plugin: its line, and the properties between its braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stanza {
    line: String,
    properties: Vec<String>,
}

impl Stanza {
    /// A plugin from its line, such as `forward . 1.1.1.1`.
    pub fn new(line: impl Into<String>) -> Self {
        Self { line: line.into(), properties: Vec::new() }
    }

    /// A plugin from its words, each quoted if necessary.
    pub fn words<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Result<Self, Diagnostic> {
        let mut line = Vec::new();
        for word in words {
            let word = word.as_ref();
            let quoted = quote(word).ok_or_else(|| {
                Diagnostic::error(format!(
                    "{word:?} cannot be written in a Corefile: a backslash before a quote has no escape"
                ))
            })?;
            line.push(quoted);
        }
        Ok(Self::new(line.join(" ")))
    }

    /// Adds a line between the plugin's braces.
    pub fn property(mut self, line: impl Into<String>) -> Self {
        self.properties.push(line.into());
        self
    }

    pub(crate) fn write(&self, out: &mut String, layout: &Layout) -> Result<(), Diagnostic> {
        for line in [&self.line].into_iter().chain(&self.properties) {
            check_line(line)?;
        }
        let Layout { newline, plugin, step } = layout;
        out.push_str(&format!("{plugin}{}", self.line));
        if !self.properties.is_empty() {
            out.push_str(&format!(" {{{newline}"));
            for property in &self.properties {
                out.push_str(&format!("{plugin}{step}{property}{newline}"));
            }
            out.push_str(&format!("{plugin}}}"));
        }
        out.push_str(newline);
        Ok(())
    }
}

/// A whole server block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlock {
    comments: Vec<String>,
    pub(crate) keys: Vec<String>,
    plugins: Vec<Stanza>,
}

impl NewBlock {
    pub fn new<S: Into<String>>(keys: impl IntoIterator<Item = S>) -> Self {
        Self { comments: Vec::new(), keys: keys.into_iter().map(Into::into).collect(), plugins: Vec::new() }
    }

    pub fn plugin(mut self, plugin: Stanza) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Adds a comment line above the block; written when the block is inserted.
    pub fn comment(mut self, text: impl Into<String>) -> Self {
        self.comments.push(text.into());
        self
    }

    /// Keys and body, without the last line ending.
    pub(crate) fn write(&self, layout: &Layout) -> Result<String, Diagnostic> {
        let keys = self.keys.join(" ");
        check_line(&keys)?;
        let mut out = format!("{keys} {{{}", layout.newline);
        for plugin in &self.plugins {
            plugin.write(&mut out, layout)?;
        }
        out.push('}');
        Ok(out)
    }

    pub(crate) fn write_comments(&self, layout: &Layout) -> String {
        self.comments.iter().map(|text| format!("# {}{}", text.replace('\n', " "), layout.newline)).collect()
    }
}

/// Accepts words only: a comment or an unclosed quote would hide the text after it, and a brace would open or close
/// another block.
fn check_line(line: &str) -> Result<(), Diagnostic> {
    let valid = !line.contains(['\n', '\r']) && {
        let file = SourceFile::main("", format!("{line} {{").as_bytes());
        let comment =
            |piece: &Piece| matches!(piece, Piece::Trivia(Trivia { kind: TriviaKind::Comment, .. }));
        let tokens = lexer::tokens(&file);
        let braces = tokens.iter().filter(|token| matches!(&*token.text, "{" | "}")).count();
        let open = tokens.last().is_some_and(|token| &*token.text == "{");
        tokens.len() > 1 && braces == 1 && open && !lexer::pieces(&file).iter().any(comment)
    };
    match valid {
        true => Ok(()),
        false => Err(Diagnostic::error(format!(
            "line {line:?}: expected words without comments, unclosed quotes and braces"
        ))),
    }
}

/// `word` written as one token, quoted if necessary. `None` if that is impossible: the Corefile has no escape for a
/// backslash, so one before a quote is lost.
pub fn quote(word: &str) -> Option<String> {
    let reads_back = |written: &String| {
        let file = SourceFile::main("", format!("{written} x").as_bytes());
        let tokens = lexer::tokens(&file);
        tokens.len() == 2 && *tokens[0].text == *word && *tokens[1].text == *"x"
    };
    let quoted = format!("\"{}\"", word.replace('"', "\\\""));
    [word.to_string(), quoted].into_iter().find(reads_back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quoting() {
        for (word, expected) in [
            ("plain", Some("plain")),
            ("", Some("\"\"")),
            ("a b", Some("\"a b\"")),
            ("a#b", Some("\"a#b\"")),
            ("\"", Some("\"\\\"\"")),
            ("a\"b", Some("a\"b")),
            ("a\\", Some("a\\")),
            ("a b\\", None),
            ("a \\\"", None),
            ("a\nb", Some("\"a\nb\"")),
        ] {
            assert_eq!(quote(word).as_deref(), expected, "{word:?}");
        }
    }

    #[test]
    fn lines() {
        for line in ["", "a # b", "a {", "}", "a \"b", "a\nb", "a#b"] {
            assert!(check_line(line).is_err(), "{line:?}");
        }
        for line in ["a", "a \"b # c\" {d}", "log {$X}"] {
            assert!(check_line(line).is_ok(), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_read_back(word in "[ab\"\\\\# {}\n]{0,8}") {
            if let Some(written) = quote(&word) {
                let tokens = lexer::tokens(&SourceFile::main("", written.as_bytes()));
                prop_assert_eq!(tokens.iter().map(|t| t.text.to_string()).collect::<Vec<_>>(), [word]);
            }
        }
    }
}
