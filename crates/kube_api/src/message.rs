//! Messages that all resources have in common: metadata, lists, events, errors.
//!
//! One definition decodes protobuf and JSON, and YAML of manifests. Other fields are skipped.

mod envelope;
mod meta;

pub(crate) use envelope::unwrap;
#[cfg(feature = "encode")]
pub use envelope::wrap;
pub use envelope::{List, ListMeta, Status, StatusCause, StatusDetails, WatchEvent};
pub use meta::{AnnotatedObject, ObjectMeta, Pair, PartialObject, Timestamp, nullable};
