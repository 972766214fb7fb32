//! EndpointSlices: the ready addresses behind a Service.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use kube_api::ObjectMeta;

use super::address::{ip, is_canonical};
use super::{key, number, selected};
use crate::key::Key;
use crate::message::{self, EndpointPort};
use crate::object::{Details, EndpointSlice, ImportOrigin, Port};
use crate::want::Want;

const SERVICE: &str = "kubernetes.io/service-name";
const IMPORT: &str = "multicluster.kubernetes.io/service-name";
const CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";

/// Maximum length of a DNS label; a longer pod name gives its endpoint no name.
const MAX_LABEL: usize = 63;

pub(super) fn slice(it: &message::EndpointSlice, want: &Want) -> Option<EndpointSlice> {
    let meta = &it.metadata;
    let mut zones = ZoneNames::default();
    let ready = it.endpoints.iter().filter(|endpoint| endpoint.conditions.ready != Some(false));
    let mut endpoints = ready.flat_map(|endpoint| addresses(endpoint, want, &mut zones)).collect::<Vec<_>>();
    apply_last_zone(&mut endpoints);
    Some(EndpointSlice {
        key: key(meta)?,
        service: owner(meta, SERVICE),
        imported: owner(meta, IMPORT)
            .map(|service| ImportOrigin { service, cluster: meta.label(CLUSTER).unwrap_or_default().into() })
            .map(Box::new),
        ports: it.ports.iter().map(port).collect(),
        endpoints: endpoints.into_iter().collect(),
        selected: selected(&want.selectors, meta),
    })
}

/// One entry per address of an endpoint, with equal details.
fn addresses(it: &message::Endpoint, want: &Want, zones: &mut ZoneNames) -> Vec<(IpAddr, Details)> {
    let hostname: Option<Box<str>> = it.hostname.as_deref().filter(|name| !name.is_empty()).map(Into::into);
    let pod = it.target_ref.as_ref().map(|target| &*target.name);
    let pod: Option<Box<str>> =
        pod.filter(|name| want.pod_names && !name.is_empty() && name.len() <= MAX_LABEL).map(Into::into);
    let zone =
        it.zone.as_deref().filter(|zone| want.zones && !zone.is_empty()).map(|zone| zones.intern(zone));
    let parsed = it.addresses.iter().filter_map(|text| {
        let address = ip(text)?;
        let spelling = (!is_canonical(address, text)).then(|| text.as_str().into());
        let (hostname, pod, zone) = (hostname.clone(), pod.clone(), zone.clone());
        Some((address, Details { spelling, hostname, pod, zone }))
    });
    parsed.collect()
}

fn port(it: &EndpointPort) -> Port {
    Port {
        name: it.name.as_deref().unwrap_or_default().into(),
        protocol: it.protocol.as_deref().unwrap_or_default().into(),
        number: number(it.port),
    }
}

/// The object that a label names, in the slice's namespace.
fn owner(meta: &ObjectMeta, label: &str) -> Option<Key> {
    Key::new(&meta.namespace, meta.label(label)?)
}

/// An address that a slice has several times is in the zone of its last endpoint, as in CoreDNS.
fn apply_last_zone(endpoints: &mut [(IpAddr, Details)]) {
    let zones: HashMap<IpAddr, Arc<str>> =
        endpoints.iter().filter_map(|(address, its)| Some((*address, its.zone.clone()?))).collect();
    if !zones.is_empty() {
        for (address, its) in endpoints {
            its.zone = zones.get(address).cloned();
        }
    }
}

/// The zones of one slice: a few names for a hundred endpoints.
#[derive(Default)]
struct ZoneNames(Vec<Arc<str>>);

impl ZoneNames {
    fn intern(&mut self, zone: &str) -> Arc<str> {
        let zone = zone.to_lowercase();
        if let Some(known) = self.0.iter().find(|known| ***known == zone) {
            return Arc::clone(known);
        }
        let name: Arc<str> = zone.into();
        self.0.push(Arc::clone(&name));
        name
    }
}
