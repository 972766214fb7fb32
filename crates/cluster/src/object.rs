//! The objects of the index, with only the fields that answers need.

mod endpoints;
mod identity;
mod namespace;
mod pod;
mod port;
mod service;
mod service_import;
mod slice;

pub use endpoints::{Details, Endpoint, Endpoints};
pub(crate) use identity::Identity;
pub use namespace::Namespace;
pub use pod::Pod;
pub use port::{Port, Ports};
pub use service::{ClusterIps, External, Service, ServiceType};
pub use service_import::ServiceImport;
pub use slice::{EndpointSlice, ImportOrigin};

/// The kinds that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Namespace,
    Service,
    EndpointSlice,
    Pod,
    ServiceImport,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::Namespace, Kind::Service, Kind::EndpointSlice, Kind::Pod, Kind::ServiceImport];

    /// As in the field `kind` of a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Namespace => "Namespace",
            Kind::Service => "Service",
            Kind::EndpointSlice => "EndpointSlice",
            Kind::Pod => "Pod",
            Kind::ServiceImport => "ServiceImport",
        }
    }

    /// As in the API's URIs.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Namespace => "namespaces",
            Kind::Service => "services",
            Kind::EndpointSlice => "endpointslices",
            Kind::Pod => "pods",
            Kind::ServiceImport => "serviceimports",
        }
    }
}

/// An object of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    Namespace(Namespace),
    Service(Service),
    EndpointSlice(EndpointSlice),
    Pod(Pod),
    ServiceImport(ServiceImport),
}

impl Object {
    pub fn kind(&self) -> Kind {
        match self {
            Object::Namespace(_) => Kind::Namespace,
            Object::Service(_) => Kind::Service,
            Object::EndpointSlice(_) => Kind::EndpointSlice,
            Object::Pod(_) => Kind::Pod,
            Object::ServiceImport(_) => Kind::ServiceImport,
        }
    }
}
