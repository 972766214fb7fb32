//! `html`, `js` and `urlquery`.

use std::io::Write;

use crate::quote::is_print;

pub(super) fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(other),
        }
    }
    out
}

pub(super) fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let _ = match c {
                '\\' | '\'' | '"' => write!(out, "\\{c}"),
                '<' | '>' | '&' | '=' | '\0'..='\x1f' => write!(out, "\\u{:04X}", u32::from(c)),
                c if c.is_ascii() || is_print(c) => write!(out, "{c}"),
                c => write!(out, "\\u{:04X}", u32::from(c)),
            };
        }
        for _ in chunk.invalid() {
            // Go decodes an invalid byte as the replacement character, which is printable, and copies the byte.
            out.extend_from_slice(chunk.invalid().get(..1).unwrap_or_default());
        }
    }
    out
}

pub(super) fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}
