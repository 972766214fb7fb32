//! A large cluster: its Services and endpoints, as objects of the API and as the static zones that say the same.
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
