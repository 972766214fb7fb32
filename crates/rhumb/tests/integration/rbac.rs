//! The rights in deploy/kubernetes are enough, and nothing else is asked for: a real API server with RBAC says so
//! in its audit log.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use testkit::cluster::generate::{self, Size};
use testkit::cluster::marks::{Mark, Shown};
use testkit::cluster::objects::{list, text};
use testkit::cluster::{Cluster, Settings, deploy, load};
use testkit::peers::Peer;
use testkit::{DnsServer, Kind, ports};

const USER: &str = "system:serviceaccount:kube-system:rhumb";

const ZONE: &str = "cluster.local";
const SET: &str = "clusterset.local";

#[test]
fn the_shipped_rights_are_enough_and_all_that_is_used() {
    check(&[], "watch");
}

/// An API server that cannot begin a watch with a list is asked for the list first.
#[test]
fn the_shipped_rights_are_enough_for_lists() {
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
    // A right that is never used need not be given.
    for resource in ["namespaces", "services", "pods", "endpointslices", "serviceimports"] {
        let asked = used.iter().any(|right| right.resource == resource && right.verb == verb);
        assert!(asked, "no {verb} of {resource}: {used:?}");
    }
}

/// Until something new of each kind shows in the answers.
fn wait_for_a_mark(cluster: &Cluster, server: &DnsServer, number: u8, set: Option<&str>) {
    let shown = Shown { zone: ZONE, pods: true, set };
    Mark::set(cluster.api(), number)
        .and_then(|mark| mark.wait(server.addr(), shown, Duration::from_secs(30)))
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

/// Something done to a kind of object, or to a path of the API (without group then).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    verb: String,
    group: String,
    resource: String,
}

/// What the rules of the roles in these files give.
fn given(files: &[&str]) -> BTreeSet<Right> {
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
            let right = |(group, resource)| Right { verb: verb.clone(), group, resource };
            rights.extend(targets.iter().cloned().map(right));
        }
    }
    rights
}

/// Everything that was ever asked by the service account was given by these files, and was granted.
fn assert_within(cluster: &Cluster, files: &[&str]) -> BTreeSet<Right> {
    let given = given(files);
    let mut used = BTreeSet::new();
    let log = std::fs::read_to_string(cluster.audit_log()).expect("an audit log");
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("an audit event");
        if text(&event, "/user/username") != USER {
            continue;
        }
        let code = event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default();
        // 422 is no question of rights: that is how an API server says that it cannot list in a watch.
        assert!(code < 400 || code == 422, "not granted: {line}");
        let field = |name: &str| text(&event, name).to_owned();
        let resource = match event.get("objectRef") {
            Some(object) => text(object, "/resource").to_owned(),
            None => field("/requestURI"),
        };
        // Everybody may know it, by a role that every cluster has; and who may not is served as by an old server.
        if resource == "/version" {
            continue;
        }
        let right = Right { verb: field("/verb"), group: field("/objectRef/apiGroup"), resource };
        assert!(given.contains(&right), "{files:?} do not give {right:?}: {line}");
        used.insert(right);
    }
    println!("used of {files:?}: {used:?}");
    assert!(!used.is_empty(), "{USER} asked for nothing");
    used
}
