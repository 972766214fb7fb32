//! Which version of ServiceImports a server has; it may have none, and get it later.

use std::time::Duration;

use hyper::http::StatusCode;
use serde::Deserialize;
use tokio::time::timeout;

use super::access::Access;
use super::decode::Encoding;
use super::request::{Failure, IMPORTS, Resource, send};
use crate::object::Kind;

/// The versions that can be read here, best first.
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

pub(super) async fn imports(access: &Access, patience: Duration) -> Result<Resource, Failure> {
    let answer = send(access, IMPORTS, Encoding::Json.of_list(), patience).await?;
    let bytes =
        timeout(patience, answer.body.collect_bytes()).await.map_err(|_| format!("{IMPORTS}: no end"))?;
    let bytes = bytes.map_err(|e| e.to_string())?;
    let group: Group = serde_json::from_slice(&bytes).map_err(|e| format!("{IMPORTS}: {e}"))?;
    let has = |version: &str| group.versions.iter().any(|it| it.version == version);
    match VERSIONS.into_iter().find(|version| has(version)) {
        Some(version) => Ok(Resource::new(Kind::ServiceImport, version)),
        None => {
            let why = format!("{IMPORTS}: has none of the versions {}", VERSIONS.join(", "));
            Err(Failure { status: Some(StatusCode::NOT_FOUND), why, later: None })
        }
    }
}
