//! The permissions in deploy/kubernetes suffice and are all used, as the audit log of a real API server with RBAC shows.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use testkit::cluster::generate::{self, Size};
use testkit::cluster::marks::{Mark, ServedZones};
use testkit::cluster::objects::{list, text};
use testkit::cluster::{Cluster, Settings, deploy, load};
use testkit::peers::Peer;
use testkit::{DnsServer, Kind, ports};

const USER: &str = "system:serviceaccount:kube-system:rhumb";

const ZONE: &str = "cluster.local";
const SET: &str = "clusterset.local";

#[test]
fn shipped_permissions_suffice_and_are_all_used() {
    check(&[], "watch");
}

/// With an API server that cannot stream lists.
#[test]
fn shipped_permissions_suffice_for_lists() {
    check(&["--feature-gates=WatchList=false"], "list");
}

fn check(arguments: &[&str], verb: &str) {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let cluster = Cluster::alone_with(Settings { audit: true, arguments, ..Settings::default() })
        .expect("an API server");
    load::install_service_imports(cluster.api()).expect("ServiceImports");
    let objects = generate::cluster(1, Size { services: 30, pods: 20, imports: 10 });
    load::load(cluster.api(), &objects).unwrap_or_else(|error| panic!("{error}"));

    apply(&cluster, "rbac.yaml");
    let token = deploy::service_account_token(&cluster).unwrap_or_else(|error| panic!("{error}"));
    let kubeconfig = cluster.kubeconfig_with(&token);
    let server = start(&kubeconfig, ZONE, "pods verified");
    wait_for_a_mark(&cluster, &server, 1, None);
    drop(server);
    assert_within(&cluster, &["rbac.yaml"]);

    apply(&cluster, "rbac-multicluster.yaml");
    let options =
        "pods verified\nptr verified\nmulticluster clusterset.local\nlabels tier\nnamespace_labels team";
    let server = start(&kubeconfig, "cluster.local clusterset.local", options);
    wait_for_a_mark(&cluster, &server, 2, Some(SET));
    drop(server);
    let used = assert_within(&cluster, &["rbac.yaml", "rbac-multicluster.yaml"]);
    // An unused permission need not be granted.
    for resource in ["namespaces", "services", "pods", "endpointslices", "serviceimports"] {
        let asked = used.iter().any(|right| right.resource == resource && right.verb == verb);
        assert!(asked, "no {verb} of {resource}: {used:?}");
    }
}

/// Waits until a new object of each kind is in the answers.
fn wait_for_a_mark(cluster: &Cluster, server: &DnsServer, number: u8, clusterset: Option<&str>) {
    let served = ServedZones { zone: ZONE, pods: true, clusterset };
    Mark::create(cluster.api(), number)
        .and_then(|mark| mark.wait(server.addr(), served, Duration::from_secs(30)))
        .unwrap_or_else(|error| panic!("{error}\n{}", server.output()));
}

fn apply(cluster: &Cluster, file: &str) {
    deploy::apply(cluster, file).unwrap_or_else(|error| panic!("{error}"));
}

fn start(kubeconfig: &str, zones: &str, options: &str) -> DnsServer {
    let (port, ready) = (ports::free().expect("a port"), ports::free().expect("a port"));
    let corefile = format!(
        ".:{port} {{\nbind 127.0.0.1\nready 127.0.0.1:{ready}\nkubernetes {zones} {{\nkubeconfig kubeconfig\n{options}\n}}\n}}\n"
    );
    let server = DnsServer::start_with_files(Kind::Rhumb, &corefile, port, &[("kubeconfig", kubeconfig)])
        .unwrap_or_else(|error| panic!("{error}"));
    server.wait_until_ready(ready).unwrap_or_else(|error| panic!("{error}"));
    server
}

/// A verb on a resource, or on an API path (without group then).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    verb: String,
    group: String,
    resource: String,
}

/// The permissions of the roles in these files.
fn granted(files: &[&str]) -> BTreeSet<Permission> {
    let mut rights = BTreeSet::new();
    let roles = files
        .iter()
        .flat_map(|file| deploy::read(file).expect("manifests"))
        .filter(|object| text(object, "/kind") == "ClusterRole");
    let words = |rule: &Value, field: &str| -> Vec<String> {
        list(rule, field).iter().map(|word| text(word, "").to_owned()).collect()
    };
    for rule in roles.flat_map(|role| list(&role, "/rules").to_vec()) {
        let mut targets: Vec<(String, String)> =
            words(&rule, "/nonResourceURLs").into_iter().map(|path| (String::new(), path)).collect();
        for group in words(&rule, "/apiGroups") {
            targets.extend(words(&rule, "/resources").into_iter().map(|resource| (group.clone(), resource)));
        }
        for verb in words(&rule, "/verbs") {
            let right = |(group, resource)| Permission { verb: verb.clone(), group, resource };
            rights.extend(targets.iter().cloned().map(right));
        }
    }
    rights
}

/// Checks that these files permit every request of the service account, and that each was allowed.
fn assert_within(cluster: &Cluster, files: &[&str]) -> BTreeSet<Permission> {
    let granted = granted(files);
    let mut used = BTreeSet::new();
    let log = std::fs::read_to_string(cluster.audit_log()).expect("an audit log");
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("an audit event");
        if text(&event, "/user/username") != USER {
            continue;
        }
        let code = event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default();
        // 422 is not about permissions: an API server that cannot stream lists answers so.
        assert!(code < 400 || code == 422, "not granted: {line}");
        let field = |name: &str| text(&event, name).to_owned();
        let resource = match event.get("objectRef") {
            Some(object) => text(object, "/resource").to_owned(),
            None => field("/requestURI"),
        };
        // Every cluster has a role that permits it; without it, Rhumb treats the server as an old one.
        if resource == "/version" {
            continue;
        }
        let right = Permission { verb: field("/verb"), group: field("/objectRef/apiGroup"), resource };
        assert!(granted.contains(&right), "{files:?} do not give {right:?}: {line}");
        used.insert(right);
    }
    println!("used of {files:?}: {used:?}");
    assert!(!used.is_empty(), "{USER} asked for nothing");
    used
}
