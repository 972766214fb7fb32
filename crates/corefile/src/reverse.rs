//! Reverse zones of CIDR prefixes.
//!
//! A label of a reverse zone is 8 bits of an IPv4 address or 4 of an IPv6 address. A prefix ending within a label
//! needs one zone for every value of that label: `10.0.0.0/23` is `0.0.10.in-addr.arpa.` and
//! `1.0.10.in-addr.arpa.`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address and the length of its network prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    pub address: IpAddr,
    pub bits: u32,
}

impl Prefix {
    /// Reads `ADDRESS/BITS`; host bits may be set. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        if bits.is_empty() || !bits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let bits: u32 = bits.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        (bits <= longest).then_some(Self { address, bits })
    }
}

/// The reverse zones of `prefix`, absolute, from the lowest addresses up.
pub fn zones(prefix: Prefix) -> Vec<String> {
    let Prefix { address, bits } = prefix;
    // Both families occupy the high bits of a u128, so that the arithmetic is the same.
    let (value, label_bits) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 8),
        IpAddr::V6(address) => (address.to_bits(), 4),
    };
    let network = if bits == 0 { 0 } else { value & (u128::MAX << (128 - bits)) };
    let rounded = bits.next_multiple_of(label_bits);
    (0..1_u128 << (rounded - bits))
        .map(|subnet| {
            let value = if rounded == 0 { 0 } else { network | (subnet << (128 - rounded)) };
            let labels = rounded / label_bits;
            match address {
                IpAddr::V4(_) => v4_zone(Ipv4Addr::from_bits((value >> 96) as u32), labels),
                IpAddr::V6(_) => v6_zone(Ipv6Addr::from_bits(value), labels),
            }
        })
        .collect()
}

fn v4_zone(address: Ipv4Addr, labels: u32) -> String {
    let octets = address.octets();
    let named = octets.iter().take(labels as usize).rev();
    named.map(|octet| format!("{octet}.")).chain(["in-addr.arpa.".to_string()]).collect()
}

fn v6_zone(address: Ipv6Addr, labels: u32) -> String {
    let nibbles: Vec<u8> = address.octets().iter().flat_map(|octet| [octet >> 4, octet & 0xf]).collect();
    let named = nibbles.iter().take(labels as usize).rev();
    named.map(|nibble| format!("{nibble:x}.")).chain(["ip6.arpa.".to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, count: usize, first: &str, last: &str) {
        let found = Prefix::parse(text).map(zones).unwrap_or_default();
        assert_eq!(found.len(), count, "{text}: {found:?}");
        assert_eq!(found.first().map(String::as_str), Some(first), "{text}");
        assert_eq!(found.last().map(String::as_str), Some(last), "{text}");
    }

    #[test]
    fn prefixes_on_a_label_boundary() {
        check("10.0.0.0/8", 1, "10.in-addr.arpa.", "10.in-addr.arpa.");
        check("10.1.2.3/24", 1, "2.1.10.in-addr.arpa.", "2.1.10.in-addr.arpa.");
        check("10.1.2.3/32", 1, "3.2.1.10.in-addr.arpa.", "3.2.1.10.in-addr.arpa.");
        check("0.0.0.0/0", 1, "in-addr.arpa.", "in-addr.arpa.");
        check("2001:db8::/32", 1, "8.b.d.0.1.0.0.2.ip6.arpa.", "8.b.d.0.1.0.0.2.ip6.arpa.");
        check("2001::/0", 1, "ip6.arpa.", "ip6.arpa.");
    }

    #[test]
    fn prefixes_within_a_label() {
        check("10.0.0.0/23", 2, "0.0.10.in-addr.arpa.", "1.0.10.in-addr.arpa.");
        check("10.0.0.128/27", 32, "128.0.0.10.in-addr.arpa.", "159.0.0.10.in-addr.arpa.");
        check("128.0.0.0/1", 128, "128.in-addr.arpa.", "255.in-addr.arpa.");
        check("255.255.255.254/31", 2, "254.255.255.255.in-addr.arpa.", "255.255.255.255.in-addr.arpa.");
        check("2001:db8::/33", 8, "0.8.b.d.0.1.0.0.2.ip6.arpa.", "7.8.b.d.0.1.0.0.2.ip6.arpa.");
        check("fe00::/7", 2, "e.f.ip6.arpa.", "f.f.ip6.arpa.");
    }

    #[test]
    fn invalid_prefixes() {
        for text in
            ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "010.0.0.0/8", "10.0.0/8", "fe80::1%a/64"]
        {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
        // Leading zeros are invalid in an address but not in a mask.
        assert!(Prefix::parse("10.0.0.0/024").is_some());
    }
}
