//! Lists: streamed, paged, and repeated.

use std::time::Duration;

use super::server::{Server, service};
use super::{LIMITS, STREAMED, WEB, ip, logged, until, until_at, watch, with_web};
use crate::object::Kind;
use kube_api::Limits;

#[tokio::test]
async fn a_streamed_list_becomes_a_watch() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let request = server.request(STREAMED).await;
    assert_eq!(request.accept, "application/vnd.kubernetes.protobuf;stream=watch,application/json");
    assert!(
        request.uri.contains("resourceVersionMatch=NotOlderThan")
            && !request.uri.contains("resourceVersion=")
    );
    let stream = request.stream();
    stream.added(&service("web", "10.0.0.1", 3));
    until_at(&cluster, "web", Some(WEB)).await;
    stream.bookmark("4");
    assert!(!cluster.has_synced() && !cluster.staleness().is_zero(), "the list has not ended");
    stream.list_ends("5");
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;

    stream.modified(&service("web", "10.0.0.2", 6));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    stream.added(&service("db", "None", 7));
    until_at(&cluster, "db", Some("Headless")).await;
    stream.deleted(&service("web", "10.0.0.2", 8));
    until_at(&cluster, "web", None).await;
    assert_eq!(logged(&server), ["watching services"]);
}

/// Servers that serve pages from their cache are listed in pages, at the latest version and not at any.
#[tokio::test]
async fn a_server_with_cached_pages_is_listed_in_pages() {
    for (minor, pages) in [("34", true), ("36+", true), ("33", false)] {
        let mut server = Server::start_at(Some(minor)).await;
        let cluster = watch(&server, &[Kind::Service], LIMITS);
        if !pages {
            server.request(STREAMED).await;
            continue;
        }
        let request = server.request(&["/api/v1/services?limit=500"]).await;
        assert!(!request.uri.contains("resourceVersion"), "{}", request.uri);
        request.page(&[service("web", "10.0.0.1", 3)], "5", "more");
        // The next page is requested while this one is decoded.
        let next = server.request(&["/api/v1/services?limit=500&continue=more"]).await;
        until_at(&cluster, "web", Some(WEB)).await;
        assert!(!cluster.has_synced());
        next.page(&[service("db", "None", 4)], "5", "");
        server.request(&["watch=true", "resourceVersion=5"]).await.stream();
        until("it is synced", || cluster.has_synced()).await;
        until("it is connected", || cluster.staleness().is_zero()).await;
        assert_eq!(ip(&cluster, "db").as_deref(), Some("Headless"));
        assert_eq!(logged(&server), ["watching services"]);
    }
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_listed_in_pages() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    server.request(STREAMED).await.refuse(422, "sendInitialEvents is forbidden");
    let request = server.request(&["/api/v1/services?limit=500&resourceVersion=0"]).await;
    assert_eq!(request.accept, "application/vnd.kubernetes.protobuf,application/json");
    request.page(&[service("web", "10.0.0.1", 3)], "5", "more");
    let request = server.request(&["/api/v1/services?limit=500&continue=more"]).await;
    until_at(&cluster, "web", Some(WEB)).await;
    assert!(!cluster.has_synced());
    request.page(&[service("db", "None", 4)], "5", "");
    let stream = server.request(&["watch=true", "resourceVersion=5"]).await.stream();
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    assert_eq!(ip(&cluster, "db").as_deref(), Some("Headless"));

    // From now on lists are not streamed.
    stream.error(410, "Expired");
    let request = server.request(&["/api/v1/services?limit=500"]).await;
    assert!(!request.uri.contains("resourceVersion"), "a cache could be older than the known state");
    request.page(&[service("db", "None", 4)], "9", "");
    server.request(&["watch=true", "resourceVersion=9"]).await;
    until_at(&cluster, "web", None).await;
    let pages = "listing services in pages instead of streaming: 422 Unprocessable Entity: sendInitialEvents is forbidden";
    assert_eq!(logged(&server), [pages, "watching services"]);
}

#[tokio::test]
async fn an_expired_continue_token_leads_to_a_list_without_pages() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    server.request(STREAMED).await.refuse(400, "no");
    server.request(&["limit=500"]).await.page(&[service("old", "10.0.0.9", 3)], "5", "more");
    server.request(&["continue=more"]).await.refuse(410, "too old");
    let request = server.request(&["/api/v1/services?"]).await;
    assert!(!request.uri.contains("limit"), "{}", request.uri);
    request.page(&[service("web", "10.0.0.1", 6)], "7", "");
    server.request(&["watch=true", "resourceVersion=7"]).await;
    until("it is synced", || cluster.has_synced()).await;
    assert_eq!((ip(&cluster, "web").as_deref(), ip(&cluster, "old")), (Some(WEB), None));
}

#[tokio::test]
async fn a_streamed_list_that_does_not_complete_is_requested_in_pages() {
    let limits = Limits { list_event_timeout: Duration::from_millis(50), ..LIMITS };
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], limits);
    // Pages fail too, so streaming need not be the cause.
    let silent = server.request(STREAMED).await.stream();
    server.request(&["limit=500"]).await.refuse(503, "no");
    drop(silent);
    let stream = server.request(STREAMED).await.stream();
    stream.added(&service("web", "10.0.0.1", 3));
    server.request(&["limit=500"]).await.page(&[service("web", "10.0.0.1", 3)], "5", "");
    assert!(stream.closed_by_client().await);
    server.request(&["watch=true", "resourceVersion=5"]).await;
    until("it is synced", || cluster.has_synced()).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
}

#[tokio::test]
async fn nothing_disappears_during_a_relist() {
    // Every way in which a server refuses a version.
    let refusals = [
        None,
        Some((410, "too old resource version: 6 (20)")),
        Some((504, "Too large resource version: 6, current: 2")),
        Some((400, "invalid resource version")),
    ];
    for refusal in refusals {
        let (mut server, cluster, stream) = with_web(LIMITS).await;
        stream.added(&service("db", "None", 6));
        until_at(&cluster, "db", Some("Headless")).await;
        match refusal {
            None => stream.error(410, "Expired"),
            Some((status, message)) => {
                drop(stream);
                server.request(&["resourceVersion=6"]).await.refuse(status, message);
            }
        }
        let request = server.request(STREAMED).await;
        let stream = request.stream();
        stream.added(&service("new", "10.0.0.3", 20));
        until_at(&cluster, "new", Some("[10.0.0.3]")).await;
        assert_eq!(
            (ip(&cluster, "web").as_deref(), ip(&cluster, "db").as_deref()),
            (Some(WEB), Some("Headless"))
        );
        stream.added(&service("db", "None", 6));
        stream.list_ends("21");
        until_at(&cluster, "web", None).await;
        assert_eq!(ip(&cluster, "db").as_deref(), Some("Headless"));
        assert!(cluster.staleness().is_zero() && cluster.has_synced());
    }
}

#[tokio::test]
async fn an_aborted_list_removes_nothing() {
    let (mut server, cluster, stream) = with_web(LIMITS).await;
    stream.error(410, "Expired");
    let stream = server.request(STREAMED).await.stream();
    stream.added(&service("other", "10.0.0.4", 20));
    until_at(&cluster, "other", Some("[10.0.0.4]")).await;
    stream.break_connection();
    let stream = server.request(STREAMED).await.stream();
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
    assert!(!cluster.staleness().is_zero());
    stream.added(&service("web", "10.0.0.1", 3));
    stream.list_ends("22");
    until_at(&cluster, "other", None).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
}
