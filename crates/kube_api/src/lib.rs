//! One Kubernetes API server: access, discovery, list and watch of any resource, writing, leases.
//!
//! ```text
//! access ──→ request ──→ frames ──→ decode ──→ reflector ──→ feed ──→ delivery ──→ every consumer
//! client     URI and     bytes of   a slim     one per       events   one task
//!            response    events     resource   resource and           per cluster
//!                                              scope
//! ```
//!
//! A [`Resource`] is a type: its group, plural and known versions, and the fields that anybody reads. A [`Consumer`]
//! subscribes to resources; all consumers of a resource and [`Scope`] share one watch, in which each object is decoded once.
//! Consumers are called in the one delivery task of their cluster, so they need no locks. Who subscribes late gets a
//! relist. Nothing here knows the meaning of an object.
//!
//! ```ignore
//! struct Names(Vec<String>);
//! impl Subscriber for Names {}
//! impl Consumer<Ingress> for Names {
//!     fn list_begins(&mut self) { self.0.clear(); }
//!     fn apply(&mut self, object: &Ingress, _: Version, _: Occasion) { self.0.push(object.meta().name.clone()); }
//!     fn delete(&mut self, object: &Ingress) { self.0.retain(|name| *name != object.meta().name); }
//!     fn list_ends(&mut self) {}
//! }
//! let server = ApiServer::open(&ClusterId::new("in-cluster"), Login::InCluster)?;
//! let _subscription = server.subscribe(|_| Names(Vec::new())).to::<Ingress>(Scope::all()).start();
//! ```

mod access;
mod api_server;
mod availability;
mod backoff;
mod census;
mod consumer;
mod decode;
mod delivery;
mod discovery;
mod frames;
mod lease;
mod log;
mod measure;
pub mod message;
mod rate_limit;
mod reflector;
mod request;
mod resource;
mod scope;
mod server_version;
mod status;
mod unlisted;
mod version;
mod write;

pub use access::{AccessError, ClusterId, Credentials, Login, Tls};
pub use api_server::{ApiServer, Subscribing, Subscription};
pub use availability::Availability;
pub use backoff::Limits;
pub use consumer::{Consumer, Occasion, Subscriber};
pub use decode::{Encoding, RawObject};
pub use delivery::{Delivery, Event, FeedSender};
pub use kube::Config;
pub use lease::{Holding, Lease, LeaseSettings};
pub use log::{Level, log, set_logger};
pub use measure::{EventCounters, register_metrics};
pub use message::ObjectMeta;
pub use resource::{ObjectName, Resource};
pub use scope::Scope;
pub use status::{LostOnDrop, Staleness, WatchStatus};
pub use unlisted::Unlisted;
pub use version::Version;
pub use write::{Conflict, FieldConflict, Preconditions, WriteError, Writer};
