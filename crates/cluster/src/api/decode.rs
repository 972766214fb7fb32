//! From bytes to pages of lists and events of watches, in either encoding.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde_json::Value;

use super::message::{Annotated, List, ListMeta, Raw, Status, WatchEvent, unwrap};
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

/// A page of a list.
pub(super) struct Page {
    pub metadata: ListMeta,
    pub items: Items,
}

pub(super) enum Items {
    Protobuf(Kind, Vec<Bytes>),
    Json(Vec<Value>, Kind),
}

impl Page {
    pub(super) fn decode(kind: Kind, encoding: Encoding, body: Bytes) -> Result<Self, String> {
        match encoding {
            Encoding::Protobuf => {
                let list = unwrap(body).and_then(|raw| List::decode(raw).map_err(|e| e.to_string()))?;
                Ok(Self { metadata: list.metadata, items: Items::Protobuf(kind, list.items) })
            }
            Encoding::Json => {
                #[derive(Deserialize)]
                struct JsonList {
                    #[serde(default)]
                    metadata: ListMeta,
                    items: Vec<Value>,
                }
                let list: JsonList = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
                Ok(Self { metadata: list.metadata, items: Items::Json(list.items, kind) })
            }
        }
    }
}

impl Items {
    pub(super) fn len(&self) -> usize {
        match self {
            Items::Protobuf(_, items) => items.len(),
            Items::Json(items, _) => items.len(),
        }
    }

    /// One after the other, so that a page is never there twice.
    pub(super) fn objects(self) -> Box<dyn Iterator<Item = Result<Raw, String>> + Send> {
        match self {
            Items::Protobuf(kind, items) => Box::new(
                items
                    .into_iter()
                    .map(move |bytes| Raw::from_protobuf(kind, &bytes).map_err(|e| e.to_string())),
            ),
            Items::Json(items, kind) => Box::new(
                items.into_iter().map(move |it| Raw::deserialize(kind, it).map_err(|e| e.to_string())),
            ),
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
    pub(super) fn decode(kind: Kind, encoding: Encoding, frame: Bytes) -> Result<Self, String> {
        match encoding {
            Encoding::Protobuf => {
                let event = WatchEvent::decode(frame).map_err(|e| e.to_string())?;
                let object = unwrap(event.object.raw)?;
                let annotated = || Annotated::decode(object.clone()).map_err(|e| e.to_string());
                let raw = || Raw::from_protobuf(kind, &object).map_err(|e| e.to_string());
                let status = || Status::decode(object.clone()).map_err(|e| e.to_string());
                Self::new(&event.kind, kind, raw, annotated, status)
            }
            Encoding::Json => {
                #[derive(Deserialize)]
                struct JsonEvent {
                    #[serde(rename = "type")]
                    kind: String,
                    object: Value,
                }
                let JsonEvent { kind: what, object } =
                    serde_json::from_slice(&frame).map_err(|e| e.to_string())?;
                let annotated = || Annotated::deserialize(&object).map_err(|e| e.to_string());
                let raw = || Raw::deserialize(kind, &object).map_err(|e| e.to_string());
                let status = || Status::deserialize(&object).map_err(|e| e.to_string());
                Self::new(&what, kind, raw, annotated, status)
            }
        }
    }

    fn new(
        what: &str,
        kind: Kind,
        raw: impl FnOnce() -> Result<Raw, String>,
        annotated: impl FnOnce() -> Result<Annotated, String>,
        status: impl FnOnce() -> Result<Status, String>,
    ) -> Result<Self, String> {
        Ok(match what {
            "ADDED" | "MODIFIED" => {
                let triggered = match kind {
                    Kind::EndpointSlice => annotated()?.annotation(TRIGGERED).and_then(Triggered::parse),
                    _ => None,
                };
                Event::Applied { raw: raw()?, is_new: what == "ADDED", triggered }
            }
            "DELETED" => Event::Deleted(raw()?),
            "BOOKMARK" => {
                let annotated = annotated()?;
                let ends_list = annotated.annotation(LIST_ENDS) == Some("true");
                Event::Bookmark { version: annotated.resource_version().to_owned(), ends_list }
            }
            "ERROR" => Event::Refused(status()?),
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
