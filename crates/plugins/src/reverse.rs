//! From the name of a PTR query to an address.
//!
//! The labels are turned around, joined into text and read as an address, which takes more names than the
//! standards make: CoreDNS works so, and somebody may have come to like it.

use std::net::IpAddr;

use wire::Name;

const IN_ADDR: &[u8] = b"\x07in-addr\x04arpa\0";
const IP6: &[u8] = b"\x03ip6\x04arpa\0";

/// The address a lower-case reverse name stands for. IPv4 in IPv6 form is IPv4.
pub(crate) fn address(name: Name<'_>) -> Option<IpAddr> {
    if let Some(at) = name.offset_of(Name::from_wire(IN_ADDR)?) {
        // No IPv6 address is to be found here, save those that are IPv4 at heart.
        return turned(&name.wire()[..at], 0, |_| Some(b'.')).filter(IpAddr::is_ipv4);
    }
    let at = name.offset_of(Name::from_wire(IP6)?)?;
    let front = &name.wire()[..at];
    // Labels that do not fill a group of four are ignored, wherever they come from.
    let spare = labels(front).count() % 4;
    turned(front, spare, |written| (written % 4 == 0).then_some(b':'))
}

/// Joins the labels from right to left and reads the text. `between` says what to put between the labels, given
/// how many are there already.
fn turned(front: &[u8], skip: usize, between: impl Fn(usize) -> Option<u8>) -> Option<IpAddr> {
    let mut text = [0; 256];
    let mut start = text.len();
    for (written, label) in labels(front).skip(skip).enumerate() {
        // The text is filled from its end, so the last label comes first.
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

/// The labels of the front part of a name, which has no root label.
fn labels(mut front: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&len, rest) = front.split_first()?;
        let (label, rest) = rest.split_at_checked(usize::from(len))?;
        front = rest;
        Some(label)
    })
}
