//! Creates many objects in a cluster over several connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::objects::{Object, Resource};
use super::{Api, Method};
use crate::error::{Error, Result};

/// More than there are CPUs: half of the time the API server waits for etcd.
const CONNECTIONS: usize = 8;

/// Time limit until a new kind is served.
const ESTABLISH_TIMEOUT: Duration = Duration::from_secs(60);

/// Creates all objects: namespaces first, the rest in any order. Stops at the first error.
pub fn load(api: &Api, objects: &[Object]) -> Result<()> {
    let (namespaces, rest): (Vec<&Object>, Vec<&Object>) =
        objects.iter().partition(|object| object.resource == Resource::Namespace);
    in_parallel(api, &namespaces)?;
    in_parallel(api, &rest)
}

/// Creates one object with its status, and deletes it if it is to be terminating (a finalizer keeps it).
pub fn create(api: &Api, object: &Object) -> Result<()> {
    api.create(&object.resource.collection(&object.namespace), &object.body)?;
    if let Some(status) = &object.status {
        api.patch(&format!("{}/status", object.path()), &json!({ "status": status }))?;
    }
    if object.terminating {
        api.delete(&object.path())?;
    }
    Ok(())
}

/// Installs the definition of ServiceImports in both versions, and waits until they can be created.
pub fn install_service_imports(api: &Api) -> Result<()> {
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &service_import_definition())?;
    let deadline = Instant::now() + ESTABLISH_TIMEOUT;
    for version in ["v1alpha1", "v1beta1"] {
        let path = format!("/apis/multicluster.x-k8s.io/{version}/serviceimports");
        while api.send(Method::GET, &path, None)?.status != 200 {
            if Instant::now() >= deadline {
                return Err(Error::new(format!("{path} is not served after {ESTABLISH_TIMEOUT:?}")));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

/// A minimal definition that does not validate the fields of an import.
fn service_import_definition() -> Value {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name,
            "served": true,
            "storage": storage,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            }},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "serviceimports.multicluster.x-k8s.io",
            // Groups below k8s.io are reserved: without this annotation the API server refuses them.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": "multicluster.x-k8s.io",
            "scope": "Namespaced",
            "names": {"kind": "ServiceImport", "plural": "serviceimports", "singular": "serviceimport"},
            "versions": [version("v1alpha1", false), version("v1beta1", true)],
        },
    })
}

fn in_parallel(api: &Api, objects: &[&Object]) -> Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let lane = || -> Result<()> {
            let api = api.clone();
            while let Some(object) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                // A failure stops the other connections.
                create(&api, object).inspect_err(|_| next.store(objects.len(), Ordering::Relaxed))?;
            }
            Ok(())
        };
        let lanes: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(lane)).collect();
        lanes
            .into_iter()
            .try_for_each(|lane| lane.join().unwrap_or_else(|_| Err(Error::new("a connection panicked"))))
    })
}
