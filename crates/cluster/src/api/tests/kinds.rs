//! What is special about pods and ServiceImports.

use serde_json::json;

use super::server::{Server, pod};
use super::{LIMITS, logged, until, watch};
use crate::object::Kind;
use crate::snapshot::Holder;

#[tokio::test]
async fn pods_on_their_way_out() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Pod], LIMITS);
    let knows = |ip: &str| {
        let snapshot = cluster.snapshot();
        snapshot.holders(ip.parse().unwrap()).any(|holder| matches!(holder, Holder::Pod(_)))
    };
    let asked = server.asked(&["/api/v1/pods?", "fieldSelector=status.phase%21%3DSucceeded"]).await;
    let stream = asked.stream();
    stream.added(&pod("known", "10.1.0.1", 1, false));
    stream.added(&pod("going", "10.1.0.2", 2, true));
    stream.list_ends("3");
    until("it is synced", || cluster.has_synced()).await;
    assert!(knows("10.1.0.1") && !knows("10.1.0.2"));
    stream.modified(&pod("known", "10.1.0.1", 4, true));
    stream.error(410, "Expired");
    // In a list it stays, though the list alone would not make it known.
    let stream = server.asked(&["sendInitialEvents=true"]).await.stream();
    stream.added(&pod("known", "10.1.0.1", 4, true));
    stream.added(&pod("going", "10.1.0.2", 2, true));
    stream.added(&pod("last", "10.1.0.3", 5, false));
    stream.list_ends("6");
    until("the list has ended", || knows("10.1.0.3")).await;
    drop(stream);
    let stream = server.asked(&["resourceVersion=6"]).await.stream();
    assert!(knows("10.1.0.1") && !knows("10.1.0.2"));
    stream.deleted(&pod("known", "10.1.0.1", 7, true));
    until("it is gone", || !knows("10.1.0.1")).await;
}

#[tokio::test]
async fn service_imports_are_waited_for() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::ServiceImport], LIMITS);
    const GROUP: &str = "/apis/multicluster.x-k8s.io";
    for _ in 0..3 {
        let asked = server.asked(&[GROUP]).await;
        assert_eq!(asked.address, GROUP);
        asked.refuse(404, "not found");
    }
    server.asked(&[GROUP]).await.json(&json!({"versions": [{"version": "v1alpha1"}]}));
    // Another hand took it away.
    server.asked(&["/v1alpha1/serviceimports?"]).await.refuse(404, "not found");
    assert!(!cluster.has_synced() && cluster.staleness().is_zero(), "there is nothing that could be stale");
    server
        .asked(&[GROUP])
        .await
        .json(&json!({"versions": [{"version": "v1alpha1"}, {"version": "v1beta1"}]}));
    let asked = server.asked(&["/v1beta1/serviceimports?", "sendInitialEvents=true"]).await;
    assert_eq!(asked.accept, "application/json");
    let stream = asked.stream();
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
    server.asked(&["/v1beta1/serviceimports?", "resourceVersion=6"]).await;
    let waiting = "waiting for serviceimports: the server has no ServiceImports (multicluster.x-k8s.io)";
    assert_eq!(logged(&server).iter().filter(|line| *line == waiting).count(), 1);
}
