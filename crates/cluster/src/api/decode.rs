//! From bytes to pages of lists and events of watches, in either encoding.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde_json::Value;

use super::message::{Annotated, List, ListMeta, Namespace, ObjectMeta, Raw, Status, WatchEvent, unwrap};
use crate::object::Kind;
use crate::watch::Triggered;

/// The bookmark that carries it ends the initial events of a watch.
const LIST_ENDS: &str = "k8s.io/initial-events-end";
const TRIGGERED: &str = "endpoints.kubernetes.io/last-change-trigger-time";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// What to accept as a list. A server or a proxy in front of it may know JSON only, and says so in its answer.
    pub(super) fn of_list(self) -> &'static str {
        match self {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
            Encoding::Json => "application/json",
        }
    }

    pub(super) fn of_watch(self) -> &'static str {
        match self {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch,application/json",
            Encoding::Json => "application/json",
        }
    }

    /// What a Content-Type names, with or without parameters; None for anything else.
    pub(super) fn named(content_type: &str) -> Option<Self> {
        match content_type.split(';').next()?.trim() {
            "application/vnd.kubernetes.protobuf" => Some(Encoding::Protobuf),
            "application/json" => Some(Encoding::Json),
            _ => None,
        }
    }
}

/// An object that is not decoded yet.
pub(super) enum Encoded {
    Protobuf(Bytes),
    Json(Value),
}

impl Encoded {
    pub(super) fn decode(&self, kind: Kind) -> Result<Raw, String> {
        let raw = match self {
            Encoded::Protobuf(bytes) => Raw::from_protobuf(kind, bytes).map_err(|e| e.to_string()),
            Encoded::Json(value) => Raw::deserialize(kind, value).map_err(|e| e.to_string()),
        }?;
        #[cfg(test)]
        crate::poison::strike_raw(crate::poison::IN_DECODE, &raw);
        Ok(raw)
    }

    /// What it is called, without looking at the rest: all that a Namespace has here every kind has.
    pub(super) fn meta(&self) -> Option<ObjectMeta> {
        self.message::<Namespace>().ok().map(|it| it.metadata)
    }

    fn message<T: Message + Default + for<'de> Deserialize<'de>>(&self) -> Result<T, String> {
        match self {
            Encoded::Protobuf(bytes) => T::decode(&**bytes).map_err(|e| e.to_string()),
            Encoded::Json(value) => T::deserialize(value).map_err(|e| e.to_string()),
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

    /// One after the other, so that a page is never there twice.
    pub(super) fn objects(self) -> Box<dyn Iterator<Item = Encoded> + Send> {
        match self {
            Items::Protobuf(items) => Box::new(items.into_iter().map(Encoded::Protobuf)),
            Items::Json(items) => Box::new(items.into_iter().map(Encoded::Json)),
        }
    }
}

/// What a watch sends: the type of an event, and what it is about.
pub(super) struct Frame {
    what: String,
    pub object: Encoded,
}

impl Frame {
    pub(super) fn decode(encoding: Encoding, bytes: Bytes) -> Result<Self, String> {
        match encoding {
            Encoding::Protobuf => {
                let event = WatchEvent::decode(bytes).map_err(|e| e.to_string())?;
                Ok(Self { what: event.kind, object: Encoded::Protobuf(unwrap(event.object.raw)?) })
            }
            Encoding::Json => {
                #[derive(Deserialize)]
                struct JsonEvent {
                    #[serde(rename = "type")]
                    what: String,
                    object: Value,
                }
                let event: JsonEvent = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
                Ok(Self { what: event.what, object: Encoded::Json(event.object) })
            }
        }
    }
}

/// What a watch says.
pub(super) enum Event {
    Applied {
        raw: Raw,
        /// It was not there before.
        is_new: bool,
        triggered: Option<Triggered>,
    },
    Deleted(Raw),
    /// Nothing happened up to this version.
    Bookmark {
        version: String,
        ends_list: bool,
    },
    Refused(Status),
}

impl Event {
    pub(super) fn decode(kind: Kind, frame: &Frame) -> Result<Self, String> {
        let Frame { what, object } = frame;
        Ok(match &**what {
            "ADDED" | "MODIFIED" => {
                let triggered = match kind {
                    Kind::EndpointSlice => {
                        object.message::<Annotated>()?.annotation(TRIGGERED).and_then(Triggered::parse)
                    }
                    _ => None,
                };
                Event::Applied { raw: object.decode(kind)?, is_new: what == "ADDED", triggered }
            }
            "DELETED" => Event::Deleted(object.decode(kind)?),
            "BOOKMARK" => {
                let annotated: Annotated = object.message()?;
                let ends_list = annotated.annotation(LIST_ENDS) == Some("true");
                Event::Bookmark { version: annotated.resource_version().to_owned(), ends_list }
            }
            "ERROR" => Event::Refused(object.message()?),
            other => return Err(format!("an event of type {other:?}")),
        })
    }
}

/// What a refusal says, in whichever encoding; it may be a proxy's that has none.
pub(super) fn refusal(body: Bytes) -> String {
    let protobuf = unwrap(body.clone()).ok().and_then(|raw| Status::decode(raw).ok());
    match protobuf.or_else(|| serde_json::from_slice(&body).ok()) {
        Some(status) => status.message,
        None => String::from_utf8_lossy(&body).lines().next().unwrap_or_default().chars().take(200).collect(),
    }
}
