//! Converts objects of the API to the slim objects of the index.
//!
//! Drops invalid addresses, endpoints that are not ready, and fields that the [`Want`] does not include.

mod address;
mod slice;

use address::ip;

use super::message::{
    ApiObject, LoadBalancerIngress, Namespace, ObjectMeta, Pod, Service, ServiceImport, ServicePort,
};
use crate::key::Key;
use crate::object::{self, External, Object, Port, ServiceType};
use crate::selector::Selector;
use crate::want::{SelectorSet, Want};

/// None if the name of the object is invalid.
pub(crate) fn object(raw: ApiObject, want: &Want) -> Option<Object> {
    #[cfg(test)]
    crate::poison::panic_if_poisoned(crate::poison::IN_CONVERT, &raw);
    Some(match raw {
        ApiObject::Namespace(it) => Object::Namespace(namespace(it, want)),
        ApiObject::Service(it) => Object::Service(service(it, want)?),
        ApiObject::EndpointSlice(it) => Object::EndpointSlice(slice::slice(it, want)?),
        ApiObject::Pod(it) => Object::Pod(pod(it, want)?),
        ApiObject::ServiceImport(it) => Object::ServiceImport(service_import(it, want)?),
    })
}

/// Whether the object is a terminating pod: its updates are ignored until it is deleted.
pub(crate) fn is_terminating(raw: &ApiObject) -> bool {
    matches!(raw, ApiObject::Pod(pod) if pod.metadata.deletion_timestamp.is_some())
}

/// Whether the object is a pod that has ended. The API server filters these; manifests have no server.
pub(crate) fn has_ended(raw: &ApiObject) -> bool {
    matches!(raw, ApiObject::Pod(pod) if matches!(&*pod.status.phase, "Succeeded" | "Failed" | "Unknown"))
}

fn namespace(it: Namespace, want: &Want) -> object::Namespace {
    let selected = selected(&want.namespace_selectors, &it.metadata);
    object::Namespace { name: it.metadata.name.into(), selected }
}

fn service(it: Service, want: &Want) -> Option<object::Service> {
    let (spec, status) = (it.spec, it.status);
    let cluster_ips = match spec.cluster_ips.is_empty() {
        true => std::slice::from_ref(&spec.cluster_ip),
        false => &spec.cluster_ips,
    };
    let kind = if spec.kind == "ExternalName" {
        ServiceType::ExternalName(spec.external_name.into())
    } else if cluster_ips.first().is_some_and(|first| first == "None") {
        ServiceType::Headless
    } else {
        ServiceType::ClusterIp(cluster_ips.iter().filter_map(|text| ip(text)).collect())
    };
    let external = match want.external {
        true => external(spec.external_ips, status.load_balancer.ingress),
        false => Box::default(),
    };
    Some(object::Service {
        key: key(&it.metadata)?,
        kind,
        ports: spec.ports.into_iter().map(port).collect(),
        external,
        selected: selected(&want.selectors, &it.metadata),
    })
}

fn external(ips: Vec<String>, ingress: Vec<LoadBalancerIngress>) -> Box<[External]> {
    let balanced = ingress.into_iter().map(|it| if it.ip.is_empty() { it.hostname } else { it.ip });
    ips.into_iter()
        .chain(balanced)
        // A load balancer may exist before it has an address.
        .filter(|text| !text.is_empty())
        .map(|text| ip(&text).map_or_else(|| External::Host(text.into()), External::Address))
        .collect()
}

fn pod(it: Pod, want: &Want) -> Option<object::Pod> {
    let labels = match want.pod_labels {
        true => it.metadata.labels().map(|(key, value)| (key.into(), value.into())).collect(),
        false => Box::default(),
    };
    Some(object::Pod {
        key: key(&it.metadata)?,
        ips: it.status.pod_ips.iter().filter_map(|pod_ip| ip(&pod_ip.ip)).collect(),
        labels,
        selected: selected(&want.selectors, &it.metadata),
    })
}

fn service_import(it: ServiceImport, want: &Want) -> Option<object::ServiceImport> {
    Some(object::ServiceImport {
        key: key(&it.metadata)?,
        headless: it.spec.kind == "Headless",
        ips: it.spec.ips.iter().filter_map(|text| ip(text)).collect(),
        ports: it.spec.ports.into_iter().map(port).collect(),
        selected: selected(&want.selectors, &it.metadata),
    })
}

fn port(it: ServicePort) -> Port {
    Port { name: it.name.into(), protocol: it.protocol.into(), number: number(it.port) }
}

fn number(port: Option<i32>) -> Option<u16> {
    port.and_then(|port| u16::try_from(port).ok())
}

fn key(meta: &ObjectMeta) -> Option<Key> {
    if meta.name.is_empty() || meta.namespace.is_empty() {
        return None;
    }
    Key::new(&meta.namespace, &meta.name)
}

fn selected(selectors: &[Selector], meta: &ObjectMeta) -> SelectorSet {
    let bits = selectors.iter().take(u32::BITS as usize).enumerate();
    SelectorSet(bits.filter(|(_, it)| it.matches(meta.labels())).fold(0, |bits, (n, _)| bits | 1 << n))
}

#[cfg(test)]
mod tests;
