//! Converts the name of a PTR query to an address.
//!
//! As in CoreDNS, the labels are joined in reverse order and parsed as an address, which accepts more names than the
//! standards define.

use std::net::IpAddr;

use wire::Name;

const IN_ADDR: &[u8] = b"\x07in-addr\x04arpa\0";
const IP6: &[u8] = b"\x03ip6\x04arpa\0";

/// The address of a lower-case reverse name. IPv4-mapped IPv6 is IPv4.
pub(crate) fn address(name: Name<'_>) -> Option<IpAddr> {
    if let Some(at) = name.offset_of(Name::from_wire(IN_ADDR)?) {
        // An IPv6 address is valid here only if it is IPv4-mapped.
        return parse_reversed(&name.wire()[..at], 0, |_| Some(b'.')).filter(IpAddr::is_ipv4);
    }
    let at = name.offset_of(Name::from_wire(IP6)?)?;
    let front = &name.wire()[..at];
    // The leftmost labels that do not fill a group of four are ignored.
    let spare = labels(front).count() % 4;
    parse_reversed(front, spare, |written| (written % 4 == 0).then_some(b':'))
}

/// Joins the labels from right to left and parses the text. `between` returns the separator, given the number of labels
/// written so far.
fn parse_reversed(front: &[u8], skip: usize, between: impl Fn(usize) -> Option<u8>) -> Option<IpAddr> {
    let mut text = [0; 256];
    let mut start = text.len();
    for (written, label) in labels(front).skip(skip).enumerate() {
        // Filled from the end, so that the last label is first.
        if written > 0
            && let Some(separator) = between(written)
        {
            start = start.checked_sub(1)?;
            text[start] = separator;
        }
        if !label.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b':')) {
            return None;
        }
        start = start.checked_sub(label.len())?;
        text[start..start + label.len()].copy_from_slice(label);
    }
    let text = std::str::from_utf8(&text[start..]).ok()?;
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// The labels of the front part of a name, without a root label.
fn labels(mut front: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&len, rest) = front.split_first()?;
        let (label, rest) = rest.split_at_checked(usize::from(len))?;
        front = rest;
        Some(label)
    })
}
