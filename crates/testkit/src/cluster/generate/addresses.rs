//! Addresses: unique for Services, from a pool for pods, so that several share one.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::ObjectGenerator;
use crate::random::Random;

/// Number of pod addresses per family. Fewer than endpoints, so that they share some.
const POOL: usize = 150;

/// Number of addresses behind no Service of this cluster. Few, because CoreDNS makes a name with an empty label
/// of them, which it cannot send: each query for it times out.
const FAR: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// Of Services, ascending.
    next: u16,
    pods4: Vec<String>,
    pods6: Vec<String>,
}

/// Where an address is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this cluster.
    Near,
    /// Elsewhere, or behind nothing.
    Far,
}

impl Addresses {
    pub(super) fn new(random: &mut Random) -> Self {
        let mut pods4: BTreeSet<String> = BTreeSet::new();
        // Outside 10.0.0.0/8 and fd00::/8 too, beyond some reverse zones of tests. The last octet 0, and a
        // zero at the end of an IPv6 address, look odd when written with dashes.
        for odd in ["172.16.3.4", "192.168.0.0", "203.0.113.9", "10.244.0.0", "10.96.200.200"] {
            pods4.insert(odd.into());
        }
        while pods4.len() < POOL {
            let octets = [10, 244, random.below(4) as u8, random.byte()];
            pods4.insert(Ipv4Addr::from(octets).to_string());
        }
        let mut pods6: BTreeSet<String> = BTreeSet::new();
        for odd in ["2001:db8::1", "fd00:10:244::", "fd00:10:244:1:2:3:4:5", "64:ff9b::a00:1", "fd00:0:0:1::"]
        {
            pods6.insert(odd.parse::<Ipv6Addr>().map_or_else(|_| odd.into(), |a| a.to_string()));
        }
        while pods6.len() < POOL {
            let mut segments = [0xfd00, 0x10, 0x244, 0, 0, 0, 0, random.u16() & 0x0fff];
            if random.chance(0.3) {
                segments[4] = random.u16();
            }
            pods6.insert(Ipv6Addr::from(segments).to_string());
        }
        Self { next: 0, pods4: pods4.into_iter().collect(), pods6: pods6.into_iter().collect() }
    }
}

impl ObjectGenerator {
    /// The number of an unused Service address.
    pub(super) fn next_address(&mut self) -> u16 {
        self.addresses.next += 1;
        self.addresses.next
    }

    /// The address of that number in the API server's ranges for Services.
    pub(super) fn cluster_ip(n: u16, family: Family) -> String {
        // The API server uses 10.96.0.1 itself.
        let n = n.wrapping_add(0x100);
        let [high, low] = n.to_be_bytes();
        match family {
            Family::Ipv4 => Ipv4Addr::from([10, 96, high, low]).to_string(),
            Family::Ipv6 => Ipv6Addr::from([0xfd00, 0x10, 0x96, 0, 0, 0, 0, n]).to_string(),
        }
    }

    /// An address of the ClusterSet.
    pub(super) fn set_ip(n: u16, family: Family) -> String {
        let [high, low] = n.to_be_bytes();
        match family {
            Family::Ipv4 => Ipv4Addr::from([10, 112, high, low]).to_string(),
            Family::Ipv6 => Ipv6Addr::from([0xfd00, 0x10, 0x112, 0, 0, 0, 0, n]).to_string(),
        }
    }

    /// The address of an endpoint; may repeat.
    pub(super) fn endpoint_ip(&mut self, place: Place, family: Family) -> String {
        let n = self.random.below(FAR);
        match (place, family) {
            (Place::Near, family) => self.pod_ip(family),
            (Place::Far, Family::Ipv4) => format!("10.245.0.{n}"),
            (Place::Far, Family::Ipv6) => format!("fd00:10:245::{}", n + 1),
        }
    }

    /// The address of a pod; may repeat.
    pub(super) fn pod_ip(&mut self, family: Family) -> String {
        let pool = match family {
            Family::Ipv4 => &self.addresses.pods4,
            Family::Ipv6 => &self.addresses.pods6,
        };
        self.random.pick(pool).clone()
    }
}
