//! Converts objects of the API to the slim objects of the index.
//!
//! Drops invalid addresses, endpoints that are not ready, and fields that the [`Want`] does not include.

mod address;
mod slice;

use address::ip;
use kube_api::ObjectMeta;

use crate::key::Key;
use crate::message::{
    ApiObject, LoadBalancerIngress, Namespace, Pod, Service, ServiceImport, ServicePort, TriggeredSlice,
};
use crate::object::{self, External, Identity, Kind, Object, Port, ServiceType};
use crate::selector::Selector;
use crate::want::{SelectorSet, Want};
use crate::watch::TriggerTime;

/// An object as a source delivers it.
pub(crate) trait Source: Send + Sync + 'static {
    const KIND: Kind;

    /// None if the name of the object is invalid.
    fn identity(&self) -> Option<Identity>;

    /// None if the name of the object is invalid.
    fn to_object(&self, want: &Want) -> Option<Object>;

    /// Whether it is a terminating pod: its updates are ignored until it is deleted.
    fn is_terminating(&self) -> bool {
        false
    }

    fn trigger_time(&self) -> Option<TriggerTime> {
        None
    }
}

impl Source for Namespace {
    const KIND: Kind = Kind::Namespace;

    fn identity(&self) -> Option<Identity> {
        identity::<Self>(&self.metadata)
    }

    fn to_object(&self, want: &Want) -> Option<Object> {
        Some(Object::Namespace(namespace(self, want)))
    }
}

impl Source for Service {
    const KIND: Kind = Kind::Service;

    fn identity(&self) -> Option<Identity> {
        identity::<Self>(&self.metadata)
    }

    fn to_object(&self, want: &Want) -> Option<Object> {
        #[cfg(test)]
        crate::poison::panic_if_message_poisoned(crate::poison::IN_CONVERT, self);
        Some(Object::Service(service(self, want)?))
    }
}

impl Source for TriggeredSlice {
    const KIND: Kind = Kind::EndpointSlice;

    fn identity(&self) -> Option<Identity> {
        identity::<Self>(&self.slice.metadata)
    }

    fn to_object(&self, want: &Want) -> Option<Object> {
        Some(Object::EndpointSlice(slice::slice(&self.slice, want)?))
    }

    fn trigger_time(&self) -> Option<TriggerTime> {
        self.trigger_time
    }
}

impl Source for Pod {
    const KIND: Kind = Kind::Pod;

    fn identity(&self) -> Option<Identity> {
        identity::<Self>(&self.metadata)
    }

    fn to_object(&self, want: &Want) -> Option<Object> {
        Some(Object::Pod(pod(self, want)?))
    }

    fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

impl Source for ServiceImport {
    const KIND: Kind = Kind::ServiceImport;

    fn identity(&self) -> Option<Identity> {
        identity::<Self>(&self.metadata)
    }

    fn to_object(&self, want: &Want) -> Option<Object> {
        Some(Object::ServiceImport(service_import(self, want)?))
    }
}

fn identity<T: Source>(meta: &ObjectMeta) -> Option<Identity> {
    Identity::new(T::KIND, &meta.namespace, &meta.name)
}

/// An object of the index itself, as a folder keeps it.
pub(crate) trait Slim: Source + Sized {
    fn from_object(object: Object) -> Option<Self>;
}

macro_rules! slim {
    ($($kind:ident),*) => {$(
        impl Source for object::$kind {
            const KIND: Kind = Kind::$kind;

            fn identity(&self) -> Option<Identity> {
                Some(Object::$kind(self.clone()).identity())
            }

            fn to_object(&self, _: &Want) -> Option<Object> {
                Some(Object::$kind(self.clone()))
            }
        }

        impl Slim for object::$kind {
            fn from_object(object: Object) -> Option<Self> {
                if let Object::$kind(it) = object { Some(it) } else { None }
            }
        }
    )*};
}

slim!(Namespace, Service, EndpointSlice, Pod, ServiceImport);

/// None if the name of the object is invalid.
pub(crate) fn object(raw: &ApiObject, want: &Want) -> Option<Object> {
    match raw {
        ApiObject::Namespace(it) => it.to_object(want),
        ApiObject::Service(it) => it.to_object(want),
        ApiObject::EndpointSlice(it) => Some(Object::EndpointSlice(slice::slice(it, want)?)),
        ApiObject::Pod(it) => it.to_object(want),
        ApiObject::ServiceImport(it) => it.to_object(want),
    }
}

/// Whether the object is a terminating pod.
pub(crate) fn is_terminating(raw: &ApiObject) -> bool {
    matches!(raw, ApiObject::Pod(pod) if pod.is_terminating())
}

/// Whether the object is a pod that has ended. The API server filters these; manifests have no server.
pub(crate) fn has_ended(raw: &ApiObject) -> bool {
    matches!(raw, ApiObject::Pod(pod) if matches!(&*pod.status.phase, "Succeeded" | "Failed" | "Unknown"))
}

fn namespace(it: &Namespace, want: &Want) -> object::Namespace {
    let selected = selected(&want.namespace_selectors, &it.metadata);
    object::Namespace { name: it.metadata.name.as_str().into(), selected }
}

fn service(it: &Service, want: &Want) -> Option<object::Service> {
    let (spec, status) = (&it.spec, &it.status);
    let cluster_ips = match spec.cluster_ips.is_empty() {
        true => std::slice::from_ref(&spec.cluster_ip),
        false => &spec.cluster_ips,
    };
    let kind = if spec.kind == "ExternalName" {
        ServiceType::ExternalName(spec.external_name.as_str().into())
    } else if cluster_ips.first().is_some_and(|first| first == "None") {
        ServiceType::Headless
    } else {
        ServiceType::ClusterIp(cluster_ips.iter().filter_map(|text| ip(text)).collect())
    };
    let external = match want.external {
        true => external(&spec.external_ips, &status.load_balancer.ingress),
        false => Box::default(),
    };
    Some(object::Service {
        key: key(&it.metadata)?,
        kind,
        ports: spec.ports.iter().map(port).collect(),
        external,
        selected: selected(&want.selectors, &it.metadata),
    })
}

fn external(ips: &[String], ingress: &[LoadBalancerIngress]) -> Box<[External]> {
    let balanced = ingress.iter().map(|it| if it.ip.is_empty() { &it.hostname } else { &it.ip });
    ips.iter()
        .chain(balanced)
        // A load balancer may exist before it has an address.
        .filter(|text| !text.is_empty())
        .map(|text| ip(text).map_or_else(|| External::Host(text.as_str().into()), External::Address))
        .collect()
}

fn pod(it: &Pod, want: &Want) -> Option<object::Pod> {
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

fn service_import(it: &ServiceImport, want: &Want) -> Option<object::ServiceImport> {
    Some(object::ServiceImport {
        key: key(&it.metadata)?,
        headless: it.spec.kind == "Headless",
        ips: it.spec.ips.iter().filter_map(|text| ip(text)).collect(),
        ports: it.spec.ports.iter().map(port).collect(),
        selected: selected(&want.selectors, &it.metadata),
    })
}

fn port(it: &ServicePort) -> Port {
    Port { name: it.name.as_str().into(), protocol: it.protocol.as_str().into(), number: number(it.port) }
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
