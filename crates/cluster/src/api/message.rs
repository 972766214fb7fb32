//! Messages of the Kubernetes API, reduced to the fields that this crate uses.
//!
//! One definition decodes protobuf (API server), JSON (custom resources) and YAML (manifests). Other fields are skipped.

mod core;
mod discovery;
mod envelope;
mod meta;
mod multicluster;

pub(crate) use self::core::{LoadBalancerIngress, Namespace, Pod, PodIp, Service, ServicePort};
pub(crate) use discovery::{Endpoint, EndpointPort, EndpointSlice};
#[cfg(test)]
pub(crate) use envelope::wrap;
pub(crate) use envelope::{List, ListMeta, Status, WatchEvent, unwrap};
pub(crate) use meta::{AnnotatedObject, ObjectMeta, Pair};
pub(crate) use multicluster::ServiceImport;

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
    /// From protobuf without its envelope. ServiceImports have no protobuf.
    pub(crate) fn from_protobuf(kind: Kind, bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        use prost::Message;
        Ok(match kind {
            Kind::Namespace => ApiObject::Namespace(Namespace::decode(bytes)?),
            Kind::Service => ApiObject::Service(Service::decode(bytes)?),
            Kind::EndpointSlice => ApiObject::EndpointSlice(EndpointSlice::decode(bytes)?),
            Kind::Pod => ApiObject::Pod(Pod::decode(bytes)?),
            #[allow(deprecated, reason = "the only way to make one")]
            Kind::ServiceImport => return Err(prost::DecodeError::new("ServiceImports are JSON")),
        })
    }

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
