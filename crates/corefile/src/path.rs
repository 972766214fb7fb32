//! Go's `filepath.Clean` and `Join`, because paths appear in messages and in the configuration hash.

/// Shortest equivalent of `path`: without `.`, double or trailing slashes, and with `..` resolved where possible.
pub(crate) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if rooted => {}
                _ => parts.push(".."),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_string(),
        (false, false) => joined,
    }
}

pub(crate) fn join(directory: &str, name: &str) -> String {
    match (directory, name) {
        ("", "") => String::new(),
        ("", only) | (only, "") => clean(only),
        _ => clean(&format!("{directory}/{name}")),
    }
}

/// The directory part of `path`, cleaned.
pub(crate) fn directory(path: &str) -> String {
    clean(path.rfind('/').map_or("", |at| &path[..=at]))
}

pub(crate) fn absolute(path: &str, current: &str) -> String {
    if path.starts_with('/') { clean(path) } else { join(current, path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_cleans_them() {
        for (path, expected) in [
            ("", "."),
            ("/", "/"),
            ("a//b/./c/", "a/b/c"),
            ("/../a", "/a"),
            ("../a/..", ".."),
            ("a/../..", ".."),
            ("/a/b/../c", "/a/c"),
        ] {
            assert_eq!(clean(path), expected, "{path}");
        }
        assert_eq!(directory("/etc/Corefile"), "/etc");
        assert_eq!(directory("Corefile"), ".");
        assert_eq!(directory("/Corefile"), "/");
        assert_eq!(join("/etc", "../x"), "/x");
        assert_eq!(absolute("conf", "/etc"), "/etc/conf");
    }
}
