//! The endpoints of a slice, stored compactly: a cluster has more of them than of anything else.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The ready endpoints of a slice, one per address, in the slice's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoints {
    addresses: Addresses,
    /// One for each address, or empty: most slices have only addresses.
    details: Box<[Option<Box<Details>>]>,
}

/// A slice has addresses of one family, nearly always IPv4.
#[derive(Clone, Debug, PartialEq)]
enum Addresses {
    V4(Box<[Ipv4Addr]>),
    Any(Box<[IpAddr]>),
}

/// Optional fields of an endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The address as the API spells it, if that is not the canonical form: endpoint names derive from the spelling.
    pub spelling: Option<Box<str>>,
    pub hostname: Option<Box<str>>,
    /// The target pod, unless its name is longer than a label; kept only if [`crate::Want::pod_names`].
    pub pod: Option<Box<str>>,
    /// The topology zone in lower case; kept only if [`crate::Want::zones`].
    pub zone: Option<Arc<str>>,
}

/// One ready address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endpoint<'s> {
    pub address: IpAddr,
    details: Option<&'s Details>,
}

impl Endpoints {
    pub fn len(&self) -> usize {
        match &self.addresses {
            Addresses::V4(all) => all.len(),
            Addresses::Any(all) => all.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an endpoint has the address.
    pub fn has(&self, address: IpAddr) -> bool {
        match (&self.addresses, address) {
            (Addresses::V4(all), IpAddr::V4(address)) => all.contains(&address),
            (Addresses::V4(_), IpAddr::V6(_)) => false,
            (Addresses::Any(all), address) => all.contains(&address),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Endpoint<'_>> + Clone {
        (0..self.len()).map(|n| Endpoint {
            address: self.addresses.get(n),
            details: self.details.get(n).and_then(Option::as_deref),
        })
    }
}

impl<'s> Endpoint<'s> {
    pub fn new(address: IpAddr, details: Option<&'s Details>) -> Self {
        Self { address, details }
    }

    pub fn spelling(self) -> Option<&'s str> {
        self.details?.spelling.as_deref()
    }

    pub fn hostname(self) -> Option<&'s str> {
        self.details?.hostname.as_deref()
    }

    pub fn pod(self) -> Option<&'s str> {
        self.details?.pod.as_deref()
    }

    pub fn zone(self) -> Option<&'s str> {
        self.details?.zone.as_deref()
    }
}

impl Addresses {
    fn get(&self, n: usize) -> IpAddr {
        match self {
            Addresses::V4(all) => IpAddr::V4(all[n]),
            Addresses::Any(all) => all[n],
        }
    }
}

impl Default for Addresses {
    fn default() -> Self {
        Addresses::V4(Box::default())
    }
}

impl FromIterator<IpAddr> for Addresses {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(all: I) -> Self {
        let all: Vec<IpAddr> = all.into_iter().collect();
        let v4 = all.iter().map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        match v4.collect::<Option<Box<[Ipv4Addr]>>>() {
            Some(v4) => Addresses::V4(v4),
            None => Addresses::Any(all.into()),
        }
    }
}

impl FromIterator<(IpAddr, Details)> for Endpoints {
    fn from_iter<I: IntoIterator<Item = (IpAddr, Details)>>(all: I) -> Self {
        let mut details = Vec::new();
        let addresses = all.into_iter().enumerate().map(|(n, (address, its))| {
            if its != Details::default() {
                details.resize(n, None);
                details.push(Some(Box::new(its)));
            }
            address
        });
        let addresses: Addresses = addresses.collect();
        let mut endpoints = Self { addresses, details: Box::default() };
        if !details.is_empty() {
            details.resize(endpoints.len(), None);
            endpoints.details = details.into();
        }
        endpoints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_keep_their_order_and_details() {
        let named = |name: &str| Details { hostname: Some(name.into()), ..Details::default() };
        let plain = Details::default;
        for given in [
            vec![],
            vec![("10.0.0.1", plain()), ("10.0.0.2", plain())],
            vec![("fd00::1", plain()), ("10.0.0.2", plain())],
            vec![("10.0.0.1", plain()), ("10.0.0.2", named("b")), ("10.0.0.3", plain())],
            vec![("fd00::1", named("a")), ("fd00::2", named("b"))],
        ] {
            let given: Vec<(IpAddr, Details)> =
                given.into_iter().map(|(address, details)| (address.parse().unwrap(), details)).collect();
            let endpoints: Endpoints = given.iter().cloned().collect();
            let got: Vec<_> = endpoints.iter().map(|it| (it.address, it.hostname())).collect();
            let expected: Vec<_> =
                given.iter().map(|(address, its)| (*address, its.hostname.as_deref())).collect();
            assert_eq!(got, expected);
            assert_eq!((endpoints.len(), endpoints.is_empty()), (given.len(), given.is_empty()));
            assert!(given.iter().all(|(address, _)| endpoints.has(*address)));
            assert!(
                !endpoints.has(IpAddr::from([10, 0, 0, 9])) && !endpoints.has("fd00::9".parse().unwrap())
            );
        }
    }
}
