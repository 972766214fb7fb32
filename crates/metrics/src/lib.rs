//! Metrics: per-worker counter cells, summed at scrape, written as Prometheus text or protobuf.
//!
//! A worker counts into its own cache line and never waits for another one; the scrape, which is rare, adds the
//! cells up. What a plugin needs of a [`Family`] it fetches once at setup and keeps as an `Arc`, so that no query
//! looks a label up.
//!
//! ```text
//! worker ──set_shard──→ Counter / Histogram cell ─┐
//! worker ──set_shard──→ Counter / Histogram cell ─┴─sum at scrape──→ Registry::encode ──→ text, protobuf
//! ```
//!
//! The text is that of Go's client, down to the order of labels and the form of numbers, because dashboards and
//! tests written for CoreDNS compare it. Only protobuf has native buckets, as there.

mod collect;
mod counter;
mod family;
mod gather;
mod gauge;
mod histogram;
mod native;
mod protobuf;
mod registry;
mod shard;
mod text;
mod whole;

pub use collect::{Collection, Rows};
pub use counter::Counter;
pub use family::{Family, Series};
pub use gather::Value;
pub use gauge::Gauge;
pub use histogram::{Histogram, MAX_BUCKETS, Snapshot, buckets};
pub use native::{NativeSnapshot, SCHEMA, ZERO_THRESHOLD};
pub use registry::{RegisterError, Registry, registry};
pub use shard::{SHARDS, Shard, set_shard};
pub use text::{Kind, Labels, Metric, go_float};
