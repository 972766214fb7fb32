//! The client addresses that a policy applies to.

use std::net::IpAddr;

use corefile::reverse::Prefix;

/// A set of addresses, by family: `::/0` contains IPv6 clients only.
pub(crate) struct Sources {
    v4: Ranges,
    v6: Ranges,
}

/// First and last addresses; sorted and merged, so that one binary search finds the only candidate.
type Ranges = Box<[(u128, u128)]>;

impl Sources {
    pub fn all() -> Sources {
        Sources { v4: Box::new([(0, u128::MAX)]), v6: Box::new([(0, u128::MAX)]) }
    }

    pub fn new(networks: &[Prefix]) -> Sources {
        let (v4, v6): (Vec<Prefix>, Vec<Prefix>) =
            networks.iter().map(canonical).partition(|network| network.address.is_ipv4());
        Sources { v4: merged(&v4), v6: merged(&v6) }
    }

    /// Whether the address is in the set; an IPv4-mapped one must be given as IPv4.
    pub fn contains(&self, client: IpAddr) -> bool {
        let (ranges, address) = match client {
            IpAddr::V4(address) => (&self.v4, u128::from(address.to_bits())),
            IpAddr::V6(address) => (&self.v6, address.to_bits()),
        };
        let after = ranges.partition_point(|(first, _)| *first <= address);
        after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| address <= *last)
    }
}

/// Converts a network of IPv4-mapped addresses to IPv4, as those of clients are; otherwise it would match nobody.
fn canonical(network: &Prefix) -> Prefix {
    match (network.address, network.address.to_canonical(), network.bits) {
        (IpAddr::V6(_), address @ IpAddr::V4(_), bits @ 96..) => Prefix { address, bits: bits - 96 },
        (address, _, bits) => Prefix { address, bits },
    }
}

fn merged(networks: &[Prefix]) -> Ranges {
    let mut ranges: Vec<(u128, u128)> = networks.iter().map(range).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1.saturating_add(1);
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
    ranges.into()
}

fn range(network: &Prefix) -> (u128, u128) {
    let (address, width) = match network.address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    // The size of `::/0`, 2¹²⁸, does not fit.
    let hosts = 1u128.checked_shl(width - network.bits.min(width)).map_or(u128::MAX, |size| size - 1);
    (address & !hosts, address | hosts)
}
