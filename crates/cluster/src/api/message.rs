//! Messages of the Kubernetes API, cut down to the fields that matter here.
//!
//! One definition is read from protobuf (API server), JSON (custom resources) and YAML (manifests). Fields that
//! are not named here are skipped unread, whoever sends them.

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
pub(crate) use meta::{Annotated, ObjectMeta, Pair};
pub(crate) use multicluster::ServiceImport;

use crate::object::Kind;

/// An object as the API says it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Namespace(Namespace),
    Service(Service),
    EndpointSlice(EndpointSlice),
    Pod(Pod),
    ServiceImport(ServiceImport),
}

impl Raw {
    /// From protobuf, without its envelope. ServiceImports have no protobuf.
    pub(crate) fn from_protobuf(kind: Kind, bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        use prost::Message;
        Ok(match kind {
            Kind::Namespace => Raw::Namespace(Namespace::decode(bytes)?),
            Kind::Service => Raw::Service(Service::decode(bytes)?),
            Kind::EndpointSlice => Raw::EndpointSlice(EndpointSlice::decode(bytes)?),
            Kind::Pod => Raw::Pod(Pod::decode(bytes)?),
            #[allow(deprecated, reason = "the only way to make one")]
            Kind::ServiceImport => return Err(prost::DecodeError::new("ServiceImports are JSON")),
        })
    }

    /// From anything serde reads.
    pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(
        kind: Kind,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        use serde::Deserialize;
        Ok(match kind {
            Kind::Namespace => Raw::Namespace(Namespace::deserialize(deserializer)?),
            Kind::Service => Raw::Service(Service::deserialize(deserializer)?),
            Kind::EndpointSlice => Raw::EndpointSlice(EndpointSlice::deserialize(deserializer)?),
            Kind::Pod => Raw::Pod(Pod::deserialize(deserializer)?),
            Kind::ServiceImport => Raw::ServiceImport(ServiceImport::deserialize(deserializer)?),
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Raw::Namespace(_) => Kind::Namespace,
            Raw::Service(_) => Kind::Service,
            Raw::EndpointSlice(_) => Kind::EndpointSlice,
            Raw::Pod(_) => Kind::Pod,
            Raw::ServiceImport(_) => Kind::ServiceImport,
        }
    }

    pub(crate) fn meta(&self) -> &ObjectMeta {
        match self {
            Raw::Namespace(it) => &it.metadata,
            Raw::Service(it) => &it.metadata,
            Raw::EndpointSlice(it) => &it.metadata,
            Raw::Pod(it) => &it.metadata,
            Raw::ServiceImport(it) => &it.metadata,
        }
    }

    pub(crate) fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Raw::Namespace(it) => &mut it.metadata,
            Raw::Service(it) => &mut it.metadata,
            Raw::EndpointSlice(it) => &mut it.metadata,
            Raw::Pod(it) => &mut it.metadata,
            Raw::ServiceImport(it) => &mut it.metadata,
        }
    }
}
