//! Applies the manifests in deploy/kubernetes to a test cluster.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::Method;
use super::objects::{collection, name_of, namespace_of, text};
use super::{Cluster, manifests};
use crate::error::{Error, Result};

/// The folder of the manifests.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes")
}

/// The objects in one manifest.
pub fn read(file: &str) -> Result<Vec<Value>> {
    manifests::read(&folder().join(file))
}

/// Like `kubectl apply --server-side --validate=strict`: an unknown field is an error. Returns the objects as
/// stored, with all defaults. Every kind in our files has a regular plural.
pub fn apply(cluster: &Cluster, file: &str) -> Result<Vec<Value>> {
    wait_for_kube_system(cluster)?;
    read(file)?.iter().map(|object| apply_object(cluster, file, object)).collect()
}

fn apply_object(cluster: &Cluster, file: &str, object: &Value) -> Result<Value> {
    let plural = text(object, "/kind").to_lowercase() + "s";
    let collection = collection(text(object, "/apiVersion"), &plural, namespace_of(object));
    let path = format!("{collection}/{}?fieldManager=test&fieldValidation=Strict", name_of(object));
    let response =
        cluster.api().send(Method::PATCH, &path, Some(("application/apply-patch+yaml", object)))?;
    match serde_json::from_slice(&response.body) {
        Ok(stored) if (200..300).contains(&response.status) => Ok(stored),
        _ => Err(Error::new(format!("{file}: {} {}", name_of(object), response.text()))),
    }
}

/// The API server creates this namespace itself, some time after it is ready.
fn wait_for_kube_system(cluster: &Cluster) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match cluster.api().get("/api/v1/namespaces/kube-system") {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// A token of the service account in rbac.yaml, requested like a kubelet's.
pub fn service_account_token(cluster: &Cluster) -> Result<String> {
    let request = json!({"spec": {"expirationSeconds": 3600}});
    let path = "/api/v1/namespaces/kube-system/serviceaccounts/rhumb/token";
    Ok(text(&cluster.api().create(path, &request)?, "/status/token").to_owned())
}
