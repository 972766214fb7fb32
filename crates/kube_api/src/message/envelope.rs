//! Envelopes, lists, watch events and error statuses.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;

use super::meta::nullable;

/// The first bytes of every protobuf message of the API, also inside events.
const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(bytes = "bytes", tag = "2")]
    raw: Bytes,
}

/// Takes a protobuf message out of its envelope, without copying it.
pub(crate) fn unwrap(message: Bytes) -> Result<Bytes, String> {
    if !message.starts_with(MAGIC) {
        let begin = message.get(..MAGIC.len()).unwrap_or(&message);
        return Err(format!(
            "expected Kubernetes protobuf, got bytes that begin with {:?}",
            String::from_utf8_lossy(begin)
        ));
    }
    let unknown = Unknown::decode(message.slice(MAGIC.len()..)).map_err(|e| e.to_string())?;
    Ok(unknown.raw)
}

/// A list of any kind; its objects are decoded one by one, not all at once.
#[derive(Clone, PartialEq, Message)]
pub struct List {
    #[prost(message, required, tag = "1")]
    pub metadata: ListMeta,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub items: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListMeta {
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// The continue token of the next page; empty on the last one.
    #[prost(string, tag = "3")]
    #[serde(rename = "continue", deserialize_with = "nullable")]
    pub next: String,
    /// Number of objects after this page, if the server reports it.
    #[prost(int64, optional, tag = "4")]
    pub remaining_item_count: Option<i64>,
}

/// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`, and the object.
#[derive(Clone, PartialEq, Message)]
pub struct WatchEvent {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(message, required, tag = "2")]
    pub object: RawExtension,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawExtension {
    #[prost(bytes = "bytes", tag = "1")]
    pub raw: Bytes,
}

/// Why the API server refused a request or ended a watch.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct Status {
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub message: String,
    #[prost(string, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    #[prost(message, optional, tag = "5")]
    pub details: Option<StatusDetails>,
    #[prost(int32, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub code: i32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct StatusDetails {
    #[prost(message, repeated, tag = "4")]
    #[serde(deserialize_with = "nullable")]
    pub causes: Vec<StatusCause>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub message: String,
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub field: String,
}

/// The reverse of [`unwrap`], for servers in tests.
#[cfg(feature = "encode")]
pub fn wrap(raw: Vec<u8>) -> Bytes {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(Unknown { raw: raw.into() }.encode_to_vec());
    bytes.into()
}

#[cfg(feature = "encode")]
impl WatchEvent {
    pub fn new(kind: &str, object: Vec<u8>) -> Self {
        Self { kind: kind.to_owned(), object: RawExtension { raw: wrap(object) } }
    }
}
