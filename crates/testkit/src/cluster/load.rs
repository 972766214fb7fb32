//! Puts many objects into a cluster, over several connections at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::objects::{Object, Resource};
use super::{Api, Method};
use crate::error::{Error, Result};

/// More than the processors here: half of the time is the API server's own waiting for etcd.
const CONNECTIONS: usize = 8;

/// How long a new kind may take to be served.
const ESTABLISHED: Duration = Duration::from_secs(60);

/// Creates all of them: namespaces first, the rest in any order. Stops at the first that is refused.
pub fn load(api: &Api, objects: &[Object]) -> Result<()> {
    let (namespaces, rest): (Vec<&Object>, Vec<&Object>) =
        objects.iter().partition(|object| object.resource == Resource::Namespace);
    in_parallel(api, &namespaces)?;
    in_parallel(api, &rest)
}

/// Creates one, with its status, and takes it half away if it is to be terminating.
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
    let deadline = Instant::now() + ESTABLISHED;
    for version in ["v1alpha1", "v1beta1"] {
        let path = format!("/apis/multicluster.x-k8s.io/{version}/serviceimports");
        while api.send(Method::GET, &path, None)?.status != 200 {
            if Instant::now() >= deadline {
                return Err(Error::new(format!("{path} is not served after {ESTABLISHED:?}")));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

/// As little of a definition as the API server takes; what stands in an import is for its reader to check.
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
            // Groups below k8s.io are reserved: without this word the API server would refuse this one.
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
                // After a failure the others have nothing to do any more.
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
