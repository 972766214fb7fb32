//! The DNS index of a Kubernetes cluster: one consumer of `kube_api`.
//!
//! ```text
//! kube_api ───┐  message      convert        index          snapshot
//!             ├─ resources ─→ slim types ──→ one writer ──→ read by queries
//! manifests ──┘
//! ```
//!
//! A [`Want`] names the kinds, fields and selectors that a caller needs; all wants of one [`Source`] share one watch per
//! kind. The index applies [`Change`]s without I/O and publishes immutable snapshots. Nothing here depends on DNS: an
//! entry has no zone, no TTL and no server block.

mod convert;
mod index;
mod key;
mod manifests;
mod message;
pub mod object;
#[cfg(test)]
mod poison;
mod selector;
mod shards;
mod snapshot;
mod want;
mod watch;

/// The resources of the index, for other consumers of the same watches.
pub mod resources {
    pub use crate::message::{
        Endpoint, EndpointConditions, EndpointPort, EndpointSlice, LoadBalancerIngress, LoadBalancerStatus,
        Namespace, ObjectReference, Pod, PodIp, PodStatus, Service, ServiceImport, ServiceImportSpec,
        ServicePort, ServiceSpec, ServiceStatus, TriggeredSlice,
    };
}

pub use index::{Change, Index};
pub use key::Key;
pub use object::{Kind, Object};
pub use selector::{Selector, SelectorError};
pub use snapshot::{Entry, Holder, LastModified, Snapshot};
pub use want::{SelectorNumbers, SelectorSet, Want};
pub use watch::{
    Cluster, Level, Source, Staleness, Tls, Unlisted, WatchError, register_metrics, set_heap_trim,
    set_logger, watch,
};
