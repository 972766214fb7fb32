//! Metrics: per-worker counter cells, summed at scrape, written as Prometheus text or protobuf.
//!
//! A worker counts into its own cache line and never waits for another; the rare scrape sums the cells. Plugins look up
//! their series in a [`Family`] once, at setup, and keep the `Arc`, so that no query looks up a label.
//!
//! ```text
//! worker ──set_shard──→ Counter / Histogram cell ─┐
//! worker ──set_shard──→ Counter / Histogram cell ─┴─sum at scrape──→ Registry::encode ──→ text, protobuf
//! ```
//!
//! The text equals that of Go's client, including the order of labels and the format of numbers, because dashboards and
//! tests written for CoreDNS compare it. As there, only protobuf has native buckets.

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
mod whole_numbers;

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
