//! Data for `k8s_external`: the external addresses of Services and, with `headless`, their endpoints.

use std::net::IpAddr;
use std::sync::Arc;

use cluster::object::{External, Service};
use cluster::{Entry, Snapshot};

use super::Kubernetes;
use super::explain;
use super::filter::Filter;
use super::request::ObjectRef;
use super::service_match::Hit;
use super::target::{Target, TargetKey};
use super::unlisted;
use crate::k8s_external::{Existence, ExternalEndpoint, ExternalServices, ExternalTarget};

impl ExternalServices for Kubernetes {
    fn find(&self, front: &[u8], endpoints: bool, each: &mut dyn FnMut(ExternalEndpoint<'_>)) -> Existence {
        let Some(cluster) = self.watched.cluster() else { return Existence::Unknown };
        let snapshot = cluster.snapshot();
        if self.reach(&snapshot, front, endpoints, each) {
            Existence::Exists
        } else if self.is_synced(&snapshot) {
            Existence::Absent
        } else {
            Existence::Unknown
        }
    }

    fn names_of(&self, address: IpAddr, each: &mut dyn FnMut(&[u8])) -> bool {
        let Some(cluster) = self.watched.cluster() else { return false };
        let snapshot = cluster.snapshot();
        for service in snapshot.external_holders(address) {
            let namespace = service.key.namespace().as_bytes();
            let exposed = self.options.namespaces.is_empty() || self.exposes(&snapshot, namespace);
            if exposed && service.selected.by(self.joined.selector) {
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
            None => unlisted::not_opened(self),
        }
    }

    fn unknown(&self) -> Vec<String> {
        match self.watched.cluster() {
            Some(cluster) => unlisted::lines(self, cluster, &cluster.snapshot(), &self.kinds),
            None => vec![unlisted::not_opened(self)],
        }
    }
}

impl Kubernetes {
    /// Calls `each` with the addresses of a name; true if the name exists.
    fn reach(
        &self,
        snapshot: &Snapshot,
        front: &[u8],
        endpoints: bool,
        each: &mut dyn FnMut(ExternalEndpoint<'_>),
    ) -> bool {
        let Some(object) = ObjectRef::parse_external(front) else { return false };
        if !self.exposes(snapshot, object.namespace) {
            return false;
        }
        if object.name.is_empty() {
            return true;
        }
        let Some(entry) = snapshot.entry(object.key) else { return false };
        let Some(service) = self.service(entry) else { return false };
        let filter = Filter::new(object.part, false);
        let mut found = false;
        let mut each = |reached: ExternalEndpoint<'_>| {
            found = true;
            each(reached);
        };
        if endpoints && serves_endpoints(service, &filter) {
            self.each_endpoint(entry, &filter, &mut each);
        } else {
            // An endpoint name of a Service with external addresses means the Service.
            for external in &service.external {
                let at = match external {
                    External::Address(address) => ExternalTarget::Address(*address),
                    External::Host(host) => ExternalTarget::Host(host),
                };
                for port in filter.ports(&service.ports) {
                    each(ExternalEndpoint { target: at, front: entry.key.as_bytes(), port });
                }
            }
        }
        found
    }

    fn each_endpoint(&self, entry: &Entry, filter: &Filter<'_>, each: &mut dyn FnMut(ExternalEndpoint<'_>)) {
        let pod_names = self.options.endpoint_pod_names;
        let mut target = Target::new();
        for slice in self.slices(entry) {
            if !slice.selected.by(self.joined.selector) || !filter.matches_slice(slice, false) {
                continue;
            }
            for endpoint in slice.endpoints.iter().filter(|it| filter.matches_endpoint(*it, pod_names, true))
            {
                let address = endpoint.address;
                let hit = Hit { key: &entry.key, address, ports: &[], endpoint: Some(endpoint), cluster: "" };
                // An endpoint whose name would be too long still has its address.
                let front =
                    TargetKey::of(&hit, pod_names).front_in(&mut target).map_or(&[][..], |it| it.as_bytes());
                for port in filter.ports(&slice.ports) {
                    each(ExternalEndpoint { target: ExternalTarget::Address(address), front, port });
                }
            }
        }
    }

    fn why(&self, snapshot: &Snapshot, front: &[u8], endpoints: bool) -> String {
        let Some(object) = ObjectRef::parse_external(front) else {
            return "not a name the k8s_external plugin serves: expected SERVICE.NAMESPACE.ZONE".to_owned();
        };
        if let Some(reason) = explain::namespace(self, snapshot, object.namespace) {
            return reason;
        }
        let namespace = explain::text(object.namespace);
        if object.name.is_empty() {
            return format!("namespace {namespace} has no records of its own, only names below it");
        }
        let what = format!("Service {namespace}/{}", explain::text(object.name));
        let entry = snapshot.entry(object.key);
        let Some(entry) = entry.filter(|entry| entry.service.is_some()) else {
            return format!("{what} does not exist");
        };
        let Some(service) = self.service(entry) else { return format!("{what} does not match labels") };
        let filter = Filter::new(object.part, false);
        let mut reached: Vec<String> = Vec::new();
        self.reach(snapshot, front, endpoints, &mut |it| {
            let at = match it.target {
                ExternalTarget::Address(address) => address.to_string(),
                ExternalTarget::Host(host) => host.to_owned(),
            };
            if !reached.contains(&at) {
                reached.push(at);
            }
        });
        let slices = || explain::names(self.slices(entry));
        match (reached.is_empty(), endpoints && serves_endpoints(service, &filter)) {
            (false, false) => format!("{what} has external addresses {}", explain::list(reached)),
            (false, true) => format!("{what} has endpoints {} ({})", explain::list(reached), slices()),
            (true, _) if !filter.matches_all_ports() => explain::no_port(&what, object.part),
            (true, true) => format!("{what} has no matching ready endpoints ({})", slices()),
            (true, false) => format!("{what} has neither externalIPs nor load balancer addresses"),
        }
    }
}

/// Whether endpoint addresses are served, because the Service has no external ones.
fn serves_endpoints(service: &Arc<Service>, filter: &Filter<'_>) -> bool {
    service.external.is_empty() && (service.is_headless() || filter.names_endpoint())
}

fn address(external: &External) -> Option<IpAddr> {
    match external {
        External::Address(address) => Some(*address),
        External::Host(_) => None,
    }
}
