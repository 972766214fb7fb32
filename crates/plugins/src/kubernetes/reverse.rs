//! From addresses to names: Services by their own addresses, then endpoints, then the cluster set.

use std::net::IpAddr;

use cluster::Holder;
use cluster::object::EndpointSlice;
use wire::{Class, Owner, Reply, Rtype, Section};

use super::find::Ask;
use super::target::{Identity, Target};
use super::{Kubernetes, behind::Hit};
use crate::distinct::Distinct;

/// Answers with the names of an address. False if it has none.
pub(super) fn answer(ask: &Ask<'_>, reply: &mut Reply, address: IpAddr) -> bool {
    let plugin = ask.plugin;
    let selector = plugin.joined.selector;
    let shown = |namespace: &str| {
        plugin.options.namespaces.is_empty() || plugin.exposes(ask.snapshot, namespace.as_bytes())
    };
    let zone = plugin.primary_zone().wire();
    let holders = || ask.snapshot.holders(address);
    let service = holders().find_map(|holder| match holder {
        Holder::Service(service) if service.selected.by(selector) => {
            shown(service.key.namespace()).then_some(service)
        }
        _ => None,
    });
    if let Some(service) = service {
        return push(plugin, reply, Identity::service(&service.key), zone);
    }
    let slices = || {
        holders().filter_map(|holder| match holder {
            Holder::Slice(slice) if slice.selected.by(selector) => Some(slice),
            _ => None,
        })
    };
    let mut found = false;
    if plugin.options.endpoints {
        for slice in slices() {
            let Some(service) = &slice.service else { continue };
            let namespace = service.namespace();
            if shown(namespace) && (!plugin.options.verified_ptr || is_pod(ask, address, namespace)) {
                found |= endpoints(plugin, reply, slice, service, address, "", zone);
            }
        }
    }
    // An address that means something in this cluster keeps its local names.
    if found || plugin.multicluster_zone().is_none() {
        return found;
    }
    let Some(zone) = plugin.multicluster_zone().map(|zone| zone.wire()) else { return false };
    for holder in holders() {
        match holder {
            Holder::Import(import) if import.selected.by(selector) && shown(import.key.namespace()) => {
                return push(plugin, reply, Identity::service(&import.key), zone);
            }
            Holder::Slice(slice) if slice.selected.by(selector) => {
                let Some(imported) = &slice.imported else { continue };
                let entry = ask.snapshot.entry(imported.service.as_bytes());
                // Endpoints of a Service with an address of its own have no names in a cluster set.
                let headless =
                    entry.and_then(|entry| plugin.import(entry)).is_some_and(|import| import.headless);
                if headless && shown(imported.service.namespace()) {
                    let (service, cluster) = (&imported.service, &*imported.cluster);
                    found |= endpoints(plugin, reply, slice, service, address, cluster, zone);
                }
            }
            _ => {}
        }
    }
    found
}

/// One name for each endpoint of the slice with this address, unless it is there already.
fn endpoints(
    plugin: &Kubernetes,
    reply: &mut Reply,
    slice: &EndpointSlice,
    service: &cluster::Key,
    address: IpAddr,
    cluster: &str,
    zone: &[u8],
) -> bool {
    let mut found = false;
    let mut seen = Distinct::new();
    for endpoint in slice.endpoints.iter().filter(|endpoint| endpoint.address == address) {
        let hit = Hit { key: service, address, ports: &[], endpoint: Some(endpoint), cluster };
        let identity = Identity::of(&hit, plugin.options.endpoint_pod_names);
        if seen.is_new(identity) {
            found |= push(plugin, reply, identity, zone);
        }
    }
    found
}

/// Adds a name; one that another slice gave is left out.
fn push(plugin: &Kubernetes, reply: &mut Reply, identity: Identity<'_>, zone: &[u8]) -> bool {
    let mut target = Target::new();
    let Some(name) = identity.name_in(&mut target, zone) else { return false };
    let known = reply.section(Section::Answer).iter().any(|record| reply.data(record) == name.wire());
    if !known {
        let ttl = plugin.options.ttl;
        reply.push_with(Section::Answer, Owner::Question(0), Rtype::PTR, Class::IN, ttl, |out| {
            out.name(name);
        });
    }
    true
}

/// Whether a pod of that namespace really has the address.
fn is_pod(ask: &Ask<'_>, address: IpAddr, namespace: &str) -> bool {
    let is_there =
        |holder: Holder<'_>| matches!(holder, Holder::Pod(pod) if pod.key.namespace() == namespace);
    ask.snapshot.holders(address).any(is_there)
}
