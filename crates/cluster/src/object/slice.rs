use std::net::IpAddr;
use std::sync::Arc;

use super::Port;
use crate::key::Key;
use crate::want::Selected;

/// A slice of the endpoints of a Service; of a Service elsewhere in the cluster set if `imported`.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSlice {
    /// Of the slice itself.
    pub key: Key,
    /// The Service it belongs to in this cluster (label `kubernetes.io/service-name`), if any.
    pub service: Option<Key>,
    pub imported: Option<Imported>,
    /// Empty if it declares none.
    pub ports: Box<[Port]>,
    /// One per address, the ready ones only.
    pub endpoints: Box<[Endpoint]>,
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

/// One ready address.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub address: IpAddr,
    /// The address as the API spelt it, if that is not the usual way: names are made from the spelling.
    pub spelling: Option<Box<str>>,
    pub hostname: Option<Box<str>>,
    /// The pod behind it, unless its name is longer than a label; kept only if [`crate::Want::pod_names`].
    pub pod: Option<Box<str>>,
    /// The topology zone in lower case; kept only if [`crate::Want::zones`].
    pub zone: Option<Arc<str>>,
}
