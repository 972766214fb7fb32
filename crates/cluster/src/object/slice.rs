use super::{Endpoints, Ports};
use crate::key::Key;
use crate::want::SelectorSet;

/// A slice of the endpoints of a Service; of a Service elsewhere in the clusterset if `imported`.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSlice {
    /// The key of the slice itself.
    pub key: Key,
    /// The Service it belongs to in this cluster (label `kubernetes.io/service-name`), if any.
    pub service: Option<Key>,
    /// Boxed, since few slices are imported.
    pub imported: Option<Box<ImportOrigin>>,
    /// Empty if it declares none.
    pub ports: Ports,
    pub endpoints: Endpoints,
    pub selected: SelectorSet,
}

/// The origin of an imported slice.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOrigin {
    /// The ServiceImport it belongs to (label `multicluster.kubernetes.io/service-name`).
    pub service: Key,
    /// Label `multicluster.kubernetes.io/source-cluster`; empty if missing.
    pub cluster: Box<str>,
}
