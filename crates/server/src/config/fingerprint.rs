//! A text that changes when the answers of the plugins after a directive may have changed.
//!
//! It covers their directives in the Corefile and changes of the files that plugins declared. It does not cover data that
//! plugins load while they serve, which change under a running configuration, too.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use corefile::{Directive, ServerBlock};
use files::Stamp;

use crate::PluginSpec;

/// The fingerprint of the directives of `later`; `place` is where the block is served.
pub(crate) fn below(place: &str, block: &ServerBlock, later: &[PluginSpec]) -> String {
    let mut text = format!("{place}\n");
    for directive in later.iter().filter_map(|spec| block.directive(spec.name)) {
        write_directive(&mut text, directive);
    }
    text
}

/// Writes the tokens line by line, independent of their position in the Corefile.
fn write_directive(text: &mut String, directive: &Directive) {
    let mut before = None;
    for token in &directive.tokens {
        let line = (token.span.file.name(), token.line());
        let breaks = before.replace(line).is_some_and(|before| before != line);
        let _ = write!(text, "{}{:?}", if breaks { '\n' } else { ' ' }, token.text);
    }
    text.push('\n');
}

/// The files that the plugins of a configuration read, each with its stamp before it was read.
#[derive(Default)]
pub(crate) struct Files {
    read: Vec<(PathBuf, Option<Stamp>)>,
    generation: u64,
}

impl Files {
    pub fn add(&mut self, path: &Path) {
        self.read.push((path.to_owned(), stamp(path)));
    }

    /// An empty list for the next configuration, of a new generation if one of these files changed: plugins with the same
    /// directives will read the same files.
    pub fn next(&self) -> Files {
        let changed = self.read.iter().any(|(path, before)| stamp(path) != *before);
        Files { read: Vec::new(), generation: self.generation + u64::from(changed) }
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// None if the file does not exist. The stamp of a directory changes with its entries, not with the contents of its files.
fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Availability;

    const NAMES: [&str; 3] = ["above", "below", "further"];

    /// The fingerprint below the first plugin of the list.
    fn print(corefile: &str) -> String {
        let specs = NAMES.map(|name| PluginSpec { name, about: "", availability: Availability::Planned });
        let parsed = corefile::parse("Corefile", corefile.as_bytes(), Some(&NAMES), &corefile::Memory::new());
        let blocks = parsed.expect("a Corefile").blocks;
        below("dns://.:53", blocks.last().expect("a block"), &specs[1..])
    }

    #[test]
    fn covers_the_directives_of_later_plugins() {
        let before = print(". {\n above 1\n below a b {\n c\n }\n further x\n}\n");
        for (corefile, same) in [
            (". {\n above 2\n below a b {\n c\n }\n further x\n}\n", true),
            (". {\n further x\n # with a word\n below a b {\n c\n }\n}\n", true),
            ("elsewhere {\n below\n}\n. {\n below a b {\n c\n }\n further x\n}\n", true),
            (". {\n below a b {\n d\n }\n further x\n}\n", false),
            (". {\n below a {\n b c\n }\n further x\n}\n", false),
            (". {\n below a b {\n c\n }\n}\n", false),
            (". {\n below a b {\n c\n }\n further x\n further y\n}\n", false),
        ] {
            assert_eq!(print(corefile) == before, same, "{corefile}");
        }
    }

    #[test]
    fn a_changed_file_starts_a_generation() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hosts");
        let mut files = Files::default();
        // (written after it was read, generation then)
        for (text, generation) in [(None, 0), (Some("1"), 1), (None, 1), (Some("12"), 2), (None, 2)] {
            files.add(&file);
            text.into_iter().for_each(|text| std::fs::write(&file, text).expect("a file"));
            files = files.next();
            assert_eq!(files.generation(), generation, "{text:?}");
        }
    }
}
