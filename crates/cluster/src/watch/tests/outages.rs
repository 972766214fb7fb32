//! Watches that end or fail, and how they resume.

use std::time::Duration;

use bytes::Bytes;

use super::server::{Server, Stream, encode, service};
use super::{LIMITS, STREAMED, WEB, ip, logged, until, until_at, watch, with_web};
use crate::object::Kind;
use kube_api::Limits;

#[tokio::test]
async fn a_watch_that_ends_resumes_from_its_last_version() {
    let (mut server, cluster, stream) = with_web(LIMITS).await;
    drop(stream);
    let stream = server.request(&["watch=true", "resourceVersion=5"]).await.stream();
    stream.modified(&service("web", "10.0.0.2", 8));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    drop(stream);
    let stream = server.request(&["resourceVersion=8"]).await.stream();
    stream.bookmark("20");
    drop(stream);
    server.request(&["resourceVersion=20"]).await;
    assert!(cluster.staleness().is_zero(), "the end of a watch is normal");
    assert_eq!(logged(&server), ["watching services"]);
}

#[tokio::test]
async fn a_dropped_cluster_closes_its_connections() {
    let (_server, cluster, stream) = with_web(LIMITS).await;
    drop(cluster);
    assert!(stream.closed_by_client().await);
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let limits = Limits { watch_silence: Duration::from_millis(50), ..LIMITS };
    let (mut server, cluster, stream) = with_web(limits).await;
    let request = server.request(&["watch=true", "resourceVersion=5"]).await;
    assert!(stream.closed_by_client().await);
    let stream = request.stream();
    stream.modified(&service("web", "10.0.0.2", 9));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    server.request(&["watch=true", "resourceVersion=9"]).await;
}

#[tokio::test]
async fn garbage_ends_the_watch() {
    // Whether the watch resumes from the same version.
    type Send = fn(&Stream);
    let garbage: [(bool, Send); 4] = [
        // No valid length.
        (true, |stream| stream.bytes(Bytes::from_static(b"HTTP/1.1 502 Bad Gateway"))),
        // A frame that is no event.
        (false, |stream| stream.bytes(Bytes::from_static(b"\0\0\0\x04\xff\xff\xff\xff"))),
        (false, |stream| stream.event("ADDED", vec![0x0a, 0x7f, 0x01])),
        (false, |stream| stream.event("SHUFFLED", encode(&service("web", "10.0.0.9", 6)))),
    ];
    for (same_version, send) in garbage {
        let (mut server, cluster, stream) = with_web(LIMITS).await;
        send(&stream);
        let request = server.request(if same_version { &["resourceVersion=5"] } else { STREAMED }).await;
        assert!(!cluster.staleness().is_zero());
        assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
        let stream = request.stream();
        stream.added(&service("web", "10.0.0.2", 7));
        stream.list_ends("8");
        until_at(&cluster, "web", Some("[10.0.0.2]")).await;
        until("it is connected", || cluster.staleness().is_zero()).await;
        let lines = logged(&server);
        assert!(lines[1].starts_with("watch of services lost, serving the last known data: "), "{lines:?}");
        assert!(lines[2].starts_with("watching services again, after "), "{lines:?}");
    }
}

#[tokio::test]
async fn an_outage_is_logged_once_and_keeps_the_data() {
    let (mut server, cluster, stream) = with_web(LIMITS).await;
    stream.break_connection();
    for _ in 0..5 {
        server.request(&["resourceVersion=5"]).await.refuse(503, "etcd has no leader");
    }
    until("it is stale", || cluster.staleness() > Duration::from_millis(20)).await;
    assert!(cluster.has_synced() && ip(&cluster, "web").as_deref() == Some(WEB));
    let _stream = server.request(&["resourceVersion=5"]).await.stream();
    until("it is connected", || cluster.staleness().is_zero()).await;
    let lines = logged(&server);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].starts_with("watch of services lost, serving the last known data: "), "{lines:?}");
    assert!(lines[2].starts_with("watching services again, after "), "{lines:?}");
}

/// A restarted server has no history and refuses the version.
#[tokio::test]
async fn an_outage_that_outlasts_the_history_is_logged_once() {
    let limits = Limits { stable_after: Duration::from_secs(60), ..LIMITS };
    let (mut server, cluster, stream) = with_web(limits).await;
    stream.break_connection();
    for _ in 0..3 {
        server.request(&["resourceVersion=5"]).await.refuse(503, "etcd has no leader");
    }
    server.request(&["resourceVersion=5"]).await.stream().error(410, "Expired");
    let stream = server.request(STREAMED).await.stream();
    stream.added(&service("web", "10.0.0.2", 7));
    stream.list_ends("8");
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    let lines = logged(&server);
    assert_eq!(lines.len(), 3, "watching, lost, watching again: {lines:?}");
}

#[tokio::test]
async fn a_forbidden_watch_is_retried() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    for _ in 0..3 {
        server.request(STREAMED).await.refuse(403, "services is forbidden");
    }
    assert!(!cluster.has_synced());
    assert_eq!(logged(&server), ["cannot watch services, retrying: 403 Forbidden: services is forbidden"]);
    server.request(STREAMED).await.stream().list_ends("1");
    until("it is synced", || cluster.has_synced()).await;
}
