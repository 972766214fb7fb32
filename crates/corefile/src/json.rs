//! JSON text as Go's encoder writes it.

/// Appends `text` as a JSON string. Go also escapes `<`, `>` and `&`, and the two Unicode line separators.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn strings_are_escaped_as_go_escapes_them() {
        let mut out = String::new();
        super::push_string(&mut out, "a\"\\\n\r\t\u{8}\u{c}\u{1}\u{7f}<>&\u{2028}é\u{fffd}");
        assert_eq!(out, "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0001\u{7f}\\u003c\\u003e\\u0026\\u2028é\u{fffd}\"");
    }
}
