//! The escapes in string and bytes literals.

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

const UNABLE: &str = "unable to unescape string";
const UNABLE_OCTAL: &str = "unable to unescape octal sequence in string";

/// The value of a quoted string literal.
pub(crate) fn unescape(quoted: &str) -> Result<String, &'static str> {
    let mut out = String::new();
    let normal = normal_lines(quoted);
    let mut chars = inside(&normal).chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let c = chars.next().ok_or(UNABLE)?;
        out.push(match c {
            'u' if chars.peek() == Some(&'{') => braces(&mut chars)?,
            'x' => character(digits(&mut chars, 16, 2).ok_or(UNABLE)?)?,
            'u' => character(digits(&mut chars, 16, 4).ok_or(UNABLE)?)?,
            'U' => character(digits(&mut chars, 16, 8).ok_or(UNABLE)?)?,
            '0'..='3' => character(octal(c, &mut chars)?)?,
            _ => plain(c).ok_or(UNABLE)?,
        });
    }
    Ok(out)
}

/// The value of a bytes literal without its `b`.
pub(crate) fn unescape_bytes(quoted: &str) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::new();
    let normal = normal_lines(quoted);
    let mut chars = inside(&normal).chars().peekable();
    let push = |c: char, out: &mut Vec<u8>| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(c, &mut out);
            continue;
        }
        let c = chars.next().ok_or(UNABLE)?;
        match c {
            'x' => {
                out.push(digits(&mut chars, 16, 2).and_then(|value| u8::try_from(value).ok()).ok_or(UNABLE)?)
            }
            '0'..='3' => out.push(u8::try_from(octal(c, &mut chars)?).map_err(|_| UNABLE)?),
            _ => push(plain(c).ok_or(UNABLE)?, &mut out),
        }
    }
    Ok(out)
}

fn normal_lines(quoted: &str) -> String {
    quoted.replace("\r\n", "\n").replace('\r', "\n")
}

fn inside(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

fn plain(c: char) -> Option<char> {
    Some(match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' => c,
        _ => return None,
    })
}

fn digits(chars: &mut Chars<'_>, base: u32, count: usize) -> Option<u32> {
    let mut value: u32 = 0;
    for _ in 0..count {
        value = value.wrapping_mul(base).wrapping_add(chars.next()?.to_digit(base)?);
    }
    Some(value)
}

fn octal(first: char, chars: &mut Chars<'_>) -> Result<u32, &'static str> {
    let rest = digits(chars, 8, 2).ok_or(UNABLE_OCTAL)?;
    Ok(first.to_digit(8).unwrap_or_default() * 64 + rest)
}

/// `{1F600}`.
fn braces(chars: &mut Chars<'_>) -> Result<char, &'static str> {
    chars.next();
    let mut value = 0;
    for c in chars.by_ref() {
        if c == '}' {
            return character(value);
        }
        value = value * 16 + c.to_digit(16).ok_or(UNABLE)?;
    }
    Err(UNABLE)
}

/// Surrogates are not characters; Go replaces them with U+FFFD.
fn character(value: u32) -> Result<char, &'static str> {
    // Beyond 31 bits the number is negative in Go, which accepts it.
    let valid = value <= 0x10_FFFF || value > i32::MAX as u32;
    if valid { Ok(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)) } else { Err(UNABLE) }
}
