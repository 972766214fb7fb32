//! What `dns64` and `siit` have in common: IPv4 addresses inside IPv6 ones (RFC 6052), how long a record lives that was
//! made out of another, and the count of queries that got such records.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, OnceLock};

use corefile::reverse::Prefix;
use metrics::{Counter, Family, registry};
use server::Link;
use wire::{Edns, Name, Opt, Owner, Query, Reply, Rtype, Section};

/// What made records live at most, if nothing says how long the absence of real ones lasts (RFC 6147 §5.1.7).
const WITHOUT_SOA: u32 = 600;

/// The octet that belongs to nobody: bits 64 to 71 are zero (RFC 6052 §2.2).
const RESERVED: usize = 8;

/// A prefix that turns IPv4 addresses into IPv6 ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pref64 {
    octets: [u8; 16],
    bits: u32,
}

impl Pref64 {
    /// `64:ff9b::/96`
    pub const WELL_KNOWN: Pref64 =
        Pref64 { octets: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], bits: 96 };

    /// The network of a prefix, if it has one of the lengths there are.
    pub fn new(prefix: &Prefix) -> Option<Pref64> {
        let (IpAddr::V6(network), bits) = network(prefix) else { return None };
        matches!(bits, 32 | 40 | 48 | 56 | 64 | 96).then(|| Pref64 { octets: network.octets(), bits })
    }

    pub fn is_reserved_octet_zero(&self) -> bool {
        self.octets[RESERVED] == 0
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
        let apart = u128::from_be_bytes(self.octets) ^ u128::from_be_bytes(outer);
        if apart.leading_zeros() < self.bits || outer[RESERVED] != 0 {
            return None;
        }
        let mut inner = [0; 4];
        for (octet, at) in inner.iter_mut().zip(self.places()) {
            *octet = outer[at];
        }
        Some(inner)
    }

    /// Where the octets of the IPv4 address are.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        (self.bits as usize / 8..16).filter(|at| *at != RESERVED)
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

/// A network as Go writes it: without host bits, and one of IPv4 addresses in IPv6 form as IPv4.
pub(crate) fn network_text(prefix: &Prefix) -> String {
    match network(prefix) {
        (address @ IpAddr::V6(_), bits @ 96..) => match address.to_canonical() {
            inner @ IpAddr::V4(_) => format!("{inner}/{}", bits - 96),
            address => format!("{address}/{bits}"),
        },
        (address, bits) => format!("{address}/{bits}"),
    }
}

/// What a made record lives at most: as long as the denial does that it takes the place of.
pub(crate) fn longest_life(denial: &Reply) -> u32 {
    let soa = denial.section(Section::Authority).iter().rev().find(|record| record.rtype == Rtype::SOA);
    soa.map_or(WITHOUT_SOA, |soa| soa.ttl)
}

/// The OPT record of a reply that a look-up made: its own, or the client's sent back.
pub(crate) fn opt_of(found: &Reply, query: &Query) -> Option<Opt> {
    let reflected = |edns: Edns| {
        let mut opt = Opt::new(edns.udp_size, false);
        opt.flags = edns.flags & 0xFF00;
        opt
    };
    found.opt.clone().or_else(|| query.edns.map(reflected))
}

/// The owner of a record that goes from one reply into another.
pub(crate) fn owner(reply: &mut Reply, name: Name<'_>, question: Name<'_>) -> Owner {
    if name == question { Owner::Question(0) } else { reply.store(name) }
}

/// The count of translated queries, for each server the block is part of. A series appears with its first query, as in
/// CoreDNS, and no query looks a label up.
pub(crate) struct Translated {
    /// None if something else has taken the name; then nobody sees what is counted.
    family: Option<Arc<Family<Counter>>>,
    /// Known when all blocks are.
    servers: OnceLock<Vec<(String, OnceLock<Arc<Counter>>)>>,
}

impl Translated {
    pub fn new(name: &'static str, help: &'static str) -> Translated {
        Translated { family: registry().counters(name, help, &["server"]).ok(), servers: OnceLock::new() }
    }

    pub fn link(&self, link: &Link<'_>) {
        let mut labels: Vec<&str> = link.served().iter().map(|(server, _)| server.as_str()).collect();
        labels.sort_unstable();
        labels.dedup();
        let _ =
            self.servers.set(labels.into_iter().map(|label| (label.to_owned(), OnceLock::new())).collect());
    }

    pub fn count(&self, server: &str) {
        let mut servers = self.servers.get().into_iter().flatten();
        let Some((label, counter)) = servers.find(|(label, _)| label == server) else { return };
        let make = || self.family.as_ref().map(|family| family.with(&[label.as_str()])).unwrap_or_default();
        counter.get_or_init(make).inc();
    }
}
