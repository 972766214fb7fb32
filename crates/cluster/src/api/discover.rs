//! Discovers the API version of ServiceImports at a server, which may install the CRD later.

use std::time::Duration;

use hyper::http::StatusCode;
use serde::Deserialize;
use tokio::time::timeout;

use super::access::Access;
use super::decode::Encoding;
use super::request::{Failure, IMPORT_GROUP, Resource, send};
use crate::object::Kind;

/// Supported versions, preferred first.
const VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

pub(super) async fn service_imports(access: &Access, limit: Duration) -> Result<Resource, Failure> {
    let response = send(access, IMPORT_GROUP, Encoding::Json.list_accept(), limit).await?;
    let bytes = timeout(limit, response.body.collect_bytes())
        .await
        .map_err(|_| format!("{IMPORT_GROUP}: response incomplete after {} s", limit.as_secs()))?;
    let bytes = bytes.map_err(|e| e.to_string())?;
    let group: Group = serde_json::from_slice(&bytes).map_err(|e| format!("{IMPORT_GROUP}: {e}"))?;
    let has = |version: &str| group.versions.iter().any(|it| it.version == version);
    match VERSIONS.into_iter().find(|version| has(version)) {
        Some(version) => Ok(Resource::new(Kind::ServiceImport, version)),
        None => {
            let why = format!("{IMPORT_GROUP}: serves none of the versions {}", VERSIONS.join(", "));
            Err(Failure { status: Some(StatusCode::NOT_FOUND), why, retry_after: None })
        }
    }
}
