use super::{Endpoints, Ports};
use crate::key::Key;
use crate::want::Selected;

/// A slice of the endpoints of a Service; of a Service elsewhere in the cluster set if `imported`.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSlice {
    /// Of the slice itself.
    pub key: Key,
    /// The Service it belongs to in this cluster (label `kubernetes.io/service-name`), if any.
    pub service: Option<Key>,
    /// Boxed, since few are.
    pub imported: Option<Box<Imported>>,
    /// Empty if it declares none.
    pub ports: Ports,
    pub endpoints: Endpoints,
    pub selected: Selected,
}

/// Where an imported slice comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The ServiceImport it belongs to (label `multicluster.kubernetes.io/service-name`).
    pub service: Key,
    /// Label `multicluster.kubernetes.io/source-cluster`; empty if missing.
    pub cluster: Box<str>,
}
