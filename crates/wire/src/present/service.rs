//! Service parameters in presentation format (RFC 9460 §2.1, appendix A).

use std::fmt::{Display, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::data::quoted;
use crate::form::PARAMETERS;
use crate::radix::BASE64;

/// A word for each parameter. None unless their keys ascend and their values are well-formed.
pub(super) fn parameters(data: &[u8]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = data;
    let mut least = 0;
    while let Some((head, after)) = rest.split_first_chunk::<4>() {
        let key = u16::from_be_bytes([head[0], head[1]]);
        let (value, after) = after.split_at_checked(usize::from(u16::from_be_bytes([head[2], head[3]])))?;
        if u32::from(key) < least || key == u16::MAX {
            return None;
        }
        least = u32::from(key) + 1;
        words.push(parameter(key, value)?);
        rest = after;
    }
    rest.is_empty().then_some(words)
}

fn parameter(key: u16, value: &[u8]) -> Option<String> {
    let value = match (&*key_name(key), value) {
        ("no-default-alpn" | "ohttp", []) => return Some(key_name(key)),
        ("no-default-alpn" | "ohttp", _) => return None,
        ("mandatory", keys) => {
            let (keys, []) = keys.as_chunks::<2>() else { return None };
            let keys: Vec<u16> = keys.iter().map(|key| u16::from_be_bytes(*key)).collect();
            if keys.is_empty() || keys.contains(&u16::MAX) || !keys.is_sorted_by(|a, b| a < b) {
                return None;
            }
            list(keys.iter().map(|key| key_name(*key)))
        }
        ("alpn", value) => alpn(value)?,
        ("port", [high, low]) => u16::from_be_bytes([*high, *low]).to_string(),
        ("ipv4hint", value) => {
            let (hints @ [_, ..], []) = value.as_chunks::<4>() else { return None };
            list(hints.iter().map(|hint| Ipv4Addr::from(*hint)))
        }
        ("ipv6hint", value) => {
            let (hints @ [_, ..], []) = value.as_chunks::<16>() else { return None };
            let hints: Vec<Ipv6Addr> = hints.iter().map(|hint| Ipv6Addr::from(*hint)).collect();
            if hints.iter().any(|hint| hint.to_ipv4_mapped().is_some()) {
                return None;
            }
            list(hints.into_iter())
        }
        ("port", _) | ("ech", []) => return None,
        ("ech", value) => BASE64.encode(value),
        (name, []) => return Some(name.to_owned()),
        (_, value) => quoted(value),
    };
    Some(format!("{}={value}", key_name(key)))
}

fn key_name(key: u16) -> String {
    let known = PARAMETERS.iter().find(|(_, number)| *number == key);
    known.map_or_else(|| format!("key{key}"), |(name, _)| (*name).to_owned())
}

fn list(items: impl Iterator<Item = impl Display>) -> String {
    let mut out = String::new();
    for (at, item) in items.enumerate() {
        let _ = write!(out, "{}{item}", if at > 0 { "," } else { "" });
    }
    out
}

/// Protocol identifiers; a comma or backslash inside one is escaped for the list, then for the string.
fn alpn(value: &[u8]) -> Option<String> {
    let mut items: Vec<Vec<u8>> = Vec::new();
    let mut rest = value;
    while let Some((&len, after)) = rest.split_first() {
        let (protocol, after) = after.split_at_checked(usize::from(len)).filter(|_| len > 0)?;
        rest = after;
        items.push(protocol.iter().fold(Vec::new(), |mut out, byte| {
            if matches!(byte, b',' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
            out
        }));
    }
    (!items.is_empty()).then(|| quoted(&items.join(&b","[..])))
}
