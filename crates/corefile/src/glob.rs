//! Go's `filepath.Glob`, for import patterns: sorted within each directory, including hidden files, ignoring I/O errors.
//! `*` and `?` do not match a slash; a backslash escapes the next character.
//!
//! Character classes are not implemented: the parser rejects a pattern with both brackets, and one bracket alone is an
//! error (opening) or a literal (closing).

use crate::path;
use crate::source::Source;

/// The pattern is malformed: it has a `[`, or ends with a backslash.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPattern;

pub(crate) fn glob(pattern: &str, source: &dyn Source) -> Result<Vec<String>, BadPattern> {
    // Checks only the part of the pattern that an empty name reaches, as Go does.
    matches(pattern, "")?;
    if !has_wildcard(pattern) {
        return Ok(if source.exists(pattern) { vec![pattern.to_string()] } else { Vec::new() });
    }
    let (directory, name) = match pattern.rfind('/') {
        None => (".", pattern),
        Some(0) => ("/", &pattern[1..]),
        Some(at) => (&pattern[..at], &pattern[at + 1..]),
    };
    let directories =
        if has_wildcard(directory) { glob(directory, source)? } else { vec![directory.to_string()] };
    let mut found = Vec::new();
    for directory in directories {
        let mut names = source.list(&directory).unwrap_or_default();
        names.sort();
        for candidate in names {
            if matches(name, &candidate)? {
                found.push(path::join(&directory, &candidate));
            }
        }
    }
    Ok(found)
}

fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '\\'])
}

/// Whether `name` matches the whole of `pattern`.
fn matches(mut pattern: &str, mut name: &str) -> Result<bool, BadPattern> {
    'chunks: while !pattern.is_empty() {
        let stripped = pattern.trim_start_matches('*');
        let star = stripped.len() < pattern.len();
        let (chunk, rest) = stripped.split_at(chunk_length(stripped));
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains('/'));
        }
        // The last chunk must match to the end of the name; the others may match anywhere.
        let fits = |after: &str| !rest.is_empty() || after.is_empty();
        if let Some(after) = match_chunk(chunk, name)?
            && fits(after)
        {
            name = after;
            continue;
        }
        if star {
            for (at, c) in name.char_indices() {
                if c == '/' {
                    break;
                }
                if let Some(after) = match_chunk(chunk, &name[at + c.len_utf8()..])?
                    && fits(after)
                {
                    name = after;
                    continue 'chunks;
                }
            }
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Bytes of `pattern` before the next unescaped star.
fn chunk_length(pattern: &str) -> usize {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '*' => return at,
            _ => {}
        }
    }
    pattern.len()
}

/// The rest of `name` after `chunk`, or `None` if it does not match. The chunk's syntax is checked even after a
/// mismatch.
fn match_chunk<'a>(chunk: &str, name: &'a str) -> Result<Option<&'a str>, BadPattern> {
    let mut left = name.chars();
    let mut failed = false;
    let mut pattern = chunk.chars();
    while let Some(c) = pattern.next() {
        let fits = match c {
            '[' => return Err(BadPattern),
            '?' => left.next().is_some_and(|n| n != '/'),
            '\\' => {
                let literal = pattern.next().ok_or(BadPattern)?;
                left.next() == Some(literal)
            }
            literal => left.next() == Some(literal),
        };
        failed |= !fits;
    }
    Ok((!failed).then_some(left.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Memory;

    #[test]
    fn names_and_patterns() {
        for (pattern, name, expected) in [
            ("*", "abc", Ok(true)),
            ("*", "", Ok(true)),
            ("*.conf", "a.conf", Ok(true)),
            ("*.conf", ".conf", Ok(true)),
            ("*.conf", "a.conf.bak", Ok(false)),
            ("*.c?nf", "a.cänf", Ok(true)),
            ("a*b", "a/b", Ok(false)),
            ("?", "/", Ok(false)),
            ("a\\*", "a*", Ok(true)),
            ("a\\*", "ab", Ok(false)),
            ("a]", "a]", Ok(true)),
            ("*a.a", "aa.a.a", Ok(true)),
            ("x[", "", Err(BadPattern)),
            ("x\\", "", Err(BadPattern)),
            ("x*[", "", Ok(false)),
            ("x*[", "xa", Err(BadPattern)),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn files() {
        let source = Memory::new()
            .file("/etc/b.conf", "")
            .file("/etc/a.conf", "")
            .file("/etc/.h.conf", "")
            .file("/etc/y/1.conf", "")
            .file("/etc/x/2.conf", "")
            .file("/etc/other", "");
        for (pattern, expected) in [
            ("/etc/*.conf", vec!["/etc/.h.conf", "/etc/a.conf", "/etc/b.conf"]),
            ("/etc/*/1.conf", vec!["/etc/y/1.conf"]),
            ("/etc/?/*.conf", vec!["/etc/x/2.conf", "/etc/y/1.conf"]),
            ("/etc/other", vec!["/etc/other"]),
            ("/etc/none", vec![]),
            ("/none/*", vec![]),
            ("/e*", vec!["/etc"]),
        ] {
            assert_eq!(
                glob(pattern, &source),
                Ok(expected.iter().map(|s| s.to_string()).collect()),
                "{pattern}"
            );
        }
    }
}
