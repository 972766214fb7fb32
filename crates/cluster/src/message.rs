//! The resources of the index, reduced to the fields that it uses.
//!
//! One definition decodes protobuf (API server), JSON (custom resources) and YAML (manifests). Other fields are skipped.

mod core;
mod discovery;
mod multicluster;
mod resources;

pub use self::core::{
    LoadBalancerIngress, LoadBalancerStatus, Namespace, Pod, PodIp, PodStatus, Service, ServicePort,
    ServiceSpec, ServiceStatus,
};
pub use discovery::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice, ObjectReference};
pub use multicluster::{ServiceImport, ServiceImportSpec};
pub use resources::TriggeredSlice;

use kube_api::ObjectMeta;

use crate::object::Kind;

/// An object in the form of the API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ApiObject {
    Namespace(Namespace),
    Service(Service),
    EndpointSlice(EndpointSlice),
    Pod(Pod),
    ServiceImport(ServiceImport),
}

impl ApiObject {
    /// From any format of serde.
    pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(
        kind: Kind,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        use serde::Deserialize;
        Ok(match kind {
            Kind::Namespace => ApiObject::Namespace(Namespace::deserialize(deserializer)?),
            Kind::Service => ApiObject::Service(Service::deserialize(deserializer)?),
            Kind::EndpointSlice => ApiObject::EndpointSlice(EndpointSlice::deserialize(deserializer)?),
            Kind::Pod => ApiObject::Pod(Pod::deserialize(deserializer)?),
            Kind::ServiceImport => ApiObject::ServiceImport(ServiceImport::deserialize(deserializer)?),
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            ApiObject::Namespace(_) => Kind::Namespace,
            ApiObject::Service(_) => Kind::Service,
            ApiObject::EndpointSlice(_) => Kind::EndpointSlice,
            ApiObject::Pod(_) => Kind::Pod,
            ApiObject::ServiceImport(_) => Kind::ServiceImport,
        }
    }

    pub(crate) fn meta(&self) -> &ObjectMeta {
        match self {
            ApiObject::Namespace(it) => &it.metadata,
            ApiObject::Service(it) => &it.metadata,
            ApiObject::EndpointSlice(it) => &it.metadata,
            ApiObject::Pod(it) => &it.metadata,
            ApiObject::ServiceImport(it) => &it.metadata,
        }
    }

    pub(crate) fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            ApiObject::Namespace(it) => &mut it.metadata,
            ApiObject::Service(it) => &mut it.metadata,
            ApiObject::EndpointSlice(it) => &mut it.metadata,
            ApiObject::Pod(it) => &mut it.metadata,
            ApiObject::ServiceImport(it) => &mut it.metadata,
        }
    }
}
