//! A real API server: its watches are consistent with every census, under many changes.

use std::time::Duration;

use serde_json::json;
use testkit::cluster::{Api, Cluster as Server, Settings};
use testkit::peers::Peer;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::{LINES, collect_log, until};
use crate::object::Kind;
use crate::want::Want;
use crate::watch::{Source, register_metrics, start};
use kube_api::Limits;

const KINDS: [Kind; 4] = [Kind::Namespace, Kind::Service, Kind::EndpointSlice, Kind::Pod];
/// Number of Services and of slices; with the rest about five hundred objects are created, and many deleted.
const OBJECTS: usize = 200;

/// No server has this version.
const NEVER: (u32, u32) = (u32::MAX, 0);

/// Censuses far more often than by default, with the default timeouts.
const OFTEN: Duration = Duration::from_millis(100);

/// Creates one object of each kind but the namespaces, and deletes some.
fn change(api: &Api, namespace: &str, n: usize) {
    let meta = json!({"name": format!("n{n}"), "labels": {"kubernetes.io/service-name": format!("n{n}")}});
    let folder = |group: &str, plural: &str| format!("{group}/namespaces/{namespace}/{plural}");
    let services = folder("/api/v1", "services");
    let spec = json!({"clusterIP": "None", "ports": [{"port": 80}]});
    api.create(&services, &json!({"metadata": meta, "spec": spec})).unwrap();
    let slices = folder("/apis/discovery.k8s.io/v1", "endpointslices");
    let endpoints = json!([{"addresses": ["10.1.0.1"]}]);
    let slice = json!({"metadata": meta, "addressType": "IPv4", "endpoints": endpoints});
    api.create(&slices, &slice).unwrap();
    if !n.is_multiple_of(3) {
        api.delete(&format!("{services}/n{n}")).unwrap();
    }
    if n.is_multiple_of(5) {
        let containers = json!([{"name": "c", "image": "none"}]);
        let pods = folder("/api/v1", "pods");
        api.create(&pods, &json!({"metadata": meta, "spec": {"containers": containers}})).unwrap();
        api.delete(&format!("{slices}/n{n}")).unwrap();
        api.create("/api/v1/namespaces", &json!({"metadata": {"name": format!("{namespace}-{n}")}})).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_is_always_consistent() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    register_metrics();
    collect_log();
    let server = Server::alone().unwrap();
    is_always_consistent(&server, "paged", Limits::default()).await;
    is_always_consistent(&server, "streamed", Limits { pages_since: NEVER, ..Limits::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_that_does_not_stream() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    collect_log();
    let arguments = vec!["--feature-gates=WatchList=false".to_owned()];
    let settings = Settings { arguments, ..Settings::default() };
    let server = Server::alone_with(settings).unwrap();
    let source = Source::Kubeconfig { file: server.kubeconfig(), context: None };
    let want = Want { kinds: KINDS.to_vec(), ..Want::default() };
    let limits = Limits { pages_since: NEVER, ..Limits::default() };
    let cluster = start(&source, &want, Some(limits), &Handle::current()).unwrap();
    until("it is synced", || cluster.has_synced()).await;
    let expected = format!("{source}: listing services in pages");
    assert!(LINES.lock().unwrap().iter().any(|line| line.starts_with(&expected)));
}

async fn is_always_consistent(server: &Server, namespace: &str, limits: Limits) {
    println!("{namespace}");
    server.api().create("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).unwrap();
    let source = Source::Kubeconfig { file: server.kubeconfig(), context: None };
    let want = Want { kinds: KINDS.to_vec(), ..Want::default() };
    let cluster =
        start(&source, &want, Some(Limits { census_interval: OFTEN, ..limits }), &Handle::current()).unwrap();
    until("it is synced", || cluster.has_synced()).await;
    let requests = || {
        let host = server.url().replace("https://", "");
        let line = format!(
            "coredns_kubernetes_rest_client_requests_total{{code=\"200\",host=\"{host}\",method=\"GET\"}} "
        );
        let text = metrics::registry().encode();
        text.lines().find_map(|it| it.strip_prefix(&line)?.parse::<u32>().ok()).unwrap_or_default()
    };
    let before = requests();
    let known = cluster.snapshot().count(Kind::Service);
    block_in_place(|| (0..OBJECTS).for_each(|n| change(server.api(), namespace, n)));
    let after = requests();
    until("it was checked after all of it, too", || requests() > after + 20).await;
    assert!(after > before + 20, "{} checks", after - before);
    let kept = OBJECTS.div_ceil(3);
    until("all are indexed", || cluster.snapshot().count(Kind::Service) == known + kept).await;
    let lines = LINES.lock().unwrap();
    let mut about = lines.iter().filter(|line| line.starts_with(&source.to_string()));
    assert!(about.all(|line| line.contains(": watching ")), "{lines:#?}");
}
