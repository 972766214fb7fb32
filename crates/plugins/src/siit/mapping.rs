//! Maps IPv6 addresses of services to the IPv4 addresses that clients use.

use std::net::Ipv6Addr;

use crate::messages::translation::Pref64;

pub(super) struct Mapping {
    prefix: Pref64,
    /// Explicit mappings (RFC 7757), sorted by the IPv6 address.
    explicit: Vec<([u8; 16], [u8; 4])>,
}

impl Mapping {
    /// Of several mappings of one IPv6 address the last counts.
    pub fn new(prefix: Pref64, mut explicit: Vec<([u8; 16], [u8; 4])>) -> Mapping {
        explicit.reverse();
        explicit.sort_by_key(|(ipv6, _)| *ipv6);
        explicit.dedup_by_key(|(ipv6, _)| *ipv6);
        Mapping { prefix, explicit }
    }

    /// Explicit mappings precede the prefix (RFC 7757 §3.3.2). IPv4-mapped addresses have no mapping.
    pub fn ipv4(&self, ipv6: [u8; 16]) -> Option<[u8; 4]> {
        if Ipv6Addr::from(ipv6).to_ipv4_mapped().is_some() {
            return None;
        }
        match self.explicit.binary_search_by_key(&ipv6, |(ipv6, _)| *ipv6) {
            Ok(at) => Some(self.explicit[at].1),
            Err(_) => self.prefix.extract(ipv6),
        }
    }
}
