//! PTR records: Services by their own addresses, then endpoints, then the cluster set.

use std::net::IpAddr;

use cluster::Holder;
use cluster::object::EndpointSlice;
use wire::{Class, Owner, Reply, Rtype, Section};

use super::find::NameLookup;
use super::target::{Target, TargetKey};
use super::{Kubernetes, service_match::Hit};
use crate::messages::distinct::Distinct;

/// Writes the names of an address; false if it has none.
pub(super) fn answer(lookup: &NameLookup<'_>, reply: &mut Reply, address: IpAddr) -> bool {
    let plugin = lookup.plugin;
    let selector = plugin.joined.selector;
    let exposed = |namespace: &str| {
        plugin.options.namespaces.is_empty() || plugin.exposes(lookup.snapshot, namespace.as_bytes())
    };
    let zone = plugin.primary_zone().wire();
    let holders = || lookup.snapshot.holders(address);
    let service = holders().find_map(|holder| match holder {
        Holder::Service(service) if service.selected.by(selector) => {
            exposed(service.key.namespace()).then_some(service)
        }
        _ => None,
    });
    if let Some(service) = service {
        return push(plugin, reply, TargetKey::service(&service.key), zone);
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
            if exposed(namespace) && (!plugin.options.verified_ptr || has_pod(lookup, address, namespace)) {
                found |= endpoints(plugin, reply, slice, service, address, "", zone);
            }
        }
    }
    // An address with names in this cluster has no names in the cluster set.
    if found || plugin.multicluster_zone().is_none() {
        return found;
    }
    let Some(zone) = plugin.multicluster_zone().map(|zone| zone.wire()) else { return false };
    for holder in holders() {
        match holder {
            Holder::Import(import) if import.selected.by(selector) && exposed(import.key.namespace()) => {
                return push(plugin, reply, TargetKey::service(&import.key), zone);
            }
            Holder::Slice(slice) if slice.selected.by(selector) => {
                let Some(imported) = &slice.imported else { continue };
                let entry = lookup.snapshot.entry(imported.service.as_bytes());
                // Endpoints of a ServiceImport with a clusterset IP have no names.
                let headless =
                    entry.and_then(|entry| plugin.import(entry)).is_some_and(|import| import.headless);
                if headless && exposed(imported.service.namespace()) {
                    let (service, cluster) = (&imported.service, &*imported.cluster);
                    found |= endpoints(plugin, reply, slice, service, address, cluster, zone);
                }
            }
            _ => {}
        }
    }
    found
}

/// Writes one name for each endpoint of the slice with this address; duplicates are skipped.
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
        let target_key = TargetKey::of(&hit, plugin.options.endpoint_pod_names);
        if seen.insert(target_key) {
            found |= push(plugin, reply, target_key, zone);
        }
    }
    found
}

/// Writes a PTR record, unless another slice had the same name.
fn push(plugin: &Kubernetes, reply: &mut Reply, target_key: TargetKey<'_>, zone: &[u8]) -> bool {
    let mut target = Target::new();
    let Some(name) = target_key.name_in(&mut target, zone) else { return false };
    let is_duplicate = reply.section(Section::Answer).iter().any(|record| reply.data(record) == name.wire());
    if !is_duplicate {
        let ttl = plugin.options.ttl;
        reply.push_with(Section::Answer, Owner::Question(0), Rtype::PTR, Class::IN, ttl, |out| {
            out.name(name);
        });
    }
    true
}

/// Whether a pod of the namespace has the address.
fn has_pod(lookup: &NameLookup<'_>, address: IpAddr, namespace: &str) -> bool {
    let matches = |holder: Holder<'_>| matches!(holder, Holder::Pod(pod) if pod.key.namespace() == namespace);
    lookup.snapshot.holders(address).any(matches)
}
