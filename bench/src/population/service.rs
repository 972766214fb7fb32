//! One Service of the cluster, a function of its number.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const SERVICES: u32 = 5_000;

/// The headless Service with many endpoints; its answer stays below 16 KiB, the limit of dnsperf.
pub const WIDE: u32 = 0;

/// One Service in so many is headless.
const HEADLESS: u32 = 5;

/// Endpoints of the wide Service, of other headless ones, and of those with an address; some of the last have one more,
/// to make 50,000 in all.
const WIDE_ENDPOINTS: u32 = 90;
const HEADLESS_ENDPOINTS: u32 = 3;
const BEHIND_ADDRESS: u32 = 11;
const WITH_ONE_MORE: u32 = 2_913;

const NAMESPACES: u32 = 50;

#[derive(Clone, Copy, Debug)]
pub struct Service {
    n: u32,
}

impl Service {
    /// Below [`SERVICES`].
    pub fn number(n: u32) -> Self {
        Self { n }
    }

    pub fn label(&self) -> String {
        format!("service-{}", self.n)
    }

    pub fn namespace(&self) -> String {
        namespace(self.n % NAMESPACES)
    }

    /// The query name.
    pub fn name(&self) -> String {
        format!("{}.{}.svc.cluster.local", self.label(), self.namespace())
    }

    pub fn headless(&self) -> bool {
        self.n.is_multiple_of(HEADLESS)
    }

    /// The addresses of its name: cluster IPs, of both families for every fourth, or those of its endpoints.
    pub fn addresses(&self) -> Vec<IpAddr> {
        if self.headless() {
            return self.endpoints().map(IpAddr::from).collect();
        }
        let mut addresses = vec![Ipv4Addr::from_bits(0x0a60_1000 + self.n).into()];
        if self.n % 4 == 1 {
            addresses.push(Ipv6Addr::new(0xfd00, 0x10, 0x96, 0, 0, 0, 0, 0x1000 + self.n as u16).into());
        }
        addresses
    }

    /// Addresses of pods, unique in the cluster.
    pub fn endpoints(&self) -> impl Iterator<Item = Ipv4Addr> + use<> {
        let first = endpoints_before(self.n);
        (first..endpoints_before(self.n + 1)).map(|number| Ipv4Addr::from_bits(0x0af4_0000 + number))
    }
}

/// The names of all namespaces.
pub fn namespaces() -> impl Iterator<Item = String> {
    (0..NAMESPACES).map(namespace)
}

fn namespace(n: u32) -> String {
    format!("team-{n}")
}

/// Total number of endpoints of the Services below this number.
fn endpoints_before(n: u32) -> u32 {
    let headless = n.div_ceil(HEADLESS);
    let with_address = n - headless;
    let wide = if n > WIDE { WIDE_ENDPOINTS - HEADLESS_ENDPOINTS } else { 0 };
    wide + headless * HEADLESS_ENDPOINTS + with_address * BEHIND_ADDRESS + with_address.min(WITH_ONE_MORE)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn fifty_thousand_endpoints_and_no_address_twice() {
        let services: Vec<Service> = (0..SERVICES).map(Service::number).collect();
        assert_eq!(services.iter().map(|service| service.endpoints().count()).sum::<usize>(), 50_000);
        let endpoints: HashSet<Ipv4Addr> = services.iter().flat_map(Service::endpoints).collect();
        assert_eq!(endpoints.len(), 50_000);
        let own: Vec<IpAddr> =
            services.iter().filter(|service| !service.headless()).flat_map(Service::addresses).collect();
        assert_eq!(own.iter().collect::<HashSet<_>>().len(), own.len());
    }

    #[test]
    fn kinds() {
        for (n, headless, addresses, endpoints) in
            [(0, true, 90, 90), (1, false, 2, 12), (2, false, 1, 12), (5, true, 3, 3), (4_999, false, 1, 11)]
        {
            let service = Service::number(n);
            let found = (service.headless(), service.addresses().len(), service.endpoints().count());
            assert_eq!(found, (headless, addresses, endpoints), "service-{n}");
        }
        assert_eq!(Service::number(7).name(), "service-7.team-7.svc.cluster.local");
        assert_eq!(Service::number(1).addresses()[0].to_string(), "10.96.16.1");
    }
}
