//! The data of a Service that a query name matches: its own addresses, its endpoints, or a CNAME target.

use std::net::IpAddr;
use std::sync::Arc;

use cluster::object::{Endpoint, EndpointSlice, Port, Service, ServiceType};
use cluster::{Entry, Key};

use super::Kubernetes;
use super::filter::Filter;

/// The part of one Service or ServiceImport that a name matches. At most one of alias, addresses and slices is set.
#[derive(Clone, Copy)]
pub(super) struct ServiceMatch<'s> {
    pub key: &'s Key,
    pub alias: Option<&'s str>,
    addresses: &'s [IpAddr],
    /// Ports of `addresses`; slices have their own.
    ports: &'s [Port],
    slices: &'s [Arc<EndpointSlice>],
    selector: Option<u8>,
    pod_names: bool,
    /// Whether it is a ServiceImport of a cluster set.
    in_set: bool,
    /// Whether it has its own addresses (ClusterIP or clusterset IP), perhaps not assigned yet.
    pub has_own_addresses: bool,
    /// Whether to ignore the topology zone: `prefer` is set and the zone has no endpoints.
    any_zone: bool,
}

/// One address that matches a query.
#[derive(Clone, Copy)]
pub(super) struct Hit<'s> {
    pub key: &'s Key,
    pub address: IpAddr,
    /// All ports; the filter selects among them.
    pub ports: &'s [Port],
    /// None for an address of the Service itself.
    pub endpoint: Option<Endpoint<'s>>,
    /// Source cluster of an endpoint in a cluster set; empty otherwise.
    pub cluster: &'s str,
}

impl<'s> ServiceMatch<'s> {
    /// None if the filter does not match the Service.
    pub fn service(plugin: &Kubernetes, entry: &'s Entry, filter: &Filter<'_>) -> Option<Self> {
        let service = plugin.service(entry)?;
        let slices = plugin.slices(entry);
        let mut matched = Self::empty(plugin, &entry.key, false);
        match &service.kind {
            ServiceType::ClusterIp(addresses) => {
                // A ClusterIP is in no topology zone.
                let empty = plugin.options.ignore_empty_service && matched.has_no_endpoints(slices);
                if empty || filter.zone.is_some() {
                    return None;
                }
                if filter.names_endpoint() {
                    matched.slices = slices;
                } else if filter.matches_any_port(&service.ports) {
                    matched.set_own_addresses(addresses, &service.ports);
                } else {
                    return None;
                }
            }
            ServiceType::Headless => matched.slices = slices,
            ServiceType::ExternalName(target) => {
                if !filter.is_service_alone() || target.parse::<IpAddr>().is_ok() {
                    return None;
                }
                matched.alias = Some(target);
            }
        }
        matched.any_zone =
            filter.zone.is_some_and(|zone| zone.prefer) && matched.hits(filter).next().is_none();
        Some(matched)
    }

    /// The same for a ServiceImport.
    pub fn import(plugin: &Kubernetes, entry: &'s Entry, filter: &Filter<'_>) -> Option<Self> {
        let import = plugin.import(entry)?;
        let mut matched = Self::empty(plugin, &entry.key, true);
        if plugin.options.ignore_empty_service
            && !import.headless
            && matched.has_no_endpoints(&entry.imported)
        {
            return None;
        }
        if import.headless || filter.names_endpoint() {
            matched.slices = &entry.imported;
        } else if filter.matches_any_port(&import.ports) {
            matched.set_own_addresses(&import.ips, &import.ports);
        } else {
            return None;
        }
        Some(matched)
    }

    fn empty(plugin: &Kubernetes, key: &'s Key, in_set: bool) -> Self {
        Self {
            key,
            alias: None,
            addresses: &[],
            ports: &[],
            slices: &[],
            selector: plugin.joined.selector,
            pod_names: plugin.options.endpoint_pod_names,
            in_set,
            has_own_addresses: false,
            any_zone: false,
        }
    }

    fn set_own_addresses(&mut self, addresses: &'s [IpAddr], ports: &'s [Port]) {
        (self.has_own_addresses, self.addresses, self.ports) = (true, addresses, ports);
    }

    fn has_no_endpoints(&self, slices: &[Arc<EndpointSlice>]) -> bool {
        !slices.iter().any(|slice| slice.selected.by(self.selector) && !slice.endpoints.is_empty())
    }

    /// All matching addresses; an endpoint in several slices appears several times.
    pub fn hits<'a>(&'a self, filter: &'a Filter<'_>) -> impl Iterator<Item = Hit<'s>> + 'a {
        let key = self.key;
        let own = self.addresses.iter().map(move |address| Hit {
            key,
            address: *address,
            ports: self.ports,
            endpoint: None,
            cluster: "",
        });
        let slices = self.slices.iter().filter(move |slice| {
            slice.selected.by(self.selector) && filter.matches_slice(slice, self.in_set)
        });
        let endpoints = slices.flat_map(move |slice| {
            let imported = slice.imported.as_ref().filter(|_| self.in_set);
            let cluster = imported.map_or("", |imported| &*imported.cluster);
            let endpoints = slice
                .endpoints
                .iter()
                .filter(move |endpoint| filter.matches_endpoint(*endpoint, self.pod_names, self.any_zone));
            endpoints.map(move |endpoint| Hit {
                key,
                address: endpoint.address,
                ports: &slice.ports,
                endpoint: Some(endpoint),
                cluster,
            })
        });
        own.chain(endpoints)
    }
}

/// The parts of an index entry that this block's options expose.
impl Kubernetes {
    pub(super) fn service<'s>(&self, entry: &'s Entry) -> Option<&'s Arc<Service>> {
        entry.service.as_ref().filter(|service| service.selected.by(self.joined.selector))
    }

    /// The ClusterIPs of a Service, unless `ignore empty_service` makes them depend on endpoints.
    pub(super) fn own_addresses<'s>(&self, entry: &'s Entry) -> Option<&'s [IpAddr]> {
        match &self.service(entry)?.kind {
            ServiceType::ClusterIp(addresses) if !self.options.ignore_empty_service => Some(addresses),
            _ => None,
        }
    }

    pub(super) fn import<'s>(&self, entry: &'s Entry) -> Option<&'s Arc<cluster::object::ServiceImport>> {
        entry.import.as_ref().filter(|import| import.selected.by(self.joined.selector))
    }

    /// Empty with `noendpoints`, even if another block watches endpoints of the same cluster.
    pub(super) fn slices<'s>(&self, entry: &'s Entry) -> &'s [Arc<EndpointSlice>] {
        if self.options.endpoints { &entry.slices } else { &[] }
    }
}
