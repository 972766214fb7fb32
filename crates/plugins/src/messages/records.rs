//! Writers of records that several plugins share.

use std::net::IpAddr;

use wire::{Class, Name, Owner, Reply, Rtype, Section};

/// The record type of an address.
pub(crate) fn rtype(address: IpAddr) -> Rtype {
    match address {
        IpAddr::V4(_) => Rtype::A,
        IpAddr::V6(_) => Rtype::AAAA,
    }
}

pub(crate) fn push_address(reply: &mut Reply, section: Section, owner: Owner, ttl: u32, address: IpAddr) {
    match address {
        IpAddr::V4(ip) => reply.push(section, owner, Rtype::A, ttl, &ip.octets()),
        IpAddr::V6(ip) => reply.push(section, owner, Rtype::AAAA, ttl, &ip.octets()),
    }
}

pub(crate) fn push_cname(reply: &mut Reply, owner: Owner, ttl: u32, target: Name<'_>) {
    reply.push_with(Section::Answer, owner, Rtype::CNAME, Class::IN, ttl, |out| {
        out.name(target);
    });
}

/// An SRV record of the queried name.
pub(crate) fn push_srv(reply: &mut Reply, ttl: u32, weight: u16, port: u16, target: Name<'_>) {
    reply.push_with(Section::Answer, Owner::Question(0), Rtype::SRV, Class::IN, ttl, |out| {
        out.u16(0).u16(weight).u16(port).name(target);
    });
}

/// The weight of an SRV record: an equal share of 100 for every candidate, duplicates included; the computation is
/// CoreDNS's, for the same rounding.
pub(crate) fn srv_weight(candidates: usize) -> u16 {
    let weight = 100.0 / (100 * candidates.max(1)) as f64 * 100.0;
    (weight.floor() as u16).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srv_weights() {
        for (candidates, expected) in
            [(1, 100), (2, 50), (3, 33), (5, 20), (6, 16), (7, 14), (99, 1), (100, 1), (1000, 1)]
        {
            assert_eq!(srv_weight(candidates), expected, "{candidates}");
        }
    }
}
