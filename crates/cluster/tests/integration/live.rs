//! A real API server, watched through the public API.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cluster::object::{External, ServiceType};
use cluster::{Cluster, Holder, Kind, Selector, Source, Tls, Want, set_logger, watch};
use serde_json::{Value, json};
use testkit::cluster::{Api, Cluster as Server};
use testkit::peers::Peer;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether a log line about this server contains the text.
fn logged(server: &Server, text: &str) -> bool {
    let source = server.kubeconfig().display().to_string();
    LINES.lock().unwrap().iter().any(|line| line.starts_with(&source) && line.contains(text))
}

/// None if the real servers are not built.
fn start() -> Option<Server> {
    if Peer::Etcd.for_test().is_none() || Peer::KubeApiserver.for_test().is_none() {
        return None;
    }
    set_logger(|_, line| LINES.lock().unwrap().push(line.to_owned()));
    Some(Server::alone().unwrap())
}

fn open(server: &Server, want: &Want) -> Arc<Cluster> {
    watch(&Source::Kubeconfig { file: server.kubeconfig(), context: None }, want).unwrap()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}\n{:#?}", LINES.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn want(kinds: &[Kind]) -> Want {
    Want {
        kinds: kinds.to_vec(),
        pod_names: true,
        zones: true,
        pod_labels: true,
        external: true,
        ..Want::default()
    }
}

const BUILT_IN: [Kind; 4] = [Kind::Namespace, Kind::Service, Kind::EndpointSlice, Kind::Pod];

fn namespace(api: &Api, name: &str) {
    let labels = json!({"team": "shop"});
    api.create("/api/v1/namespaces", &json!({"metadata": {"name": name, "labels": labels}})).unwrap();
}

fn service(api: &Api, name: &str, ip: &str) -> Value {
    let spec = json!({"clusterIP": ip, "ports": [{"name": "http", "port": 80}]});
    let object = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
    api.create("/api/v1/namespaces/shop/services", &object).unwrap()
}

fn is_at(cluster: &Cluster, ip: &str, what: impl Fn(Holder<'_>) -> bool) -> bool {
    cluster.snapshot().holders(ip.parse().unwrap()).any(what)
}

fn has_service(cluster: &Cluster, ip: &str) -> bool {
    is_at(cluster, ip, |holder| matches!(holder, Holder::Service(_)))
}

/// One server for all of them, since it takes seconds to start. The outage is last.
#[tokio::test]
async fn a_real_server() {
    let Some(mut server) = start() else { return };
    println!("a client certificate is accepted");
    a_client_certificate_is_accepted(&server).await;
    println!("objects are created, changed and deleted");
    objects_are_created_changed_and_deleted(&server).await;
    assert!(!logged(&server, "pages"));
    println!("ServiceImports appear with their CRD");
    service_imports_appear_with_their_crd(&server).await;
    println!("an outage keeps the data");
    an_outage_keeps_the_data(&mut server).await;
}

async fn objects_are_created_changed_and_deleted(server: &Server) {
    let api = server.api();
    let mut want = want(&BUILT_IN);
    want.selectors.push(Selector::parse("app=web").unwrap());
    want.namespace_selectors.push(Selector::parse("team=shop").unwrap());
    let cluster = open(server, &want);
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    assert_eq!(cluster.snapshot().namespace(b"default").map(|it| it.by(Some(0))), Some(false));

    namespace(api, "shop");
    until("the namespace is there", || cluster.snapshot().namespace(b"shop").is_some()).await;
    assert_eq!(cluster.snapshot().namespace(b"shop").map(|it| it.by(Some(0))), Some(true));

    service(api, "web", "10.96.7.7");
    until("the Service is there", || has_service(&cluster, "10.96.7.7")).await;
    let known =
        || cluster.snapshot().entry(b"\x03web\x04shop").and_then(|entry| entry.service.clone()).unwrap();
    assert!(known().selected.by(Some(0)));
    assert_eq!(
        (&*known().ports[0].name, &*known().ports[0].protocol, known().ports[0].number),
        ("http", "TCP", Some(80))
    );
    let path = "/api/v1/namespaces/shop/services/web";
    api.patch(path, &json!({"spec": {"type": "LoadBalancer", "externalIPs": ["192.0.2.9"]}})).unwrap();
    let ingress = json!([{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}]);
    api.patch(&format!("{path}/status"), &json!({"status": {"loadBalancer": {"ingress": ingress}}})).unwrap();
    until("it has a load balancer", || known().external.len() == 3).await;
    let expected = [
        External::Address("192.0.2.9".parse().unwrap()),
        External::Address("192.0.2.1".parse().unwrap()),
        External::Host("lb.example.com".into()),
    ];
    assert_eq!(*known().external, expected);
    service(api, "db", "None");
    let elsewhere =
        json!({"metadata": {"name": "out"}, "spec": {"type": "ExternalName", "externalName": "example.com"}});
    api.create("/api/v1/namespaces/shop/services", &elsewhere).unwrap();
    let kind = |labels: &[u8]| Some(cluster.snapshot().entry(labels)?.service.as_ref()?.kind.clone());
    until("all are there", || kind(b"\x03out\x04shop").is_some()).await;
    assert_eq!(kind(b"\x02db\x04shop"), Some(ServiceType::Headless));
    assert_eq!(kind(b"\x03out\x04shop"), Some(ServiceType::ExternalName("example.com".into())));

    let slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
    let slice = json!({
        "metadata": {"name": "db-1", "labels": {"kubernetes.io/service-name": "db"}},
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["10.1.0.1"], "hostname": "db-0", "zone": "EU-1a",
             "targetRef": {"kind": "Pod", "name": "db-0"}},
            {"addresses": ["10.1.0.2"], "conditions": {"ready": false}},
        ],
        "ports": [{"name": "sql", "port": 5432}],
    });
    api.create(slices, &slice).unwrap();
    let endpoints = || {
        let snapshot = cluster.snapshot();
        snapshot.entry(b"\x02db\x04shop").unwrap().slices.first().map(|slice| slice.endpoints.clone())
    };
    let ready = || endpoints().map_or(0, |endpoints| endpoints.len());
    until("the slice is there", || ready() == 1).await;
    let first = endpoints().unwrap();
    let endpoint = first.iter().next().unwrap();
    let texts = (endpoint.hostname(), endpoint.pod(), endpoint.zone());
    assert_eq!(
        (endpoint.address.to_string(), texts),
        ("10.1.0.1".into(), (Some("db-0"), Some("db-0"), Some("eu-1a")))
    );
    let both = json!([{"addresses": ["10.1.0.1"]}, {"addresses": ["10.1.0.2"]}]);
    api.patch(&format!("{slices}/db-1"), &json!({"endpoints": both})).unwrap();
    until("both are ready", || ready() == 2).await;

    let pods = "/api/v1/namespaces/shop/pods";
    let container = json!([{"name": "db", "image": "db"}]);
    let pod =
        json!({"metadata": {"name": "db-0", "labels": {"app": "db"}}, "spec": {"containers": container}});
    api.create(pods, &pod).unwrap();
    let running =
        json!({"status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]}});
    api.patch(&format!("{pods}/db-0/status"), &running).unwrap();
    let has_pod =
        || is_at(&cluster, "10.1.0.1", |holder| matches!(holder, Holder::Pod(pod) if pod.labels.len() == 1));
    until("the pod has its address", has_pod).await;
    api.patch(&format!("{pods}/db-0/status"), &json!({"status": {"phase": "Succeeded"}})).unwrap();
    until("the pod has ended", || !has_pod()).await;

    api.delete(path).unwrap();
    api.delete(&format!("{slices}/db-1")).unwrap();
    until("the Service is gone", || !has_service(&cluster, "10.96.7.7")).await;
    until("the slice is gone", || ready() == 0).await;
    assert!(cluster.staleness().is_zero());
}

async fn a_client_certificate_is_accepted(server: &Server) {
    let (certificate, key) = server.client_certificate();
    let tls = Tls { certificate, key, authority: server.ca_file() };
    let source = Source::Endpoint { url: server.url(), tls: Some(tls) };
    let cluster = watch(&source, &want(&[Kind::Service])).unwrap();
    until("it is synced", || cluster.has_synced()).await;
    until("the Service of the API itself is there", || cluster.snapshot().count(Kind::Service) > 0).await;
}

async fn an_outage_keeps_the_data(server: &mut Server) {
    LINES.lock().unwrap().clear();
    service(server.api(), "web", "10.96.7.7");
    let cluster = open(server, &want(&BUILT_IN));
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    let count = Kind::ALL.map(|kind| cluster.snapshot().count(kind));

    server.stop().unwrap();
    until("it is stale", || cluster.staleness() > Duration::from_secs(2)).await;
    assert!(cluster.has_synced() && has_service(&cluster, "10.96.7.7"));
    assert_eq!(Kind::ALL.map(|kind| cluster.snapshot().count(kind)), count);
    server.restart().unwrap();
    service(server.api(), "cart", "10.96.7.8");
    until("it has caught up", || has_service(&cluster, "10.96.7.8")).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    assert!(has_service(&cluster, "10.96.7.7"));
    let source = server.kubeconfig().display().to_string();
    let lines = LINES.lock().unwrap();
    let about = lines.iter().filter(|line| line.starts_with(&source) && line.contains(" services")).count();
    assert_eq!(about, 3, "watching, lost, watching again: {lines:#?}");
}

async fn service_imports_appear_with_their_crd(server: &Server) {
    let api = server.api();
    let cluster = open(server, &want(&[Kind::Service, Kind::ServiceImport]));
    until("Services are synced", || cluster.snapshot().has_synced(Kind::Service)).await;
    until("the line about them is there", || logged(server, "waiting for serviceimports")).await;
    assert!(!cluster.has_synced());

    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    let names = json!({"plural": "serviceimports", "singular": "serviceimport", "kind": "ServiceImport"});
    let definition = json!({
        "metadata": {
            "name": "serviceimports.multicluster.x-k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/mcs-api"},
        },
        "spec": {
            "group": "multicluster.x-k8s.io", "scope": "Namespaced", "names": names,
            "versions": [version("v1alpha1", false), version("v1beta1", true)],
        },
    });
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).unwrap();
    until("it is synced", || cluster.has_synced()).await;
    let imports = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceimports";
    let import = json!({
        "apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport",
        "metadata": {"name": "web"},
        "spec": {"type": "ClusterSetIP", "ips": ["10.9.0.1"], "ports": [{"name": "http", "protocol": "TCP", "port": 80}]},
    });
    api.create(imports, &import).unwrap();
    let has = |ip: &str| is_at(&cluster, ip, |holder| matches!(holder, Holder::Import(_)));
    until("the import is there", || has("10.9.0.1")).await;
    api.patch(&format!("{imports}/web"), &json!({"spec": {"ips": ["10.9.0.2"]}})).unwrap();
    until("the import has changed", || has("10.9.0.2") && !has("10.9.0.1")).await;
    api.delete(&format!("{imports}/web")).unwrap();
    until("the import is gone", || !has("10.9.0.2")).await;
}
