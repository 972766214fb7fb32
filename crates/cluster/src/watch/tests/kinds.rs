//! Pods that terminate, and ServiceImports whose CRD is missing.

use serde_json::json;

use super::server::{Server, pod};
use super::{LIMITS, logged, until, watch};
use crate::object::Kind;
use crate::snapshot::Holder;

#[tokio::test]
async fn terminating_pods() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Pod], LIMITS);
    let has_pod = |ip: &str| {
        let snapshot = cluster.snapshot();
        snapshot.holders(ip.parse().unwrap()).any(|holder| matches!(holder, Holder::Pod(_)))
    };
    let request = server.request(&["/api/v1/pods?", "fieldSelector=status.phase%21%3DSucceeded"]).await;
    let stream = request.stream();
    stream.added(&pod("known", "10.1.0.1", 1, false));
    stream.added(&pod("going", "10.1.0.2", 2, true));
    stream.list_ends("3");
    until("it is synced", || cluster.has_synced()).await;
    assert!(has_pod("10.1.0.1") && !has_pod("10.1.0.2"));
    stream.modified(&pod("known", "10.1.0.1", 4, true));
    stream.error(410, "Expired");
    // A list keeps it if it is indexed, but does not add it.
    let stream = server.request(&["sendInitialEvents=true"]).await.stream();
    stream.added(&pod("known", "10.1.0.1", 4, true));
    stream.added(&pod("going", "10.1.0.2", 2, true));
    stream.added(&pod("last", "10.1.0.3", 5, false));
    stream.list_ends("6");
    until("the list has ended", || has_pod("10.1.0.3")).await;
    drop(stream);
    let stream = server.request(&["resourceVersion=6"]).await.stream();
    assert!(has_pod("10.1.0.1") && !has_pod("10.1.0.2"));
    stream.deleted(&pod("known", "10.1.0.1", 7, true));
    until("it is gone", || !has_pod("10.1.0.1")).await;
}

#[tokio::test]
async fn service_imports_are_waited_for() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::ServiceImport], LIMITS);
    const GROUP: &str = "/apis/multicluster.x-k8s.io";
    for _ in 0..3 {
        let request = server.request(&[GROUP]).await;
        assert_eq!(request.uri, GROUP);
        request.refuse(404, "not found");
    }
    server.request(&[GROUP]).await.json(&json!({"versions": [{"version": "v1alpha1"}]}));
    // The CRD was deleted again.
    server.request(&["/v1alpha1/serviceimports?"]).await.refuse(404, "not found");
    assert!(!cluster.has_synced() && cluster.staleness().is_zero(), "an absent kind is not stale");
    server
        .request(&[GROUP])
        .await
        .json(&json!({"versions": [{"version": "v1alpha1"}, {"version": "v1beta1"}]}));
    let request = server.request(&["/v1beta1/serviceimports?", "sendInitialEvents=true"]).await;
    assert_eq!(request.accept, "application/json");
    let stream = request.stream();
    stream.json(
        "ADDED",
        &json!({
            "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "3"},
            "spec": {"type": "ClusterSetIP", "ips": ["10.9.0.1"], "ports": [{"port": 80}]},
        }),
    );
    stream.json(
        "BOOKMARK",
        &json!({
            "metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}},
        }),
    );
    until("it is synced", || cluster.has_synced()).await;
    let imported = |name: &[u8]| cluster.snapshot().entry(name).is_some_and(|entry| entry.import.is_some());
    assert!(imported(b"\x03web\x04shop"));
    stream
        .json("DELETED", &json!({"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "6"}}));
    until("it is gone", || !imported(b"\x03web\x04shop")).await;
    drop(stream);
    server.request(&["/v1beta1/serviceimports?", "resourceVersion=6"]).await;
    let waiting = "waiting for serviceimports: the server has no ServiceImports (multicluster.x-k8s.io)";
    assert_eq!(logged(&server).iter().filter(|line| *line == waiting).count(), 1);
}
