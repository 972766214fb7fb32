//! Servers, and proxies in front of them, that respond with JSON though protobuf was requested.

use std::time::Duration;

use serde_json::{Value, json};

use super::server::{CHECK, Server};
use super::{LIMITS, STREAMED, WEB, ip, logged, until, until_at, watch};
use crate::object::Kind;
use kube_api::Limits;

/// `shop/NAME` with many fields that are ignored.
fn service(name: &str, ip: &str, version: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": name, "namespace": "shop", "resourceVersion": version, "uid": "b7",
            "creationTimestamp": "2026-11-15T12:00:00Z", "labels": {"app": name}, "annotations": null,
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"clusterIP": ip, "clusterIPs": [ip], "type": "ClusterIP", "sessionAffinity": "None",
                 "ports": [{"port": 80, "protocol": "TCP", "targetPort": "http"}], "selector": {"app": name}},
        "status": {"loadBalancer": {}},
    })
}

fn bookmark(version: &str, ends_list: bool) -> Value {
    let annotations = if ends_list { json!({"k8s.io/initial-events-end": "true"}) } else { json!({}) };
    json!({"kind": "Service", "metadata": {"resourceVersion": version, "annotations": annotations}})
}

fn list(items: &[Value], version: &str, next: &str) -> Value {
    json!({
        "kind": "ServiceList", "apiVersion": "v1", "items": items,
        "metadata": {"resourceVersion": version, "continue": next, "remainingItemCount": items.len()},
    })
}

#[tokio::test]
async fn streamed_lists_watches_and_checks_in_json() {
    let mut server = Server::start().await;
    let limits = Limits {
        census_interval: Duration::from_millis(20),
        delivery_grace: Duration::from_millis(50),
        ..LIMITS
    };
    let cluster = watch(&server, &[Kind::Service], limits);
    let stream = server.request(STREAMED).await.json_stream();
    stream.json("ADDED", &service("web", "10.0.0.1", "3"));
    stream.json("BOOKMARK", &bookmark("5", true));
    until("it is synced", || cluster.has_synced()).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
    stream.json("MODIFIED", &service("web", "10.0.0.2", "6"));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    stream.json("ADDED", &service("db", "None", "7"));
    until_at(&cluster, "db", Some("Headless")).await;
    stream.json("DELETED", &service("web", "10.0.0.2", "8"));
    until_at(&cluster, "web", None).await;
    for _ in 0..2 {
        server.request(&[CHECK]).await.json(&list(&[service("db", "None", "7")], "8", ""));
    }
    // A Content-Type applies to one response: another server may send the next one.
    drop(stream);
    let census = list(&[service("db", "None", "7")], "8", "");
    let request = loop {
        match server.request(&[]).await {
            check if check.uri.ends_with(CHECK) => check.json(&census),
            request => break request,
        }
    };
    assert!(request.uri.contains("resourceVersion=8"), "{}", request.uri);
    request.stream().modified(&super::service("db", "10.0.0.9", 9));
    until_at(&cluster, "db", Some("[10.0.0.9]")).await;
    assert_eq!(logged(&server), ["watching services"]);
}

#[tokio::test]
async fn pages_and_refusals_in_json() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let request = server.request(STREAMED).await;
    let status = json!({"kind": "Status", "code": 422, "message": "sendInitialEvents is forbidden"});
    request.json_refusal(422, &status);
    server.request(&["limit=500"]).await.json(&list(&[service("web", "10.0.0.1", "3")], "5", "more"));
    server.request(&["continue=more"]).await.json(&list(&[service("db", "None", "4")], "5", ""));
    let stream = server.request(&["watch=true", "resourceVersion=5"]).await.json_stream();
    until("it is synced", || cluster.has_synced()).await;
    assert_eq!(
        (ip(&cluster, "web").as_deref(), ip(&cluster, "db").as_deref()),
        (Some(WEB), Some("Headless"))
    );
    stream.json("ERROR", &json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}));
    server.request(&["limit=500"]).await.json(&list(&[service("db", "None", "4")], "9", ""));
    until_at(&cluster, "web", None).await;
    let pages = "listing services in pages instead of streaming: 422 Unprocessable Entity: sendInitialEvents is forbidden";
    assert_eq!(logged(&server), [pages, "watching services"]);
}

/// Every kind has its fields in both encodings.
#[tokio::test]
async fn every_kind_in_json() {
    for (kind, address, object) in [
        (
            Kind::Namespace,
            "/api/v1/namespaces?",
            json!({"metadata": {"name": "shop", "resourceVersion": "1"}}),
        ),
        (Kind::Service, "/api/v1/services?", service("web", "10.0.0.1", "1")),
        (
            Kind::EndpointSlice,
            "/apis/discovery.k8s.io/v1/endpointslices?",
            json!({
                "metadata": {"name": "web-1", "namespace": "shop", "resourceVersion": "1",
                             "labels": {"kubernetes.io/service-name": "web"}},
                "addressType": "IPv4", "ports": null,
                "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {"ready": true}, "nodeName": "n"}],
            }),
        ),
        (
            Kind::Pod,
            "/api/v1/pods?",
            json!({
                "metadata": {"name": "web-0", "namespace": "shop", "resourceVersion": "1"},
                "spec": {"containers": []},
                "status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]},
            }),
        ),
    ] {
        let mut server = Server::start().await;
        let cluster = watch(&server, &[kind], LIMITS);
        let stream = server.request(&[address]).await.json_stream();
        stream.json("ADDED", &object);
        stream.json("BOOKMARK", &bookmark("5", true));
        until("it is synced", || cluster.has_synced()).await;
        assert_eq!(cluster.snapshot().count(kind), 1, "{kind:?}");
    }
}
