//! The rights in deploy/kubernetes are enough, and nothing else is asked for: a real API server with RBAC says so
//! in its audit log.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::cluster::generate::{self, Size};
use testkit::cluster::marks::{Mark, Shown};
use testkit::cluster::objects::{collection, list, name_of, namespace_of, text};
use testkit::cluster::{Cluster, Settings, load, manifests};
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
    let cluster = Cluster::alone_with(Settings { audit: true, arguments }).expect("an API server");
    load::install_service_imports(cluster.api()).expect("ServiceImports");
    let objects = generate::cluster(1, Size { services: 30, pods: 20, imports: 10 });
    load::load(cluster.api(), &objects).unwrap_or_else(|error| panic!("{error}"));
    wait_for_kube_system(&cluster);

    apply(&cluster, "rbac.yaml");
    let kubeconfig = cluster.kubeconfig_with(&service_account_token(&cluster));
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

/// The API server takes the other files, too, and Rhumb their Corefile.
#[test]
fn the_other_manifests_are_good() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let cluster = Cluster::alone().unwrap();
    wait_for_kube_system(&cluster);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    assert_eq!(files.len(), 4, "{files:?}");
    for file in &files {
        apply(&cluster, file.file_name().unwrap().to_str().unwrap());
    }
    let map = cluster.api().get("/api/v1/namespaces/kube-system/configmaps/rhumb").unwrap();
    let corefile = tempfile::tempdir().unwrap();
    let path = corefile.path().join("Corefile");
    std::fs::write(&path, text(&map, "/data/Corefile")).unwrap();
    let output = std::process::Command::new(testkit::rhumb::binary().unwrap())
        .arg("check")
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes")
}

fn read(file: &str) -> Vec<Value> {
    manifests::read(&folder().join(file)).expect("a file of manifests")
}

/// Creates what a file holds. Every kind in them has a regular plural.
fn apply(cluster: &Cluster, file: &str) {
    for object in read(file) {
        let plural = text(&object, "/kind").to_lowercase() + "s";
        let path = collection(text(&object, "/apiVersion"), &plural, namespace_of(&object));
        cluster
            .api()
            .create(&path, &object)
            .unwrap_or_else(|error| panic!("{file} {}: {error}", name_of(&object)));
    }
}

/// The API server makes it itself, some time after it is ready.
fn wait_for_kube_system(cluster: &Cluster) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = cluster.api().get("/api/v1/namespaces/kube-system") {
        assert!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// As kubelets ask for it.
fn service_account_token(cluster: &Cluster) -> String {
    let request = json!({"spec": {"expirationSeconds": 3600}});
    let path = "/api/v1/namespaces/kube-system/serviceaccounts/rhumb/token";
    text(&cluster.api().create(path, &request).expect("a token"), "/status/token").to_owned()
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
    let roles =
        files.iter().flat_map(|file| read(file)).filter(|object| text(object, "/kind") == "ClusterRole");
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
        let right = Right { verb: field("/verb"), group: field("/objectRef/apiGroup"), resource };
        assert!(given.contains(&right), "{files:?} do not give {right:?}: {line}");
        used.insert(right);
    }
    println!("used of {files:?}: {used:?}");
    assert!(!used.is_empty(), "{USER} asked for nothing");
    used
}
