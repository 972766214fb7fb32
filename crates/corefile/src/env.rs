//! Environment variables in tokens: `{%NAME%}` first, then `{$NAME}`.
//!
//! They are expanded token by token after lexing, so a value with spaces stays one token. Values are expanded again: a
//! variable may refer to another.

/// CoreDNS hangs on a variable that refers to itself. Here expansion stops after this many rounds or bytes.
const MAX_ROUNDS: usize = 1000;
const MAX_BYTES: usize = 1 << 20;

pub(crate) fn replace(text: &str, value_of: &dyn Fn(&str) -> String) -> Option<String> {
    if !text.contains("{%") && !text.contains("{$") {
        return None;
    }
    let text = replace_form(text.to_string(), "{%", "%}", value_of);
    Some(replace_form(text, "{$", "}", value_of))
}

fn replace_form(mut text: String, open: &str, close: &str, value_of: &dyn Fn(&str) -> String) -> String {
    for _ in 0..MAX_ROUNDS {
        let Some(start) = text.find(open) else { break };
        // CoreDNS searches the end from the start of the opening, so `{%}` is no reference.
        let Some(length) = text[start..].find(close) else { break };
        if length <= open.len() {
            break;
        }
        let reference = text[start..start + length + close.len()].to_string();
        let name = &reference[open.len()..length];
        text = text.replace(&reference, &value_of(name));
        if text.len() > MAX_BYTES {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let value_of = |name: &str| {
            match name {
                "A" => "one",
                "B" => "{$A}",
                "P" => "{%A%}",
                "SPACES" => "x y",
                "LOOP" => "{$LOOP}",
                "BOMB" => "{$BOMB}{$BOMB}",
                _ => "",
            }
            .to_string()
        };
        let found = replace(text, &value_of).unwrap_or_else(|| text.to_string());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn forms() {
        check("plain", "plain");
        check("{$A}", "one");
        check("{%A%}", "one");
        check("x{$A}y{$A}z{%A%}", "xoneyonezone");
        check("{$SPACES}", "x y");
        check("{$UNSET}", "");
        check("{$UNSET:default}", "");
    }

    #[test]
    fn incomplete_references_stay() {
        check("{$}", "{$}");
        check("{%}", "{%}");
        check("{%%}", "{%%}");
        check("{$A", "{$A");
        check("{$} {$A}", "{$} {$A}");
    }

    #[test]
    fn values_are_expanded_again() {
        check("{$B}", "one");
        check("{%B%}", "one");
        // The percent form is expanded before the dollar form, so this one stays.
        check("{$P}", "{%A%}");
        check("{$LOOP}", "{$LOOP}");
    }

    #[test]
    fn a_variable_that_doubles_itself_ends() {
        let text = replace("{$BOMB}", &|_| "{$BOMB}{$BOMB}".to_string());
        assert!(text.is_some_and(|t| t.len() < 4 << 20));
    }
}
