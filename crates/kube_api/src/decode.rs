//! Decodes pages of lists and events of watches, from protobuf and JSON.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::message::{
    AnnotatedObject, List, ListMeta, ObjectMeta, PartialObject, Status, WatchEvent, unwrap,
};
use crate::resource::Resource;

/// Annotation of the bookmark that ends the initial events of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// The Accept header of a list. A server or proxy that sends only JSON says so in its Content-Type.
    pub(crate) fn list_accept(self) -> &'static str {
        match self {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
            Encoding::Json => "application/json",
        }
    }

    pub(crate) fn watch_accept(self) -> &'static str {
        match self {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch,application/json",
            Encoding::Json => "application/json",
        }
    }

    /// Ignores parameters; None for any other type.
    pub(crate) fn from_content_type(content_type: &str) -> Option<Self> {
        match content_type.split(';').next()?.trim() {
            "application/vnd.kubernetes.protobuf" => Some(Encoding::Protobuf),
            "application/json" => Some(Encoding::Json),
            _ => None,
        }
    }
}

/// An object before it is decoded.
pub enum RawObject {
    Protobuf(Bytes),
    Json(Value),
}

impl RawObject {
    /// The metadata alone.
    pub(crate) fn meta(&self) -> Option<ObjectMeta> {
        self.message::<PartialObject>().ok().map(|it| it.metadata)
    }

    /// Decodes a resource that has no protobuf.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, String> {
        match self {
            RawObject::Protobuf(_) => Err("expected JSON, got protobuf".to_owned()),
            RawObject::Json(value) => T::deserialize(value).map_err(|e| e.to_string()),
        }
    }

    /// Decodes a resource from either encoding.
    pub fn message<T: Message + Default + DeserializeOwned>(&self) -> Result<T, String> {
        match self {
            RawObject::Protobuf(bytes) => T::decode(&**bytes).map_err(|e| e.to_string()),
            RawObject::Json(value) => T::deserialize(value).map_err(|e| e.to_string()),
        }
    }
}

/// A page of a list.
pub(crate) struct Page {
    pub metadata: ListMeta,
    pub items: Items,
}

pub(crate) enum Items {
    Protobuf(Vec<Bytes>),
    Json(Vec<Value>),
}

impl Page {
    pub(crate) fn decode(encoding: Encoding, body: Bytes) -> Result<Self, String> {
        match encoding {
            Encoding::Protobuf => {
                let list = unwrap(body).and_then(|raw| List::decode(raw).map_err(|e| e.to_string()))?;
                Ok(Self { metadata: list.metadata, items: Items::Protobuf(list.items) })
            }
            Encoding::Json => {
                #[derive(Deserialize)]
                struct JsonList {
                    #[serde(default)]
                    metadata: ListMeta,
                    items: Vec<Value>,
                }
                let list: JsonList = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
                Ok(Self { metadata: list.metadata, items: Items::Json(list.items) })
            }
        }
    }
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        match self {
            Items::Protobuf(items) => items.len(),
            Items::Json(items) => items.len(),
        }
    }

    /// An iterator, so that only one object at a time exists in both forms.
    pub(crate) fn objects(self) -> Box<dyn Iterator<Item = RawObject> + Send> {
        match self {
            Items::Protobuf(items) => Box::new(items.into_iter().map(RawObject::Protobuf)),
            Items::Json(items) => Box::new(items.into_iter().map(RawObject::Json)),
        }
    }
}

/// A watch event with its object not decoded yet.
pub(crate) struct Frame {
    event_type: String,
    pub object: RawObject,
}

impl Frame {
    pub(crate) fn decode(encoding: Encoding, bytes: Bytes) -> Result<Self, String> {
        match encoding {
            Encoding::Protobuf => {
                let event = WatchEvent::decode(bytes).map_err(|e| e.to_string())?;
                Ok(Self { event_type: event.kind, object: RawObject::Protobuf(unwrap(event.object.raw)?) })
            }
            Encoding::Json => {
                #[derive(Deserialize)]
                struct JsonEvent {
                    #[serde(rename = "type")]
                    event_type: String,
                    object: Value,
                }
                let event: JsonEvent = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
                Ok(Self { event_type: event.event_type, object: RawObject::Json(event.object) })
            }
        }
    }
}

/// A decoded watch event.
pub(crate) enum WatchedEvent<R> {
    Applied {
        object: R,
        /// ADDED, not MODIFIED.
        is_new: bool,
    },
    Deleted(R),
    /// The watch has delivered all events up to this version.
    Bookmark {
        version: String,
        ends_list: bool,
    },
    Error(Status),
}

impl<R: Resource> WatchedEvent<R> {
    pub(crate) fn decode(frame: &Frame) -> Result<Self, String> {
        let Frame { event_type, object } = frame;
        Ok(match &**event_type {
            "ADDED" | "MODIFIED" => {
                WatchedEvent::Applied { object: R::decode(object)?, is_new: event_type == "ADDED" }
            }
            "DELETED" => WatchedEvent::Deleted(R::decode(object)?),
            "BOOKMARK" => {
                let annotated: AnnotatedObject = object.message()?;
                let ends_list = annotated.annotation(INITIAL_EVENTS_END) == Some("true");
                WatchedEvent::Bookmark { version: annotated.resource_version().to_owned(), ends_list }
            }
            "ERROR" => WatchedEvent::Error(object.message()?),
            other => return Err(format!("unknown event type {other:?}")),
        })
    }
}

/// The status of an error response, in either encoding; of a proxy's text, its first line.
pub(crate) fn error_status(body: Bytes) -> Status {
    let protobuf = unwrap(body.clone()).ok().and_then(|raw| Status::decode(raw).ok());
    protobuf.or_else(|| serde_json::from_slice(&body).ok()).unwrap_or_else(|| {
        let line =
            String::from_utf8_lossy(&body).lines().next().unwrap_or_default().chars().take(200).collect();
        Status { message: line, ..Status::default() }
    })
}
