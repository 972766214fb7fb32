//! From IPv6 addresses to the IPv4 addresses clients reach them by.

use std::net::Ipv6Addr;

use crate::translation::Pref64;

pub(super) struct Mapping {
    prefix: Pref64,
    /// Explicit mappings (RFC 7757), sorted by the IPv6 address.
    explicit: Vec<([u8; 16], [u8; 4])>,
}

impl Mapping {
    /// Of several mappings of one IPv6 address the last is taken.
    pub fn new(prefix: Pref64, mut explicit: Vec<([u8; 16], [u8; 4])>) -> Mapping {
        explicit.reverse();
        explicit.sort_by_key(|(outer, _)| *outer);
        explicit.dedup_by_key(|(outer, _)| *outer);
        Mapping { prefix, explicit }
    }

    /// What is mapped explicitly comes before what lies in the prefix (RFC 7757 §3.3.2). IPv4 addresses in IPv6 form
    /// are nobody's.
    pub fn of(&self, outer: [u8; 16]) -> Option<[u8; 4]> {
        if Ipv6Addr::from(outer).to_ipv4_mapped().is_some() {
            return None;
        }
        match self.explicit.binary_search_by_key(&outer, |(outer, _)| *outer) {
            Ok(at) => Some(self.explicit[at].1),
            Err(_) => self.prefix.extract(outer),
        }
    }
}
