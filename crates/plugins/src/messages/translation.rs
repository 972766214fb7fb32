//! Shared by `dns64` and `siit`: IPv4-embedded IPv6 addresses (RFC 6052), the TTL of synthesized records, and the counter
//! of translated queries.

use std::net::{IpAddr, Ipv6Addr};

use corefile::reverse::Prefix;
use wire::{Edns, Name, Opt, Owner, Query, Reply, Rtype, Section};

/// The maximum TTL of synthesized records if the negative reply has no SOA record (RFC 6147 §5.1.7).
const TTL_WITHOUT_SOA: u32 = 600;

/// The reserved octet: bits 64 to 71 are zero (RFC 6052 §2.2).
const RESERVED_OCTET: usize = 8;

/// A prefix for IPv4-embedded IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pref64 {
    octets: [u8; 16],
    bits: u32,
}

impl Pref64 {
    /// `64:ff9b::/96`
    pub const WELL_KNOWN: Pref64 =
        Pref64 { octets: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], bits: 96 };

    /// None if the length is not one of RFC 6052 §2.2.
    pub fn new(prefix: &Prefix) -> Option<Pref64> {
        let (IpAddr::V6(network), bits) = network(prefix) else { return None };
        matches!(bits, 32 | 40 | 48 | 56 | 64 | 96).then(|| Pref64 { octets: network.octets(), bits })
    }

    pub fn is_reserved_octet_zero(&self) -> bool {
        self.octets[RESERVED_OCTET] == 0
    }

    pub fn embed(&self, inner: [u8; 4]) -> [u8; 16] {
        let mut octets = self.octets;
        for (at, octet) in self.places().zip(inner) {
            octets[at] = octet;
        }
        octets
    }

    /// The IPv4 address in an IPv6 address of this prefix.
    pub fn extract(&self, outer: [u8; 16]) -> Option<[u8; 4]> {
        let difference = u128::from_be_bytes(self.octets) ^ u128::from_be_bytes(outer);
        if difference.leading_zeros() < self.bits || outer[RESERVED_OCTET] != 0 {
            return None;
        }
        let mut inner = [0; 4];
        for (octet, at) in inner.iter_mut().zip(self.places()) {
            *octet = outer[at];
        }
        Some(inner)
    }

    /// The places of the IPv4 address's octets.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        (self.bits as usize / 8..16).filter(|at| *at != RESERVED_OCTET)
    }
}

impl std::fmt::Display for Pref64 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", Ipv6Addr::from(self.octets), self.bits)
    }
}

/// The address of a prefix without its host bits.
fn network(prefix: &Prefix) -> (IpAddr, u32) {
    let host_bits = |width: u32| width - prefix.bits.min(width);
    let address = match prefix.address {
        IpAddr::V4(address) => {
            IpAddr::V4((address.to_bits() & u32::MAX.checked_shl(host_bits(32)).unwrap_or(0)).into())
        }
        IpAddr::V6(address) => {
            IpAddr::V6((address.to_bits() & u128::MAX.checked_shl(host_bits(128)).unwrap_or(0)).into())
        }
    };
    (address, prefix.bits)
}

/// A network as Go formats it: without host bits, and an IPv4-mapped one as IPv4.
pub(crate) fn network_text(prefix: &Prefix) -> String {
    match network(prefix) {
        (address @ IpAddr::V6(_), bits @ 96..) => match address.to_canonical() {
            inner @ IpAddr::V4(_) => format!("{inner}/{}", bits - 96),
            address => format!("{address}/{bits}"),
        },
        (address, bits) => format!("{address}/{bits}"),
    }
}

/// The maximum TTL of a synthesized record: that of the SOA record in the negative reply it replaces.
pub(crate) fn max_ttl(denial: &Reply) -> u32 {
    let soa = denial.section(Section::Authority).iter().rev().find(|record| record.rtype == Rtype::SOA);
    soa.map_or(TTL_WITHOUT_SOA, |soa| soa.ttl)
}

/// The OPT record for a reply from a lookup: the lookup's own, or the client's reflected.
pub(crate) fn opt_of(found: &Reply, query: &Query) -> Option<Opt> {
    let reflected = |edns: Edns| {
        let mut opt = Opt::new(edns.udp_size, false);
        opt.flags = edns.flags & 0xFF00;
        opt
    };
    found.opt.clone().or_else(|| query.edns.map(reflected))
}

/// The owner of a record that is copied from another reply.
pub(crate) fn owner(reply: &mut Reply, name: Name<'_>, question: Name<'_>) -> Owner {
    if name == question { Owner::Question(0) } else { reply.store(name) }
}
