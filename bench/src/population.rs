//! A large cluster: its Services and endpoints, as API objects and as equivalent static zones.
//!
//! ```text
//! Service::number(0..5000) ─→ objects ─→ API server ─→ Rhumb, CoreDNS
//!                          └→ zones ──→ files ──────→ Knot, NSD, Unbound
//! ```

mod objects;
mod service;
mod zones;

pub use objects::objects;
pub use service::{SERVICES, Service, WIDE};
pub use zones::{Zone, reverse, zones};
