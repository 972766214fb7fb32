//! A consumer outside `cluster`, beside the DNS index, at a real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cluster::resources::Service;
use cluster::{Kind, Source, Want, watch};
use kube_api::{
    ApiServer, Availability, ClusterId, Consumer, Encoding, Lease, LeaseSettings, Login, ObjectMeta,
    ObjectName, Occasion, Preconditions, RawObject, Resource, Scope, Subscriber, Version, WriteError, Writer,
};
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::cluster::{Cluster as Server, Settings};
use testkit::peers::Peer;

/// None if the real servers are not built.
pub(super) fn start() -> Option<Server> {
    if Peer::Etcd.for_test().is_none() || Peer::KubeApiserver.for_test().is_none() {
        return None;
    }
    kube_api::set_logger(|_, line| println!("{line}"));
    Some(Server::alone_with(Settings { audit: true, ..Settings::default() }).unwrap())
}

pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{what}");
}

/// A custom resource in two versions.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Widget {
    api_version: String,
    metadata: ObjectMeta,
}

impl Resource for Widget {
    const GROUP: &'static str = "example.com";
    const VERSIONS: &'static [&'static str] = &["v1", "v1alpha1"];
    const KIND: &'static str = "Widget";
    const PLURAL: &'static str = "widgets";
    const ENCODING: Encoding = Encoding::Json;

    fn decode(object: &RawObject) -> Result<Self, String> {
        object.json()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

struct ConfigMap(ObjectMeta);

impl Resource for ConfigMap {
    const GROUP: &'static str = "";
    const VERSIONS: &'static [&'static str] = &["v1"];
    const KIND: &'static str = "ConfigMap";
    const PLURAL: &'static str = "configmaps";
    const ENCODING: Encoding = Encoding::Protobuf;

    fn decode(_: &RawObject) -> Result<Self, String> {
        Err("only written".to_owned())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub services: BTreeSet<String>,
    /// Complete lists of Services.
    pub lists: usize,
    /// Name to apiVersion.
    widgets: BTreeMap<String, String>,
    widgets_are: &'static str,
}

/// Collects what it sees and publishes it once per batch.
#[derive(Default)]
pub(super) struct Collector {
    seen: Seen,
    published: Arc<Mutex<Seen>>,
}

impl Collector {
    pub(super) fn new(published: &Arc<Mutex<Seen>>) -> Self {
        Self { seen: Seen::default(), published: Arc::clone(published) }
    }
}

impl Subscriber for Collector {
    fn publish(&mut self, _: tokio::time::Instant) -> Option<tokio::time::Instant> {
        *self.published.lock().unwrap() = self.seen.clone();
        None
    }
}

impl Consumer<Service> for Collector {
    fn list_begins(&mut self) {
        self.seen.services.clear();
    }

    fn apply(&mut self, object: &Service, _: Version, _: Occasion) {
        self.seen.services.insert(object.metadata.name.clone());
    }

    fn delete(&mut self, object: &Service) {
        self.seen.services.remove(&object.metadata.name);
    }

    fn list_ends(&mut self) {
        self.seen.lists += 1;
    }
}

impl Consumer<Widget> for Collector {
    fn list_begins(&mut self) {
        self.seen.widgets.clear();
    }

    fn apply(&mut self, object: &Widget, _: Version, _: Occasion) {
        self.seen.widgets.insert(object.metadata.name.clone(), object.api_version.clone());
    }

    fn delete(&mut self, object: &Widget) {
        self.seen.widgets.remove(&object.metadata.name);
    }

    fn list_ends(&mut self) {}

    fn availability(&mut self, availability: &Availability) {
        self.seen.widgets_are = availability.name();
    }
}

const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/// An account with a kubeconfig of its own, which reads its token from a file beside it.
pub(super) fn account(server: &Server, folder: &std::path::Path, token: &str) -> std::path::PathBuf {
    let api = server.api();
    let account = json!({"metadata": {"name": "watcher"}});
    api.create("/api/v1/namespaces/default/serviceaccounts", &account).unwrap();
    api.create(ROLE, &json!({"metadata": {"name": "watcher"}, "rules": rules(true)})).unwrap();
    let binding = json!({
        "metadata": {"name": "watcher"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "watcher"},
        "subjects": [{"kind": "ServiceAccount", "name": "watcher", "namespace": "default"}],
    });
    api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).unwrap();
    let (token_file, file) = (folder.join("token"), folder.join("kubeconfig"));
    std::fs::write(&token_file, token).unwrap();
    std::fs::write(&file, server.kubeconfig_with_file(&token_file)).unwrap();
    file
}

fn rules(widgets: bool) -> Value {
    let mut rules = vec![
        json!({"apiGroups": [""], "resources": ["services"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}),
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]}),
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}),
    ];
    if widgets {
        rules.push(
            json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["list", "watch"]}),
        );
    }
    json!(rules)
}

pub(super) fn service(server: &Server, name: &str) {
    let object = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    server.api().create("/api/v1/namespaces/default/services", &object).unwrap();
}

fn definition(versions: &[(&str, bool)]) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = |(name, storage): &(&str, bool)| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": versions.iter().map(version).collect::<Vec<_>>(),
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_beside_the_dns_index() {
    let Some(server) = start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let hour = std::time::SystemTime::now() + Duration::from_secs(3600);
    let file = account(&server, folder.path(), "");
    let token = server.signer("default", "watcher").unwrap().token(hour).unwrap();
    std::fs::write(folder.path().join("token"), token).unwrap();
    service(&server, "web");

    let source = Source::Kubeconfig { file: file.clone(), context: None };
    let index = watch(&source, &Want { kinds: vec![Kind::Service], ..Want::default() }).unwrap();
    until("the index is synced", || index.has_synced() && index.stale().is_none()).await;
    let id = ClusterId::new(&source.to_string());
    let shared = ApiServer::open(&id, Login::Kubeconfig { file, context: None }).unwrap();
    let published = Arc::new(Mutex::new(Seen::default()));
    let collector = Arc::clone(&published);
    let subscribing = shared.subscribe(move |_| Collector::new(&collector));
    let subscription =
        subscribing.to::<Service>(Scope::all()).to::<Widget>(Scope::namespace("default")).start();
    let seen = || published.lock().unwrap().clone();
    until("the late consumer has all Services", || {
        seen().lists == 1 && ["kubernetes", "web"].iter().all(|name| seen().services.contains(*name))
    })
    .await;
    until("widgets are absent", || seen().widgets_are == "absent").await;
    service(&server, "cart");
    until("both see a new Service", || {
        seen().services.contains("cart") && index.snapshot().count(Kind::Service) == 3
    })
    .await;
    until("one watch serves both", || open_watches(&server, "services") == 1).await;

    widgets(&server, &seen).await;
    assert!(index.stale().is_none() && seen().lists == 1, "widgets concern only themselves");
    writes(&shared.writer("rhumb-test"), &shared.writer("other")).await;
    lease(&shared).await;
    drop(subscription);
    until("the index still watches", || {
        open_watches(&server, "services") == 1 && open_watches(&server, "widgets") == 0
    })
    .await;
    assert!(index.stale().is_none());
}

/// The definition appears late, permission is lost while another version appears, and comes back.
async fn widgets(server: &Server, seen: &impl Fn() -> Seen) {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.api().create(DEFINITIONS, &definition(&[("v1alpha1", true)])).unwrap();
    let created = Instant::now();
    until("widgets are synced", || seen().widgets_are == "synced").await;
    println!("after {:?}", created.elapsed());
    let widget = json!({"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": {"name": "one"}});
    server.api().create("/apis/example.com/v1alpha1/namespaces/default/widgets", &widget).unwrap();
    let version = |seen: Seen| seen.widgets.get("one").cloned().unwrap_or_default();
    until("a widget is there", || version(seen()) == "example.com/v1alpha1").await;

    server.api().patch(&format!("{ROLE}/watcher"), &json!({"rules": rules(false)})).unwrap();
    let both = definition(&[("v1alpha1", true), ("v1", false)]);
    server
        .api()
        .patch(&format!("{DEFINITIONS}/widgets.example.com"), &json!({"spec": both["spec"]}))
        .unwrap();
    until("widgets are forbidden", || seen().widgets_are == "forbidden").await;
    assert_eq!(version(seen()), "example.com/v1alpha1", "known objects stay");
    server.api().patch(&format!("{ROLE}/watcher"), &json!({"rules": rules(true)})).unwrap();
    until("widgets are synced in the new version", || {
        seen().widgets_are == "synced" && version(seen()) == "example.com/v1"
    })
    .await;
}

async fn writes(ours: &Writer, other: &Writer) {
    let name = ObjectName::new("default", "settings");
    let data = |value: &str| json!({"data": {"key": value}});
    let applied = ours.apply::<ConfigMap>(&name, data("ours"), false).await.unwrap();
    let conflict = other.apply::<ConfigMap>(&name, data("other"), false).await.unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "conflict: ConfigMap default/settings: .data.key is managed by rhumb-test"
    );
    other.apply::<ConfigMap>(&name, data("other"), true).await.unwrap();
    // An update of what was read before that.
    let outdated = ours.update::<ConfigMap>(&name, applied.clone()).await.unwrap_err();
    assert!(matches!(&outdated, WriteError::Conflict(it) if it.fields.is_empty()), "{outdated}");
    let current = ours.get::<ConfigMap>(&name).await.unwrap();
    assert_eq!(current["data"]["key"], "other");
    ours.patch::<ConfigMap>(&name, json!([{"op": "replace", "path": "/data/key", "value": "patched"}]))
        .await
        .unwrap();
    ours.event(&current, "Patched", "the key was replaced", false).await.unwrap();
    let wrong = Preconditions { uid: Some("another".to_owned()), resource_version: None };
    let refused = ours.delete::<ConfigMap>(&name, &wrong).await.unwrap_err();
    assert!(matches!(refused, WriteError::Conflict(_)), "{refused}");
    let uid = current["metadata"]["uid"].as_str().map(str::to_owned);
    ours.delete::<ConfigMap>(&name, &Preconditions { uid, resource_version: None }).await.unwrap();
    let gone = ours.get::<ConfigMap>(&name).await.unwrap_err();
    assert_eq!(gone, WriteError::NotFound { object: "ConfigMap default/settings".to_owned() });
}

async fn lease(server: &ApiServer) {
    let candidate = |identity: &str| {
        let settings = LeaseSettings {
            name: ObjectName::new("default", "leader"),
            identity: identity.to_owned(),
            duration: Duration::from_secs(2),
            renew_deadline: Duration::from_secs(1),
        };
        Lease::new(server.writer(identity), settings)
    };
    let (mut a, mut b) = (candidate("a"), candidate("b"));
    assert_eq!(a.acquire().await.unwrap().map(|it| it.term), Some(0));
    assert_eq!(b.acquire().await.unwrap(), None);
    assert_eq!(a.acquire().await.unwrap().map(|it| it.term), Some(0), "renewed");
    // It stops renewing.
    let deadline = Instant::now() + Duration::from_secs(30);
    let won = loop {
        assert!(Instant::now() < deadline, "the lease never expires");
        if let Some(won) = b.acquire().await.unwrap() {
            break won;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(a.holding(), None, "it must have noticed before the other won");
    assert_eq!((won.term, a.acquire().await.unwrap()), (1, None));
    b.release().await.unwrap();
    assert_eq!(b.holding(), None);
    assert_eq!(a.acquire().await.unwrap().map(|it| it.term), Some(2), "won again");
    a.release().await.unwrap();
}

/// Watches that this process has open, from the audit log.
pub(super) fn open_watches(server: &Server, resource: &str) -> usize {
    let mut open = BTreeSet::new();
    for event in audit(server) {
        let is_ours = event["userAgent"].as_str().is_some_and(|agent| agent.starts_with("rhumb/"));
        if is_ours && event["verb"] == "watch" && event["objectRef"]["resource"] == resource {
            let id = event["auditID"].to_string();
            let _ = if event["stage"] == "ResponseComplete" { open.remove(&id) } else { open.insert(id) };
        }
    }
    open.len()
}

pub(super) fn audit(server: &Server) -> Vec<Value> {
    let text = std::fs::read_to_string(server.audit_log()).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
