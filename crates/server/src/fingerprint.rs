//! A text that changes when the answers of the plugins behind a directive may have changed.
//!
//! What the Corefile says about them counts, and so do the files it names, by size and age. What they find out at
//! work does not: that changes under a running configuration, too.

use std::fmt::Write;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use corefile::{Directive, ServerBlock};
use sha2::{Digest, Sha512};

use crate::PluginSpec;

/// Read by plugins that are not told so.
const SYSTEM_FILES: [&str; 2] = ["/etc/hosts", "/etc/resolv.conf"];
/// Of a folder with more files the others do not count.
const MOST_FILES: usize = 10_000;

/// `place` is where the block is served, `later` the plugins that may stand behind the directive.
pub(crate) fn below(place: &str, block: &ServerBlock, later: &[PluginSpec], root: Option<&Path>) -> String {
    let mut text = format!("{place}\n");
    for directive in later.iter().filter_map(|spec| block.directive(spec.name)) {
        write_directive(&mut text, directive, root);
    }
    for file in SYSTEM_FILES {
        write_stamp(&mut text, Path::new(file), false);
    }
    Sha512::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The words line by line, wherever in the Corefile they are, then the files among them.
fn write_directive(text: &mut String, directive: &Directive, root: Option<&Path>) {
    let mut before = None;
    for token in &directive.tokens {
        let line = (token.span.file.name(), token.line());
        let breaks = before.replace(line).is_some_and(|before| before != line);
        let _ = write!(text, "{}{:?}", if breaks { '\n' } else { ' ' }, token.text);
    }
    text.push('\n');
    for token in &directive.tokens {
        let path = Path::new(&*token.text);
        // Zones look like the names of folders, and the root like this one.
        let may_be_folder = token.text.len() > 1 && token.text.contains('/');
        if let Some(root) = root
            && path.is_relative()
        {
            write_stamp(text, &root.join(path), may_be_folder);
        }
        write_stamp(text, path, may_be_folder);
    }
}

/// What is no file, and no folder if it may be one, leaves nothing.
fn write_stamp(text: &mut String, path: &Path, may_be_folder: bool) {
    let Ok(about) = fs::metadata(path) else { return };
    if about.is_file() {
        write_about(text, path, &about);
    } else if about.is_dir() && may_be_folder {
        let Ok(folder) = fs::read_dir(path) else { return };
        let mut files: Vec<_> = folder.take(MOST_FILES).flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            // Of the link's target: that is how mounted configuration changes.
            if let Ok(about) = fs::metadata(&file) {
                write_about(text, &file, &about);
            }
        }
    }
}

fn write_about(text: &mut String, path: &Path, about: &Metadata) {
    let (size, inode) = (about.size(), about.ino());
    let _ = writeln!(text, "{path:?} {size} {inode} {}.{}", about.mtime(), about.mtime_nsec());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Availability;

    const NAMES: [&str; 3] = ["above", "below", "further"];

    /// The fingerprint below the first plugin of the list.
    fn print(corefile: &str, root: Option<&Path>) -> String {
        let specs = NAMES.map(|name| PluginSpec { name, about: "", availability: Availability::ToCome });
        let parsed = corefile::parse("Corefile", corefile.as_bytes(), Some(&NAMES), &corefile::Memory::new());
        let blocks = parsed.expect("a Corefile").blocks;
        below("dns://.:53", blocks.last().expect("a block"), &specs[1..], root)
    }

    #[test]
    fn what_is_written_below_counts() {
        let before = print(". {\n above 1\n below a b {\n c\n }\n further x\n}\n", None);
        for (corefile, same) in [
            (". {\n above 2\n below a b {\n c\n }\n further x\n}\n", true),
            (". {\n further x\n # with a word\n below a b {\n c\n }\n}\n", true),
            ("elsewhere {\n below\n}\n. {\n below a b {\n c\n }\n further x\n}\n", true),
            (". {\n below a b {\n d\n }\n further x\n}\n", false),
            (". {\n below a {\n b c\n }\n further x\n}\n", false),
            (". {\n below a b {\n c\n }\n}\n", false),
            (". {\n below a b {\n c\n }\n further x\n further y\n}\n", false),
        ] {
            assert_eq!(print(corefile, None) == before, same, "{corefile}");
        }
    }

    #[test]
    fn files_count_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hosts");
        let written = |text: &str| std::fs::write(&file, text).expect("a file");
        let absolute = format!(". {{\n below {}\n}}\n", file.display());
        let relative = ". {\n below hosts\n}\n".to_owned();
        let directory = format!(". {{\n below {}\n}}\n", folder.path().display());
        for corefile in [&absolute, &relative, &directory] {
            let print = || print(corefile, Some(folder.path()));
            let _ = std::fs::remove_file(&file);
            let none = print();
            written("1");
            let one = print();
            assert_ne!(one, none, "{corefile}");
            assert_eq!(one, print(), "{corefile}");
            written("12");
            assert_ne!(one, print(), "{corefile}");
        }
    }
}
