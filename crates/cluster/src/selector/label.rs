//! Validates the key and value of a label, with Kubernetes' error texts.

const MAX_NAME: usize = 63;
const MAX_PREFIX: usize = 253;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
    regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const PREFIX: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The rules that a key violates; empty if it is valid.
pub(super) fn key_breaches(key: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            breaches
                .extend(prefix_breaches(prefix).into_iter().map(|breach| format!("prefix part {breach}")));
            name
        }
        _ => {
            let form = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME} {form}")];
        }
    };
    if name.is_empty() {
        breaches.push("name part must be non-empty".into());
    } else if name.len() > MAX_NAME {
        breaches.push(format!("name part {}", too_long(MAX_NAME)));
    }
    if !is_name(name) {
        breaches.push(format!("name part {NAME}"));
    }
    breaches
}

/// The rules that a value violates; empty if it is valid.
pub(super) fn value_breaches(value: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    if value.len() > MAX_NAME {
        breaches.push(too_long(MAX_NAME));
    }
    if !value.is_empty() && !is_name(value) {
        breaches.push(VALUE.into());
    }
    breaches
}

fn prefix_breaches(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["must be non-empty".into()];
    }
    let mut breaches = Vec::new();
    if prefix.len() > MAX_PREFIX {
        breaches.push(too_long(MAX_PREFIX));
    }
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| is_framed(label, is_part, |byte| is_part(byte) || byte == b'-');
    if !prefix.split('.').all(is_label) {
        breaches.push(PREFIX.into());
    }
    breaches
}

fn is_name(text: &str) -> bool {
    is_framed(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
    )
}

/// Not empty, `end` accepts the first and last byte, `inner` every byte.
fn is_framed(text: &str, end: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&byte| end(byte))
        && bytes.last().is_some_and(|&byte| end(byte))
        && bytes.iter().all(|&byte| inner(byte))
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} bytes")
}
