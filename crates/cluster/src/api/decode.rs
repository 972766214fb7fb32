//! Decodes pages of lists and events of watches, from protobuf and JSON.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde_json::Value;

use super::message::{
    AnnotatedObject, ApiObject, List, ListMeta, Namespace, ObjectMeta, Status, WatchEvent, unwrap,
};
use crate::object::Kind;
use crate::watch::TriggerTime;

/// Annotation of the bookmark that ends the initial events of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// The Accept header of a list. A server or proxy that sends only JSON says so in its Content-Type.
    pub(super) fn list_accept(self) -> &'static str {
        match self {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
            Encoding::Json => "application/json",
        }
    }

    pub(super) fn watch_accept(self) -> &'static str {
        match self {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch,application/json",
            Encoding::Json => "application/json",
        }
    }

    /// Ignores parameters; None for any other type.
    pub(super) fn from_content_type(content_type: &str) -> Option<Self> {
        match content_type.split(';').next()?.trim() {
            "application/vnd.kubernetes.protobuf" => Some(Encoding::Protobuf),
            "application/json" => Some(Encoding::Json),
            _ => None,
        }
    }
}

/// An object before it is decoded.
pub(super) enum RawObject {
    Protobuf(Bytes),
    Json(Value),
}

impl RawObject {
    pub(super) fn decode(&self, kind: Kind) -> Result<ApiObject, String> {
        let raw = match self {
            RawObject::Protobuf(bytes) => ApiObject::from_protobuf(kind, bytes).map_err(|e| e.to_string()),
            RawObject::Json(value) => ApiObject::deserialize(kind, value).map_err(|e| e.to_string()),
        }?;
        #[cfg(test)]
        crate::poison::panic_if_poisoned(crate::poison::IN_DECODE, &raw);
        Ok(raw)
    }

    /// The metadata alone, by decoding the object as a Namespace: its fields are common to all kinds.
    pub(super) fn meta(&self) -> Option<ObjectMeta> {
        self.message::<Namespace>().ok().map(|it| it.metadata)
    }

    fn message<T: Message + Default + for<'de> Deserialize<'de>>(&self) -> Result<T, String> {
        match self {
            RawObject::Protobuf(bytes) => T::decode(&**bytes).map_err(|e| e.to_string()),
            RawObject::Json(value) => T::deserialize(value).map_err(|e| e.to_string()),
        }
    }
}

/// A page of a list.
pub(super) struct Page {
    pub metadata: ListMeta,
    pub items: Items,
}

pub(super) enum Items {
    Protobuf(Vec<Bytes>),
    Json(Vec<Value>),
}

impl Page {
    pub(super) fn decode(encoding: Encoding, body: Bytes) -> Result<Self, String> {
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
    pub(super) fn len(&self) -> usize {
        match self {
            Items::Protobuf(items) => items.len(),
            Items::Json(items) => items.len(),
        }
    }

    /// An iterator, so that only one object at a time exists in both forms.
    pub(super) fn objects(self) -> Box<dyn Iterator<Item = RawObject> + Send> {
        match self {
            Items::Protobuf(items) => Box::new(items.into_iter().map(RawObject::Protobuf)),
            Items::Json(items) => Box::new(items.into_iter().map(RawObject::Json)),
        }
    }
}

/// A watch event with its object not decoded yet.
pub(super) struct Frame {
    event_type: String,
    pub object: RawObject,
}

impl Frame {
    pub(super) fn decode(encoding: Encoding, bytes: Bytes) -> Result<Self, String> {
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
pub(super) enum Event {
    Applied {
        raw: ApiObject,
        /// ADDED, not MODIFIED.
        is_new: bool,
        trigger_time: Option<TriggerTime>,
    },
    Deleted(ApiObject),
    /// The watch has delivered all events up to this version.
    Bookmark {
        version: String,
        ends_list: bool,
    },
    Error(Status),
}

impl Event {
    pub(super) fn decode(kind: Kind, frame: &Frame) -> Result<Self, String> {
        let Frame { event_type, object } = frame;
        Ok(match &**event_type {
            "ADDED" | "MODIFIED" => {
                let trigger_time = match kind {
                    Kind::EndpointSlice => object
                        .message::<AnnotatedObject>()?
                        .annotation(TRIGGER_TIME)
                        .and_then(TriggerTime::parse),
                    _ => None,
                };
                Event::Applied { raw: object.decode(kind)?, is_new: event_type == "ADDED", trigger_time }
            }
            "DELETED" => Event::Deleted(object.decode(kind)?),
            "BOOKMARK" => {
                let annotated: AnnotatedObject = object.message()?;
                let ends_list = annotated.annotation(INITIAL_EVENTS_END) == Some("true");
                Event::Bookmark { version: annotated.resource_version().to_owned(), ends_list }
            }
            "ERROR" => Event::Error(object.message()?),
            other => return Err(format!("unknown event type {other:?}")),
        })
    }
}

/// The message of an error response, in either encoding, or the first line of a proxy's text.
pub(super) fn error_message(body: Bytes) -> String {
    let protobuf = unwrap(body.clone()).ok().and_then(|raw| Status::decode(raw).ok());
    match protobuf.or_else(|| serde_json::from_slice(&body).ok()) {
        Some(status) => status.message,
        None => String::from_utf8_lossy(&body).lines().next().unwrap_or_default().chars().take(200).collect(),
    }
}
