//! Metrics.

use kube_api::message::AnnotatedObject;
use prost::Message;
use serde_json::json;

use super::server::{encode, service};
use super::{LIMITS, until, with_web};
use crate::message::ApiObject;
use crate::object::Kind;
use crate::want::Want;
use crate::watch::{Source, register_metrics};

#[tokio::test]
async fn metrics_count_events_requests_and_staleness() {
    register_metrics();
    let (mut server, cluster, stream) = with_web(LIMITS).await;
    let source = Source::Endpoint { url: server.url.clone(), tls: None };
    let want = Want { kinds: vec![Kind::Service, Kind::EndpointSlice], ..Want::default() };
    let (url, host) = (server.url.clone(), server.url.replace("http://", ""));
    let text = || metrics::registry().encode();
    let has = |line: &str| text().lines().any(|it| it == line);
    let events = |event: &str, n: u32| {
        format!("rhumb_cluster_events_total{{event=\"{event}\",kind=\"Service\",source=\"{url}\"}} {n}")
    };
    stream.deleted(&service("web", "10.0.0.1", 6));
    until("it is counted", || has(&events("delete", 1))).await;
    assert!(has(&events("apply", 1)) && has(&events("list", 1)) && has(&events("garbled", 0)), "{}", text());
    let requests = format!(
        "coredns_kubernetes_rest_client_requests_total{{code=\"200\",host=\"{host}\",method=\"GET\"}} 1"
    );
    assert!(has(&requests), "{}", text());
    // And one for the server's version, which responds 404.
    let durations = format!(
        "coredns_kubernetes_rest_client_request_duration_seconds_count{{host=\"{host}\",verb=\"GET\"}} 2"
    );
    assert!(has(&durations), "{}", text());
    let throttled = format!(
        "coredns_kubernetes_rest_client_rate_limiter_duration_seconds_count{{host=\"{host}\",verb=\"GET\"}} 2"
    );
    assert!(has(&throttled), "{}", text());
    drop(cluster);

    // From `watch`, since only such clusters are scraped.
    let cluster = crate::watch(&source, &want).unwrap();
    assert!(std::sync::Arc::ptr_eq(&cluster, &crate::watch(&source, &want).unwrap()));
    let stale = |text: &str| {
        let line = format!("rhumb_cluster_staleness_seconds{{source=\"{url}\"}} ");
        text.lines().find_map(|it| it.strip_prefix(&line)?.parse::<f64>().ok())
    };
    until("it is stale", || stale(&text()).is_some_and(|stale| stale > 0.0)).await;
    let (mut services, mut slices) = (server.request(&["watch"]).await, server.request(&["watch"]).await);
    if services.uri.contains("endpointslices") {
        std::mem::swap(&mut services, &mut slices);
    }
    let (services, slices) = (services.stream(), slices.stream());
    services.added(&service("web", "10.0.0.1", 3));
    services.list_ends("5");
    slices.list_ends("5");
    until("it is not stale", || stale(&text()) == Some(0.0)).await;
    let objects = format!("rhumb_cluster_objects{{kind=\"Service\",source=\"{url}\"}} 1");
    assert!(has(&objects), "{}", text());

    let slice = json!({
        "metadata": {"name": "web-1", "namespace": "shop", "resourceVersion": "7",
                     "labels": {"kubernetes.io/service-name": "web"}},
        "endpoints": [{"addresses": ["10.1.0.1"]}],
    });
    let mut bytes = encode(&ApiObject::deserialize(Kind::EndpointSlice, slice).unwrap());
    // Duplicate fields of a message are merged, so this adds the annotations that the slim message lacks.
    let at = ("endpoints.kubernetes.io/last-change-trigger-time", "2026-11-15T12:00:00.5Z");
    bytes.extend(AnnotatedObject::new("7", &[at]).encode_to_vec());
    slices.event("ADDED", bytes);
    let programmed =
        "coredns_kubernetes_dns_programming_duration_seconds_count{service_kind=\"cluster_ip\"} 1";
    until("it is counted", || has(programmed)).await;
}
