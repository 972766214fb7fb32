//! Moves addresses of preferred networks to the front.

use std::net::IpAddr;

use corefile::reverse::Prefix;
use wire::{Record, Reply, Rtype, Section};

use super::order::partition;

/// Sorts a section: aliases, addresses by the first network that contains them, mail exchangers, everything else.
pub(super) fn sort(reply: &mut Reply, section: Section, networks: &[Prefix]) {
    let len = reply.section(section).len();
    if len < 2 {
        return;
    }
    let mut done = partition(reply, section, 0..len, &|_, record| record.rtype == Rtype::CNAME);
    let addresses = |_: &Reply, record: &Record| matches!(record.rtype, Rtype::A | Rtype::AAAA);
    let end = done + partition(reply, section, done..len, &addresses);
    partition(reply, section, end..len, &|_, record| record.rtype == Rtype::MX);
    for network in networks {
        done += partition(reply, section, done..end, &|reply, record| {
            address(reply.data(record)).is_some_and(|address| contains(network, address))
        });
    }
}

/// The address in a record's data; an IPv4-mapped address becomes IPv4.
pub(super) fn address(data: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(data) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(data).ok().map(|octets| IpAddr::from(octets).to_canonical())
}

/// Whether the network, made by [`network`], contains the address.
pub(super) fn contains(network: &Prefix, address: IpAddr) -> bool {
    match (network.address, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= network.bits,
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= network.bits,
        _ => false,
    }
}

/// Parses a network. An IPv4-mapped network of at least 96 bits becomes an IPv4 network.
pub(super) fn network(text: &str) -> Option<Prefix> {
    let prefix = Prefix::parse(text)?;
    match (prefix.address.to_canonical(), prefix.bits) {
        (IpAddr::V4(address), bits @ 96..) if prefix.address.is_ipv6() => {
            Some(Prefix { address: address.into(), bits: bits - 96 })
        }
        _ => Some(prefix),
    }
}
