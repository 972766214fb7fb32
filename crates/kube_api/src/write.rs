//! Writes objects: a handle apart from watches, with rights of its own.
//!
//! Objects are JSON here, since a writer sends only the fields that it owns.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::http::Method;
use serde_json::{Value, json};

use crate::access::Access;
use crate::backoff::Limits;
use crate::discovery::{Discovery, SHARED_FOR};
use crate::message::Status;
use crate::request::{Call, Failure, escape, fetch};
use crate::resource::{ObjectName, Resource, collection_path, is_built_in};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const JSON: &str = "application/json";

/// Writes objects under one field manager.
#[derive(Clone)]
pub struct Writer {
    access: Arc<Access>,
    discovery: Arc<Discovery>,
    limits: Limits,
    field_manager: String,
}

/// The state that an object must have to be deleted; empty: any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// Why an object was not written.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteError {
    /// The server does not serve the resource in a known version.
    Absent {
        why: String,
    },
    NotFound {
        object: String,
    },
    AlreadyExists {
        object: String,
    },
    /// Somebody else has changed the object, or owns a field of it.
    Conflict(Conflict),
    Forbidden {
        object: String,
        why: String,
    },
    /// Any other response, or none.
    Failed {
        object: String,
        status: Option<u16>,
        why: String,
    },
}

/// A write that contradicts another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// `ConfigMap shop/web`
    pub object: String,
    /// The fields and who manages them; empty if the object as a whole has another version or uid.
    pub fields: Vec<FieldConflict>,
    /// As the server says it.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// `.data.key`
    pub field: String,
    pub manager: String,
}

impl Writer {
    pub(crate) fn new(
        access: &Arc<Access>,
        discovery: &Arc<Discovery>,
        limits: Limits,
        field_manager: &str,
    ) -> Self {
        let (access, discovery) = (Arc::clone(access), Arc::clone(discovery));
        Self { access, discovery, limits, field_manager: field_manager.to_owned() }
    }

    /// Reads an object at its latest version.
    pub async fn get<R: Resource>(&self, name: &ObjectName) -> Result<Value, WriteError> {
        let path = self.path::<R>(name).await?;
        self.send::<R>(name, Call::get(&path)).await
    }

    /// Creates an object; `object` names it in its metadata, or gives a `generateName`.
    pub async fn create<R: Resource>(&self, namespace: &str, object: Value) -> Result<Value, WriteError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let name = ObjectName::new(namespace, name);
        let version = self.version::<R>().await?;
        let uri = self.managed(&collection_path::<R>(version, namespace), false);
        let body = typed::<R>(version, object);
        self.send::<R>(&name, call(Method::POST, "create", &uri, JSON, &body)).await
    }

    /// Server-side apply: the fields of `object` are ours. A field of another manager is a conflict, unless `force`.
    pub async fn apply<R: Resource>(
        &self,
        name: &ObjectName,
        object: Value,
        force: bool,
    ) -> Result<Value, WriteError> {
        self.apply_at::<R>(name, "", object, force).await
    }

    /// Server-side apply of the status.
    pub async fn apply_status<R: Resource>(
        &self,
        name: &ObjectName,
        object: Value,
        force: bool,
    ) -> Result<Value, WriteError> {
        self.apply_at::<R>(name, "/status", object, force).await
    }

    async fn apply_at<R: Resource>(
        &self,
        name: &ObjectName,
        subresource: &str,
        object: Value,
        force: bool,
    ) -> Result<Value, WriteError> {
        let uri = self.managed(&(self.path::<R>(name).await? + subresource), force);
        let mut body = typed::<R>(self.version::<R>().await?, object);
        body["metadata"]["name"] = json!(name.name);
        self.send::<R>(name, call(Method::PATCH, "apply", &uri, APPLY, &body)).await
    }

    /// Replaces an object, if it still has the resource version that `object` has.
    pub async fn update<R: Resource>(&self, name: &ObjectName, object: Value) -> Result<Value, WriteError> {
        let has_version = object.pointer("/metadata/resourceVersion").is_some_and(Value::is_string);
        if !has_version {
            let why = "metadata.resourceVersion is missing: an update must say what it replaces".to_owned();
            return Err(WriteError::Failed { object: describe::<R>(name), status: None, why });
        }
        let uri = self.managed(&self.path::<R>(name).await?, false);
        let body = typed::<R>(self.version::<R>().await?, object);
        self.send::<R>(name, call(Method::PUT, "update", &uri, JSON, &body)).await
    }

    /// Changes fields: an array is a JSON patch (RFC 6902), anything else a merge patch (RFC 7386).
    pub async fn patch<R: Resource>(&self, name: &ObjectName, patch: Value) -> Result<Value, WriteError> {
        let uri = self.managed(&self.path::<R>(name).await?, false);
        let content_type = if patch.is_array() { JSON_PATCH } else { MERGE };
        self.send::<R>(name, call(Method::PATCH, "patch", &uri, content_type, &patch)).await
    }

    /// Deletes an object, if it is in the state of `preconditions`.
    pub async fn delete<R: Resource>(
        &self,
        name: &ObjectName,
        preconditions: &Preconditions,
    ) -> Result<(), WriteError> {
        let mut body = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if let Some(uid) = &preconditions.uid {
            body["preconditions"]["uid"] = json!(uid);
        }
        if let Some(version) = &preconditions.resource_version {
            body["preconditions"]["resourceVersion"] = json!(version);
        }
        let path = self.path::<R>(name).await?;
        self.send::<R>(name, call(Method::DELETE, "delete", &path, JSON, &body)).await.map(drop)
    }

    /// Creates an Event about an object, which is JSON with `apiVersion`, `kind` and metadata. `reason` is one word in
    /// CamelCase, `warning` its type.
    pub async fn event(
        &self,
        about: &Value,
        reason: &str,
        note: &str,
        warning: bool,
    ) -> Result<(), WriteError> {
        let text = |pointer: &str| about.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        // Events about objects without a namespace are in `default`.
        let namespace = Some(text("/metadata/namespace")).filter(|it| !it.is_empty()).unwrap_or("default");
        let name = ObjectName::new(namespace, text("/metadata/name"));
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"generateName": format!("{}-", name.name), "namespace": namespace},
            "eventTime": crate::lease::micro_time(jiff::Timestamp::now()),
            "reportingController": self.field_manager, "reportingInstance": self.field_manager,
            "action": reason, "reason": reason, "note": note,
            "type": if warning { "Warning" } else { "Normal" },
            "regarding": {
                "apiVersion": text("/apiVersion"), "kind": text("/kind"), "name": name.name,
                "namespace": text("/metadata/namespace"), "uid": text("/metadata/uid"),
                "resourceVersion": text("/metadata/resourceVersion"),
            },
        });
        let uri = self.managed(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"), false);
        let object = format!("Event about {} {name}", text("/kind"));
        self.exchange(object, call(Method::POST, "create", &uri, JSON, &event)).await.map(drop)
    }

    /// The version that the server serves.
    async fn version<R: Resource>(&self) -> Result<&'static str, WriteError> {
        if let (true, [version]) = (is_built_in::<R>(), R::VERSIONS) {
            return Ok(version);
        }
        let found = self.discovery.version_of::<R>(&self.access, SHARED_FOR, self.limit()).await;
        let found = found.map_err(|failure| WriteError::from_failure(R::KIND.to_owned(), failure))?;
        found.map_err(|why| WriteError::Absent { why })
    }

    async fn path<R: Resource>(&self, name: &ObjectName) -> Result<String, WriteError> {
        let version = self.version::<R>().await?;
        Ok(format!("{}/{}", collection_path::<R>(version, &name.namespace), name.name))
    }

    fn managed(&self, path: &str, force: bool) -> String {
        let mut uri = format!("{path}?fieldManager=");
        escape(&self.field_manager, &mut uri);
        if force {
            uri.push_str("&force=true");
        }
        uri
    }

    fn limit(&self) -> Duration {
        self.limits.response_timeout
    }

    async fn send<R: Resource>(&self, name: &ObjectName, call: Call) -> Result<Value, WriteError> {
        self.exchange(describe::<R>(name), call).await
    }

    async fn exchange(&self, object: String, call: Call) -> Result<Value, WriteError> {
        let bytes = match fetch(&self.access, call, self.limit()).await {
            Ok(bytes) => bytes,
            Err(failure) => return Err(WriteError::from_failure(object, failure)),
        };
        serde_json::from_slice(&bytes).map_err(|e| WriteError::Failed {
            object,
            status: None,
            why: format!("invalid response: {e}"),
        })
    }
}

fn describe<R: Resource>(name: &ObjectName) -> String {
    format!("{} {name}", R::KIND)
}

fn call(method: Method, verb: &'static str, uri: &str, content_type: &'static str, body: &Value) -> Call {
    Call { method, verb, body: Some((content_type, Bytes::from(body.to_string()))), ..Call::get(uri) }
}

/// The object with the `apiVersion` and `kind` of its resource.
fn typed<R: Resource>(version: &str, mut object: Value) -> Value {
    let api_version =
        if R::GROUP.is_empty() { version.to_owned() } else { format!("{}/{version}", R::GROUP) };
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(R::KIND);
    object
}

impl WriteError {
    fn from_failure(object: String, failure: Failure) -> Self {
        let Failure { why, details, .. } = failure;
        let details = details.as_deref();
        match failure.status.map(|status| status.as_u16()) {
            Some(404) => WriteError::NotFound { object },
            Some(403) => WriteError::Forbidden { object, why },
            Some(409) if details.is_some_and(|it| it.reason == "AlreadyExists") => {
                WriteError::AlreadyExists { object }
            }
            Some(409) => WriteError::Conflict(Conflict::new(object, details, why)),
            status => WriteError::Failed { object, status, why },
        }
    }
}

impl Conflict {
    fn new(object: String, status: Option<&Status>, why: String) -> Self {
        let details = status.and_then(|status| status.details.as_ref());
        let causes = details.map(|details| &*details.causes).unwrap_or_default();
        let conflicts = causes.iter().filter(|cause| cause.reason == "FieldManagerConflict");
        // `conflict with "kubectl" using apps/v1: .spec.replicas`
        let manager = |message: &str| message.split('"').nth(1).unwrap_or(message).to_owned();
        let fields = conflicts
            .map(|cause| FieldConflict { field: cause.field.clone(), manager: manager(&cause.message) })
            .collect();
        Self { object, fields, why }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.fields {
            [] => write!(f, "{}: {}", self.object, self.why),
            fields => {
                write!(f, "{}: ", self.object)?;
                for (n, it) in fields.iter().enumerate() {
                    let comma = if n == 0 { "" } else { ", " };
                    write!(f, "{comma}{} is managed by {}", it.field, it.manager)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Absent { why } => f.write_str(why),
            WriteError::NotFound { object } => write!(f, "{object}: not found"),
            WriteError::AlreadyExists { object } => write!(f, "{object}: already exists"),
            WriteError::Conflict(conflict) => write!(f, "conflict: {conflict}"),
            WriteError::Forbidden { object, why } | WriteError::Failed { object, why, .. } => {
                write!(f, "{object}: {why}")
            }
        }
    }
}

impl std::error::Error for WriteError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_fields_and_managers() {
        let status: Status = serde_json::from_value(json!({
            "reason": "Conflict", "code": 409, "message": "Apply failed with 1 conflict",
            "details": {"causes": [{
                "reason": "FieldManagerConflict", "field": ".data.a",
                "message": "conflict with \"kubectl\" using v1",
            }]},
        }))
        .unwrap();
        let why = "409 Conflict: Apply failed with 1 conflict".to_owned();
        let conflict = Conflict::new("ConfigMap shop/web".to_owned(), Some(&status), why.clone());
        assert_eq!(conflict.to_string(), "ConfigMap shop/web: .data.a is managed by kubectl");
        let whole = Conflict::new("ConfigMap shop/web".to_owned(), None, why);
        assert_eq!(whole.to_string(), "ConfigMap shop/web: 409 Conflict: Apply failed with 1 conflict");
    }
}
