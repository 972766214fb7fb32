//! What is behind the name of a Service: its own addresses, its endpoints, or another name.

use std::net::IpAddr;
use std::sync::Arc;

use cluster::object::{Endpoint, EndpointSlice, Port, Service, ServiceType};
use cluster::{Entry, Key};

use super::Kubernetes;
use super::filter::Filter;

/// One Service or ServiceImport, as far as a name asks for it. At most one of alias, addresses and slices is there.
#[derive(Clone, Copy)]
pub(super) struct Behind<'s> {
    pub key: &'s Key,
    pub alias: Option<&'s str>,
    addresses: &'s [IpAddr],
    /// Of the addresses; slices have their own.
    ports: &'s [Port],
    slices: &'s [Arc<EndpointSlice>],
    selector: Option<u8>,
    pod_names: bool,
    /// Belongs to a cluster set.
    in_set: bool,
    /// Reached at addresses of its own, of which there may be none yet.
    pub is_own: bool,
    /// The topology zone that is asked for has no endpoints, and the others will do.
    any_zone: bool,
}

/// One address.
#[derive(Clone, Copy)]
pub(super) struct Hit<'s> {
    pub key: &'s Key,
    pub address: IpAddr,
    /// All of them; the filter knows which are asked for.
    pub ports: &'s [Port],
    /// None for an address of the Service itself.
    pub endpoint: Option<Endpoint<'s>>,
    /// The cluster an endpoint of a cluster set is in; empty otherwise.
    pub cluster: &'s str,
}

impl<'s> Behind<'s> {
    /// None if the Service has no such name.
    pub fn service(plugin: &Kubernetes, entry: &'s Entry, filter: &Filter<'_>) -> Option<Self> {
        let service = plugin.service(entry)?;
        let slices = plugin.slices(entry);
        let mut behind = Self::nothing(plugin, &entry.key, false);
        match &service.kind {
            ServiceType::ClusterIp(addresses) => {
                // A Service's own address is in no topology zone.
                let empty = plugin.options.ignore_empty_service && behind.is_empty(slices);
                if empty || filter.zone.is_some() {
                    return None;
                }
                if filter.asks_endpoint() {
                    behind.slices = slices;
                } else if filter.takes_any(&service.ports) {
                    behind.set_own(addresses, &service.ports);
                } else {
                    return None;
                }
            }
            ServiceType::Headless => behind.slices = slices,
            ServiceType::ExternalName(target) => {
                if !filter.is_bare() || target.parse::<IpAddr>().is_ok() {
                    return None;
                }
                behind.alias = Some(target);
            }
        }
        behind.any_zone = filter.zone.is_some_and(|zone| zone.prefer) && behind.hits(filter).next().is_none();
        Some(behind)
    }

    /// The same for a Service of the cluster set.
    pub fn import(plugin: &Kubernetes, entry: &'s Entry, filter: &Filter<'_>) -> Option<Self> {
        let import = plugin.import(entry)?;
        let mut behind = Self::nothing(plugin, &entry.key, true);
        if plugin.options.ignore_empty_service && !import.headless && behind.is_empty(&entry.imported) {
            return None;
        }
        if import.headless || filter.asks_endpoint() {
            behind.slices = &entry.imported;
        } else if filter.takes_any(&import.ports) {
            behind.set_own(&import.ips, &import.ports);
        } else {
            return None;
        }
        Some(behind)
    }

    fn nothing(plugin: &Kubernetes, key: &'s Key, in_set: bool) -> Self {
        Self {
            key,
            alias: None,
            addresses: &[],
            ports: &[],
            slices: &[],
            selector: plugin.joined.selector,
            pod_names: plugin.options.endpoint_pod_names,
            in_set,
            is_own: false,
            any_zone: false,
        }
    }

    fn set_own(&mut self, addresses: &'s [IpAddr], ports: &'s [Port]) {
        (self.is_own, self.addresses, self.ports) = (true, addresses, ports);
    }

    fn is_empty(&self, slices: &[Arc<EndpointSlice>]) -> bool {
        !slices.iter().any(|slice| slice.selected.by(self.selector) && !slice.endpoints.is_empty())
    }

    /// Every address that is asked for, with doubles if endpoints stand in several slices.
    pub fn hits<'a>(&'a self, filter: &'a Filter<'_>) -> impl Iterator<Item = Hit<'s>> + 'a {
        let key = self.key;
        let own = self.addresses.iter().map(move |address| Hit {
            key,
            address: *address,
            ports: self.ports,
            endpoint: None,
            cluster: "",
        });
        let slices = self
            .slices
            .iter()
            .filter(move |slice| slice.selected.by(self.selector) && filter.takes_slice(slice, self.in_set));
        let endpoints = slices.flat_map(move |slice| {
            let imported = slice.imported.as_ref().filter(|_| self.in_set);
            let cluster = imported.map_or("", |imported| &*imported.cluster);
            let wanted = slice
                .endpoints
                .iter()
                .filter(move |endpoint| filter.takes_endpoint(*endpoint, self.pod_names, self.any_zone));
            wanted.map(move |endpoint| Hit {
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

/// What this block shows of an entry.
impl Kubernetes {
    pub(super) fn service<'s>(&self, entry: &'s Entry) -> Option<&'s Arc<Service>> {
        entry.service.as_ref().filter(|service| service.selected.by(self.joined.selector))
    }

    /// The addresses of a Service that has its own and is not to be hidden while it has no endpoints.
    pub(super) fn own_addresses<'s>(&self, entry: &'s Entry) -> Option<&'s [IpAddr]> {
        match &self.service(entry)?.kind {
            ServiceType::ClusterIp(addresses) if !self.options.ignore_empty_service => Some(addresses),
            _ => None,
        }
    }

    pub(super) fn import<'s>(&self, entry: &'s Entry) -> Option<&'s Arc<cluster::object::ServiceImport>> {
        entry.import.as_ref().filter(|import| import.selected.by(self.joined.selector))
    }

    /// Another block may watch endpoints that this one does not want to know.
    pub(super) fn slices<'s>(&self, entry: &'s Entry) -> &'s [Arc<EndpointSlice>] {
        if self.options.endpoints { &entry.slices } else { &[] }
    }
}
