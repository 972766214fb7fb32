//! One Kubernetes cluster as data.
//!
//! ```text
//! API server ─┐  api          object         index          snapshot
//!             ├─ messages ──→ slim types ──→ one writer ──→ what queries read
//! manifests ──┘
//! ```
//!
//! Whoever needs the cluster says what of it with a [`Want`]; all wants of one [`Source`] share one watch per
//! kind. The index is fed with [`Change`]s and does no I/O; what it publishes is immutable. Nothing here knows
//! the DNS: entries know neither zone nor TTL nor the block that asks.

mod api;
mod index;
mod key;
mod manifests;
pub mod object;
#[cfg(test)]
mod poison;
mod selector;
mod shards;
mod snapshot;
mod want;
mod watch;

pub use index::{Change, Index};
pub use key::Key;
pub use object::{Kind, Object};
pub use selector::{Selector, SelectorError};
pub use snapshot::{Entry, Holder, Modified, Snapshot};
pub use want::{Joined, Selected, Want};
pub use watch::{
    Cluster, Level, Source, Staleness, Tls, Unlisted, WatchError, register_metrics, set_give_back,
    set_logger, watch,
};
