//! How Services are reached from outside: at their external addresses, and if wanted at their endpoints.

use std::net::IpAddr;
use std::sync::Arc;

use cluster::object::{External, Service};
use cluster::{Entry, Snapshot};
use server::{Existence, Outside, Place, Reached};

use super::Kubernetes;
use super::behind::Hit;
use super::explain;
use super::filter::Filter;
use super::request::Asked;
use super::target::{Identity, Target};
use super::unknown;

impl Outside for Kubernetes {
    fn find(&self, front: &[u8], endpoints: bool, each: &mut dyn FnMut(Reached<'_>)) -> Existence {
        let Some(cluster) = self.watched.cluster() else { return Existence::Unknown };
        let snapshot = cluster.snapshot();
        if self.reach(&snapshot, front, endpoints, each) {
            Existence::Exists
        } else if self.is_synced(&snapshot) {
            Existence::Nowhere
        } else {
            Existence::Unknown
        }
    }

    fn names_of(&self, address: IpAddr, each: &mut dyn FnMut(&[u8])) -> bool {
        let Some(cluster) = self.watched.cluster() else { return false };
        let snapshot = cluster.snapshot();
        for service in snapshot.external_holders(address) {
            let namespace = service.key.namespace().as_bytes();
            let shown = self.options.namespaces.is_empty() || self.exposes(&snapshot, namespace);
            if shown && service.selected.by(self.joined.selector) {
                each(service.key.as_bytes());
            }
        }
        self.is_synced(&snapshot)
    }

    fn own_addresses(&self, endpoints: bool, each: &mut dyn FnMut(IpAddr)) {
        let Some(cluster) = self.watched.cluster() else { return };
        let found = self.own_services(&cluster.snapshot(), |service, slice| {
            if endpoints && service.is_headless() {
                slice.endpoints.iter().for_each(|endpoint| each(endpoint.address));
            } else {
                service.external.iter().filter_map(address).for_each(&mut *each);
            }
        });
        if !found {
            self.local_addresses().iter().copied().for_each(each);
        }
    }

    fn serial(&self) -> u32 {
        self.watched.cluster().map_or(0, |cluster| cluster.snapshot().modified().external)
    }

    fn ttl(&self) -> u32 {
        self.options.ttl
    }

    fn reason(&self, front: &[u8], endpoints: bool) -> String {
        match self.watched.cluster() {
            Some(cluster) => self.why(&cluster.snapshot(), front, endpoints),
            None => unknown::not_opened(self),
        }
    }

    fn unknown(&self) -> Vec<String> {
        match self.watched.cluster() {
            Some(cluster) => unknown::lines(self, cluster, &cluster.snapshot(), &self.kinds),
            None => vec![unknown::not_opened(self)],
        }
    }
}

impl Kubernetes {
    /// Whether the name is there.
    fn reach(
        &self,
        snapshot: &Snapshot,
        front: &[u8],
        endpoints: bool,
        each: &mut dyn FnMut(Reached<'_>),
    ) -> bool {
        let Some(asked) = Asked::outside(front) else { return false };
        if !self.exposes(snapshot, asked.namespace) {
            return false;
        }
        if asked.name.is_empty() {
            return true;
        }
        let Some(entry) = snapshot.entry(asked.key) else { return false };
        let Some(service) = self.service(entry) else { return false };
        let filter = Filter::new(asked.part, false);
        let mut found = false;
        let mut each = |reached: Reached<'_>| {
            found = true;
            each(reached);
        };
        if endpoints && at_endpoints(service, &filter) {
            self.at_endpoints(entry, &filter, &mut each);
        } else {
            // Any endpoint of a Service with addresses of its own is the Service.
            for external in &service.external {
                let at = match external {
                    External::Address(address) => Place::Address(*address),
                    External::Host(host) => Place::Host(host),
                };
                for port in filter.ports(&service.ports) {
                    each(Reached { at, front: entry.key.as_bytes(), port });
                }
            }
        }
        found
    }

    fn at_endpoints(&self, entry: &Entry, filter: &Filter<'_>, each: &mut dyn FnMut(Reached<'_>)) {
        let pod_names = self.options.endpoint_pod_names;
        let mut target = Target::new();
        for slice in self.slices(entry) {
            if !slice.selected.by(self.joined.selector) || !filter.takes_slice(slice, false) {
                continue;
            }
            for endpoint in slice.endpoints.iter().filter(|it| filter.takes_endpoint(*it, pod_names, true)) {
                let address = endpoint.address;
                let hit = Hit { key: &entry.key, address, ports: &[], endpoint: Some(endpoint), cluster: "" };
                // One that is too long to be a name still has its address.
                let front =
                    Identity::of(&hit, pod_names).front_in(&mut target).map_or(&[][..], |it| it.as_bytes());
                for port in filter.ports(&slice.ports) {
                    each(Reached { at: Place::Address(address), front, port });
                }
            }
        }
    }

    fn why(&self, snapshot: &Snapshot, front: &[u8], endpoints: bool) -> String {
        let Some(asked) = Asked::outside(front) else { return "names outside have another form".to_owned() };
        if let Some(wrong) = explain::namespace(self, snapshot, asked.namespace) {
            return wrong;
        }
        let namespace = explain::text(asked.namespace);
        if asked.name.is_empty() {
            return format!("namespace {namespace} only has names below it");
        }
        let what = format!("Service {namespace}/{}", explain::text(asked.name));
        let entry = snapshot.entry(asked.key);
        let Some(entry) = entry.filter(|entry| entry.service.is_some()) else {
            return format!("{what} does not exist");
        };
        let Some(service) = self.service(entry) else { return format!("{what} does not fit labels") };
        let filter = Filter::new(asked.part, false);
        let mut reached: Vec<String> = Vec::new();
        self.reach(snapshot, front, endpoints, &mut |it| {
            let at = match it.at {
                Place::Address(address) => address.to_string(),
                Place::Host(host) => host.to_owned(),
            };
            if !reached.contains(&at) {
                reached.push(at);
            }
        });
        let slices = || explain::names(self.slices(entry));
        match (reached.is_empty(), endpoints && at_endpoints(service, &filter)) {
            (false, false) => format!("{what} is reached from outside at {}", explain::list(reached)),
            (false, true) => format!("{what} has endpoints {} ({})", explain::list(reached), slices()),
            (true, _) if !filter.takes_all_ports() => explain::no_port(&what, asked.part),
            (true, true) => format!("{what} has no such ready endpoints ({})", slices()),
            (true, false) => format!("{what} has neither external IPs nor a load balancer"),
        }
    }
}

/// Whether a Service is reached at its endpoints, since there is no other way to it from outside.
fn at_endpoints(service: &Arc<Service>, filter: &Filter<'_>) -> bool {
    service.external.is_empty() && (service.is_headless() || filter.asks_endpoint())
}

fn address(external: &External) -> Option<IpAddr> {
    match external {
        External::Address(address) => Some(*address),
        External::Host(_) => None,
    }
}
