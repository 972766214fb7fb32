//! How everything becomes known, and known again.

use std::time::Duration;

use super::server::{Server, service};
use super::{LIMITS, STREAMED, WEB, ip, logged, until, until_at, watch, with_web};
use crate::api::Limits;
use crate::object::Kind;

#[tokio::test]
async fn a_streamed_list_becomes_a_watch() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let asked = server.asked(STREAMED).await;
    assert_eq!(asked.accept, "application/vnd.kubernetes.protobuf;stream=watch,application/json");
    assert!(
        asked.address.contains("resourceVersionMatch=NotOlderThan")
            && !asked.address.contains("resourceVersion=")
    );
    let stream = asked.stream();
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

/// A server that answers pages from its cache has less work with them; what it has now is asked for, not anything.
#[tokio::test]
async fn a_server_with_pages_at_hand_is_asked_for_them() {
    for (minor, pages) in [("34", true), ("36+", true), ("33", false)] {
        let mut server = Server::start_at(Some(minor)).await;
        let cluster = watch(&server, &[Kind::Service], LIMITS);
        if !pages {
            server.asked(STREAMED).await;
            continue;
        }
        let asked = server.asked(&["/api/v1/services?limit=500"]).await;
        assert!(!asked.address.contains("resourceVersion"), "{}", asked.address);
        asked.page(&[service("web", "10.0.0.1", 3)], "5", "more");
        // The next page is asked for while this one is read.
        let next = server.asked(&["/api/v1/services?limit=500&continue=more"]).await;
        until_at(&cluster, "web", Some(WEB)).await;
        assert!(!cluster.has_synced());
        next.page(&[service("db", "None", 4)], "5", "");
        server.asked(&["watch=true", "resourceVersion=5"]).await.stream();
        until("it is synced", || cluster.has_synced()).await;
        until("it is connected", || cluster.staleness().is_zero()).await;
        assert_eq!(ip(&cluster, "db").as_deref(), Some("Headless"));
        assert_eq!(logged(&server), ["watching services"]);
    }
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_asked_for_pages() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    server.asked(STREAMED).await.refuse(422, "sendInitialEvents is forbidden");
    let asked = server.asked(&["/api/v1/services?limit=500&resourceVersion=0"]).await;
    assert_eq!(asked.accept, "application/vnd.kubernetes.protobuf,application/json");
    asked.page(&[service("web", "10.0.0.1", 3)], "5", "more");
    let asked = server.asked(&["/api/v1/services?limit=500&continue=more"]).await;
    until_at(&cluster, "web", Some(WEB)).await;
    assert!(!cluster.has_synced());
    asked.page(&[service("db", "None", 4)], "5", "");
    let stream = server.asked(&["watch=true", "resourceVersion=5"]).await.stream();
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    assert_eq!(ip(&cluster, "db").as_deref(), Some("Headless"));

    // From now on it is not asked to stream.
    stream.error(410, "Expired");
    let asked = server.asked(&["/api/v1/services?limit=500"]).await;
    assert!(!asked.address.contains("resourceVersion"), "a cache could be older than what we have");
    asked.page(&[service("db", "None", 4)], "9", "");
    server.asked(&["watch=true", "resourceVersion=9"]).await;
    until_at(&cluster, "web", None).await;
    let pages = "lists of services come in pages: 422 Unprocessable Entity: sendInitialEvents is forbidden";
    assert_eq!(logged(&server), [pages, "watching services"]);
}

#[tokio::test]
async fn pages_that_are_forgotten_are_asked_for_in_one_piece() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    server.asked(STREAMED).await.refuse(400, "no");
    server.asked(&["limit=500"]).await.page(&[service("old", "10.0.0.9", 3)], "5", "more");
    server.asked(&["continue=more"]).await.refuse(410, "too old");
    let asked = server.asked(&["/api/v1/services?"]).await;
    assert!(!asked.address.contains("limit"), "{}", asked.address);
    asked.page(&[service("web", "10.0.0.1", 6)], "7", "");
    server.asked(&["watch=true", "resourceVersion=7"]).await;
    until("it is synced", || cluster.has_synced()).await;
    assert_eq!((ip(&cluster, "web").as_deref(), ip(&cluster, "old")), (Some(WEB), None));
}

#[tokio::test]
async fn a_list_without_end_is_asked_for_in_pages() {
    let limits = Limits { list_silence: Duration::from_millis(50), ..LIMITS };
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], limits);
    // Pages fail too, so it need not be the streaming.
    let silent = server.asked(STREAMED).await.stream();
    server.asked(&["limit=500"]).await.refuse(503, "no");
    drop(silent);
    let stream = server.asked(STREAMED).await.stream();
    stream.added(&service("web", "10.0.0.1", 3));
    server.asked(&["limit=500"]).await.page(&[service("web", "10.0.0.1", 3)], "5", "");
    assert!(stream.hung_up().await);
    server.asked(&["watch=true", "resourceVersion=5"]).await;
    until("it is synced", || cluster.has_synced()).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
}

#[tokio::test]
async fn nothing_disappears_while_everything_is_listed_again() {
    // Each way of saying that the version makes no sense.
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
                server.asked(&["resourceVersion=6"]).await.refuse(status, message);
            }
        }
        let asked = server.asked(STREAMED).await;
        let stream = asked.stream();
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
async fn a_list_that_breaks_off_takes_nothing_away() {
    let (mut server, cluster, stream) = with_web(LIMITS).await;
    stream.error(410, "Expired");
    let stream = server.asked(STREAMED).await.stream();
    stream.added(&service("other", "10.0.0.4", 20));
    until_at(&cluster, "other", Some("[10.0.0.4]")).await;
    stream.breaks();
    let stream = server.asked(STREAMED).await.stream();
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
    assert!(!cluster.staleness().is_zero());
    stream.added(&service("web", "10.0.0.1", 3));
    stream.list_ends("22");
    until_at(&cluster, "other", None).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
}
