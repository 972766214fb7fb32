//! Runs the tables of the DNS specification and of the cluster set schema again, on a real API server.
//!
//! Queries for objects that the API server rejects, such as a Service with an address and no ports, are skipped.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use testkit::cluster::{Cluster, Settings, load, manifests};
use testkit::peers::Peer;

use super::{external_names, multicluster, specification};

/// Addresses of Services in the tables are from these.
const RANGES: &str = "--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112";

thread_local! {
    /// Set while this thread checks its tables on an API server.
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// One server for all tables; its objects are replaced for each set of manifests.
struct Server {
    cluster: Cluster,
    loaded: Option<Loaded>,
}

/// The objects on the server.
struct Loaded {
    manifests: String,
    /// A new file for each set of manifests, so that each is a different source.
    kubeconfig: NamedTempFile,
    paths: Vec<String>,
    /// `name.namespace.` of rejected objects.
    refused: Vec<String>,
}

#[test]
fn specification() {
    if Peer::Etcd.for_test().is_none() || Peer::KubeApiserver.for_test().is_none() {
        return;
    }
    let settings = Settings { arguments: vec![RANGES.to_owned()], ..Settings::default() };
    let cluster = Cluster::alone_with(settings).unwrap();
    load::install_service_imports(cluster.api()).unwrap();
    SERVER.set(Some(Server { cluster, loaded: None }));
    specification::section_2_1_case();
    specification::section_2_2_schema_version();
    specification::section_2_3_services_with_a_cluster_ip();
    specification::section_2_4_headless_services();
    specification::denials();
    external_names::section_2_5_external_names();
    multicluster::clusterset_ips();
    multicluster::headless();
    multicluster::ports_need_an_underscore();
    multicluster::local_names_take_precedence();
    SERVER.set(None);
}

/// The option that reads these objects from the API server, if one is set, and the names of rejected objects.
pub(super) fn source(manifests: &str) -> Option<(String, Vec<String>)> {
    SERVER.with_borrow_mut(|server| {
        let Server { cluster, loaded } = server.as_mut()?;
        if loaded.as_ref().is_none_or(|loaded| loaded.manifests != manifests) {
            for path in loaded.take().iter().flat_map(|before| &before.paths) {
                cluster.api().delete(path).unwrap();
            }
            *loaded = Some(Loaded::new(cluster, manifests));
        }
        let loaded = loaded.as_ref()?;
        let source = format!("kubeconfig {}", loaded.kubeconfig.path().display());
        Some((source, loaded.refused.clone()))
    })
}

impl Loaded {
    fn new(cluster: &Cluster, manifests: &str) -> Self {
        let kubeconfig = NamedTempFile::new().unwrap();
        std::fs::write(&kubeconfig, cluster.kubeconfig_with(cluster.token())).unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(&file, manifests).unwrap();
        let objects = manifests::read(file.path()).unwrap();
        let namespaces: BTreeSet<&str> = objects.iter().map(namespace_of).collect();
        for namespace in namespaces {
            // Some exist already, and some are in the manifests as well.
            let _ = cluster.api().create("/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }));
        }
        let (mut paths, mut refused) = (Vec::new(), Vec::new());
        for mut object in objects {
            let (namespace, name) =
                (namespace_of(&object).to_owned(), text_at(&object, "/metadata/name").to_owned());
            let Some(path) = path(&object, &namespace) else { continue };
            complete(&mut object);
            match cluster.api().create(&path, &object) {
                Ok(_) => paths.push(format!("{path}/{name}")),
                Err(_) => refused.push(format!("{name}.{namespace}.")),
            }
        }
        assert!(refused.len() <= 2, "the API server refused {refused:?}");
        Self { manifests: manifests.to_owned(), kubeconfig, paths, refused }
    }
}

/// Adds fields that manifests may omit and the API server requires.
fn complete(object: &mut Value) {
    let families = object.pointer("/spec/clusterIPs").and_then(Value::as_array).map_or(0, Vec::len);
    if families == 2 {
        object["spec"]["ipFamilyPolicy"] = json!("RequireDualStack");
    }
}

fn path(object: &Value, namespace: &str) -> Option<String> {
    let plural = match text_at(object, "/kind") {
        "Service" => "services",
        "EndpointSlice" => "endpointslices",
        "ServiceImport" => "serviceimports",
        _ => return None,
    };
    let version = match text_at(object, "/apiVersion") {
        "v1" => "/api/v1".to_owned(),
        version => format!("/apis/{version}"),
    };
    Some(format!("{version}/namespaces/{namespace}/{plural}"))
}

fn namespace_of(object: &Value) -> &str {
    match (text_at(object, "/kind"), text_at(object, "/metadata/namespace")) {
        ("Namespace", _) => text_at(object, "/metadata/name"),
        (_, "") => "default",
        (_, namespace) => namespace,
    }
}

fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
