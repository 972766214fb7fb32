//! The specification of the names, and the schema for cluster sets, once more: on a real API server.
//!
//! What the API server refuses to take, such as a Service with an address and no ports, cannot be there; questions
//! about it are left out.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};
use testkit::cluster::{Cluster, Etcd, Settings, load, manifests};
use testkit::peers::Peer;

use super::{external_names, multicluster, specification};

/// Addresses of Services in the tables are from these.
const RANGES: &str = "--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112";

thread_local! {
    /// Set while the tables of this thread are to be checked on API servers.
    static SERVERS: RefCell<Option<Servers>> = const { RefCell::new(None) };
}

struct Servers {
    etcd: Arc<Etcd>,
    /// By the manifests they were filled with.
    loaded: HashMap<String, Loaded>,
}

struct Loaded {
    cluster: Cluster,
    /// `name.namespace.` of what was refused.
    refused: Vec<String>,
}

#[test]
fn specification() {
    if Peer::Etcd.for_test().is_none() || Peer::KubeApiserver.for_test().is_none() {
        return;
    }
    let etcd = Arc::new(Etcd::start().unwrap());
    SERVERS.set(Some(Servers { etcd, loaded: HashMap::new() }));
    specification::section_2_1_case();
    specification::section_2_2_schema_version();
    specification::section_2_3_services_with_a_cluster_ip();
    specification::section_2_4_headless_services();
    specification::denials();
    external_names::section_2_5_external_names();
    multicluster::clusterset_ips();
    multicluster::headless();
    multicluster::ports_need_an_underscore();
    multicluster::local_names_come_first();
    SERVERS.set(None);
}

/// Where a cluster with these objects is to be read from, if not from a folder, and which names it cannot have.
pub(super) fn source(text: &str) -> Option<(String, Vec<String>)> {
    SERVERS.with_borrow_mut(|servers| {
        let servers = servers.as_mut()?;
        if !servers.loaded.contains_key(text) {
            let name = format!("tables-{}", servers.loaded.len());
            servers.loaded.insert(text.to_owned(), Loaded::new(&servers.etcd, &name, text));
        }
        let loaded = servers.loaded.get(text)?;
        let source = format!("kubeconfig {}", loaded.cluster.kubeconfig().display());
        Some((source, loaded.refused.clone()))
    })
}

impl Loaded {
    fn new(etcd: &Arc<Etcd>, name: &str, text: &str) -> Self {
        let settings = Settings { arguments: vec![RANGES.to_owned()], ..Settings::default() };
        let cluster = Cluster::start_with(etcd, name, settings).unwrap();
        load::install_service_imports(cluster.api()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        let objects = manifests::read(file.path()).unwrap();
        let namespaces: BTreeSet<&str> = objects.iter().map(namespace_of).collect();
        for namespace in namespaces {
            // Some are there from the start, and some are in the manifests as well.
            let _ = cluster.api().create("/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }));
        }
        let mut refused = Vec::new();
        for mut object in objects {
            let (namespace, name) =
                (namespace_of(&object).to_owned(), text_at(&object, "/metadata/name").to_owned());
            let Some(path) = path(&object, &namespace) else { continue };
            complete(&mut object);
            if cluster.api().create(&path, &object).is_err() {
                refused.push(format!("{name}.{namespace}."));
            }
        }
        assert!(refused.len() <= 2, "the API server refused {refused:?}");
        Self { cluster, refused }
    }
}

/// What people leave to the API server in their manifests, and it leaves to them.
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
