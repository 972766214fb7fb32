//! Reverse names: of known addresses, of unknown ones, and partial ones.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::super::objects::{list, text};
use super::super::stored::StoredObjects;
use super::addresses;
use crate::random::Random;

/// The name under in-addr.arpa or ip6.arpa.
pub fn reverse(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(v6) => {
            let nibbles = v6.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
            nibbles.map(|nibble| format!("{nibble:x}.")).collect::<String>() + "ip6.arpa"
        }
    }
}

pub(super) fn names(stored: &StoredObjects, random: &mut Random) -> Vec<String> {
    let mut known: BTreeSet<IpAddr> = stored.slices.iter().flat_map(addresses).collect();
    for service in &stored.services {
        for place in ["/spec/clusterIPs", "/spec/externalIPs"] {
            known.extend(list(service, place).iter().filter_map(|ip| text(ip, "").parse::<IpAddr>().ok()));
        }
        let ingress = list(service, "/status/loadBalancer/ingress").iter();
        known.extend(ingress.filter_map(|i| text(i, "/ip").parse::<IpAddr>().ok()));
    }
    for pod in &stored.pods {
        let ips = list(pod, "/status/podIPs").iter();
        known.extend(ips.filter_map(|ip| text(ip, "/ip").parse::<IpAddr>().ok()));
    }
    for import in &stored.imports {
        known.extend(list(import, "/spec/ips").iter().filter_map(|ip| text(ip, "").parse::<IpAddr>().ok()));
    }
    let mut names: Vec<String> = known.iter().map(|ip| reverse(*ip)).collect();
    for _ in 0..known.len() / 4 {
        let name = random.pick(&names).clone();
        names.push(odd(random, &name));
    }
    names.extend(FIXED.iter().map(|name| (*name).to_owned()));
    names
}

/// Part of a reverse name, one with extra labels, or another address.
fn odd(random: &mut Random, name: &str) -> String {
    let labels: Vec<&str> = name.split('.').collect();
    match random.below(6) {
        0 => labels[1..].join("."),
        1 => labels[labels.len().saturating_sub(random.between(2, 4))..].join("."),
        2 => format!("x.{name}"),
        3 => format!("{}.{}", random.below(256), labels[1..].join(".")),
        4 => format!("0{name}"),
        _ => format!("{:x}.{}", random.below(16), labels[1..].join(".")),
    }
}

/// The bounds of reverse zones that tests serve, and names beyond them.
const FIXED: &[&str] = &[
    "in-addr.arpa",
    "ip6.arpa",
    "arpa",
    "10.in-addr.arpa",
    "96.10.in-addr.arpa",
    "111.10.in-addr.arpa",
    "112.10.in-addr.arpa",
    "1.0.96.10.in-addr.arpa",
    "1.0.112.10.in-addr.arpa",
    "1.0.0.127.in-addr.arpa",
    "9.9.9.9.in-addr.arpa",
    "d.f.ip6.arpa",
    "0.0.d.f.ip6.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
    "a.b.c.d.in-addr.arpa",
    "256.0.0.10.in-addr.arpa",
    "g.0.d.f.ip6.arpa",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families() {
        for (address, name) in [
            ("10.1.2.3", "3.2.1.10.in-addr.arpa"),
            ("2001:db8::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"),
        ] {
            assert_eq!(reverse(address.parse().unwrap()), name);
        }
    }
}
