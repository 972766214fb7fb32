//! Domain names in a Corefile, in presentation format.
//!
//! Only empty labels, overlong labels and names, and an incomplete escape are invalid.

/// Maximum octets of an encoded name that the check accepts.
const MAX_NAME: usize = 256;
const MAX_LABEL: usize = 63;

/// Whether `name` is valid by the rules of miekg/dns, which accept some escapes that a strict parser rejects, and the
/// reverse.
pub(crate) fn is_domain_name(name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let name = absolute(name);
    let bytes = name.as_bytes();
    let (mut length, mut label_start) = (0, 0);
    let (mut after_dot, mut escape) = (false, false);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                escape = !escape;
                if length + 1 > MAX_NAME {
                    return false;
                }
                // `\DDD` is one octet written as four, `\X` one written as two.
                let rest = &bytes[at + 1..];
                let digits = rest.len() >= 3 && rest[..3].iter().all(u8::is_ascii_digit);
                let extra = if digits { 3 } else { 1 };
                at += extra;
                label_start += extra;
                after_dot = false;
            }
            b'.' => {
                escape = false;
                if after_dot || (at == 0 && bytes.len() > 1) {
                    return false;
                }
                after_dot = true;
                let label = at - label_start;
                length += 1 + label;
                if label > MAX_LABEL || length > MAX_NAME {
                    return false;
                }
                label_start = at + 1;
            }
            _ => (escape, after_dot) = (false, false),
        }
        at += 1;
    }
    !escape
}

/// `name` with a trailing dot, unless it has one that is not escaped.
pub(crate) fn absolute(name: &str) -> String {
    let is_absolute = name.strip_suffix('.').is_some_and(|front| {
        let unescaped = front.trim_end_matches('\\');
        let backslashes = front.len() - unescaped.len();
        // miekg/dns also counts the bytes of the character before the backslashes, so the result differs beyond ASCII.
        let letter = unescaped.chars().next_back().map_or(1, char::len_utf8);
        backslashes == 0 || (backslashes + letter) % 2 == 1
    });
    if is_absolute { name.to_string() } else { format!("{name}.") }
}

/// Lower case and absolute. Characters beyond ASCII map to one character each, as in Go.
pub(crate) fn normalize(name: &str) -> String {
    absolute(name).chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let label = "a".repeat(63);
        let long = format!("{label}.{label}.{label}.{label}");
        for (name, expected) in [
            (".", true),
            ("example.org", true),
            ("EXAMPLE.org.", true),
            ("exa mple", true),
            ("}", true),
            ("a\\.b", true),
            ("a\\046b", true),
            (label.as_str(), true),
            (long.as_str(), true),
            ("", false),
            ("..", false),
            (".a", false),
            ("a..b", false),
            ("a\\", false),
            (&format!("{label}a"), false),
            (&format!("{long}.a"), false),
        ] {
            assert_eq!(is_domain_name(name), expected, "{name}");
        }
    }

    #[test]
    fn trailing_dots() {
        for (name, expected) in [("", "."), (".", "."), ("a", "a."), ("a\\.", "a\\.."), ("a\\\\.", "a\\\\.")]
        {
            assert_eq!(absolute(name), expected, "{name}");
        }
        assert_eq!(normalize("ÄB"), "äb.");
        assert_eq!(normalize("İ"), "i.");
    }
}
