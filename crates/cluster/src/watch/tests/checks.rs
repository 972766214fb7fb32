//! Inconsistent, stuck and dead watches, and how the audit detects them.

use std::time::Duration;

use super::server::{CHECK, Server, ServerCount, Stream, service};
use super::{LIMITS, STREAMED, WEB, ip, logged, until, until_at, watch, with_web};
use crate::object::Kind;
use crate::watch::{Cluster, register_metrics};
use kube_api::Limits;

/// Frequent censuses; every other limit is long.
const CHECKED: Limits = Limits { census_interval: Duration::from_millis(20), ..LIMITS };
const SOON: Duration = Duration::from_millis(50);

/// Answers three censuses, which must have no consequence.
async fn checks_pass(server: &mut Server, census: ServerCount) {
    for _ in 0..3 {
        let request = server.request(&[CHECK]).await;
        assert!(
            !request.uri.contains("resourceVersion"),
            "a cache may have missed the same events: {}",
            request.uri
        );
        request.answer_check(census);
    }
}

/// Serves a relist at version 60; nothing disappears meanwhile.
async fn relist(
    server: &mut Server,
    cluster: &Cluster,
    census: ServerCount,
    services: &[(&str, &str)],
) -> Stream {
    let stream = server.request_beside_checks(census, STREAMED).await.stream();
    assert_eq!(ip(cluster, "web").as_deref(), Some(WEB), "known objects stay during the list");
    services.iter().for_each(|(name, ip)| stream.added(&service(name, ip, 55)));
    stream.list_ends("60");
    for (name, ip) in services {
        until_at(cluster, name, Some(&format!("[{ip}]"))).await;
    }
    stream
}

#[tokio::test]
async fn missed_events_are_detected() {
    register_metrics();
    type Send = fn(&Stream);
    type Services = &'static [(&'static str, &'static str)];
    let nothing: Send = |_| {};
    let cases: [(&str, ServerCount, Send, Services); 5] = [
        (
            "a bookmark beyond a new object",
            (2, "8"),
            |it| it.bookmark("8"),
            &[("web", "10.0.0.1"), ("new", "10.0.0.2")],
        ),
        (
            "an event beyond a new object",
            (2, "8"),
            |it| it.modified(&service("web", "10.0.0.1", 9)),
            &[("web", "10.0.0.1"), ("new", "10.0.0.2")],
        ),
        ("no event for a new object", (2, "8"), nothing, &[("web", "10.0.0.1"), ("new", "10.0.0.2")]),
        ("a bookmark beyond a deletion", (0, "8"), |it| it.bookmark("8"), &[]),
        ("no event for a deletion", (0, "8"), nothing, &[]),
    ];
    for (name, census, send, services) in cases {
        println!("{name}");
        let (mut server, cluster, stream) = with_web(Limits { delivery_grace: SOON, ..CHECKED }).await;
        server.request(&[CHECK]).await.answer_check(census);
        send(&stream);
        let _stream = relist(&mut server, &cluster, census, services).await;
        until("deleted objects are removed", || ip(&cluster, "web").is_some() != services.is_empty()).await;
        checks_pass(&mut server, (services.len() as u64, "60")).await;
        let lines = logged(&server);
        let expected = format!(
            "watch of services is inconsistent, relisting: server has {} objects at resourceVersion 8, watch delivered 1",
            census.0
        );
        assert_eq!(lines, ["watching services", &expected]);
        let missed = format!(
            "rhumb_cluster_events_total{{event=\"missed\",kind=\"Service\",source=\"{}\"}} 1",
            server.url
        );
        assert!(metrics::registry().encode().lines().any(|line| line == missed));
    }
}

#[tokio::test]
async fn events_in_transit_do_not_count_as_missed() {
    let (mut server, cluster, stream) = with_web(CHECKED).await;
    // The census is ahead of the watch.
    server.request(&[CHECK]).await.answer_check((2, "8"));
    let request = server.request(&[CHECK]).await;
    stream.added(&service("new", "10.0.0.2", 8));
    until_at(&cluster, "new", Some("[10.0.0.2]")).await;
    request.answer_check((2, "8"));
    // The watch is ahead of the census.
    let request = server.request(&[CHECK]).await;
    stream.deleted(&service("new", "10.0.0.2", 9));
    stream.added(&service("newer", "10.0.0.3", 10));
    stream.added(&service("newest", "10.0.0.4", 11));
    until_at(&cluster, "newest", Some("[10.0.0.4]")).await;
    request.answer_check((1, "9"));
    checks_pass(&mut server, (3, "11")).await;
    assert_eq!(logged(&server), ["watching services"]);
}

/// Objects with an invalid name count too.
#[tokio::test]
async fn objects_that_are_not_indexed_are_counted() {
    let (mut server, _cluster, stream) = with_web(Limits { delivery_grace: SOON, ..CHECKED }).await;
    stream.added(&service(&"long".repeat(40), "10.0.0.2", 8));
    stream.modified(&service(&"long".repeat(40), "10.0.0.3", 9));
    checks_pass(&mut server, (2, "9")).await;
    assert_eq!(logged(&server), ["watching services"]);
}

#[tokio::test]
async fn a_server_that_reports_no_count() {
    let (mut server, _cluster, _stream) = with_web(Limits { delivery_grace: SOON, ..CHECKED }).await;
    for _ in 0..5 {
        server.request(&[CHECK]).await.page(&[service("web", "10.0.0.1", 3)], "5", "more");
    }
    server.request(&[CHECK]).await.page(&[service("web", "10.0.0.1", 3)], "of no number", "");
    server.request(&[CHECK]).await;
    assert_eq!(logged(&server), ["watching services"]);
}

/// The watch is connected, but the server is ahead of it.
#[tokio::test]
async fn a_watch_that_stays_behind() {
    // With and without bookmarks of the version that it is stuck at.
    for bookmarks in [false, true] {
        let limits = match bookmarks {
            true => Limits { max_lag: 4 * SOON, ..CHECKED },
            false => Limits { max_lag: 6 * SOON, watch_silence: 4 * SOON, ..CHECKED },
        };
        let (mut server, cluster, stream) = with_web(limits).await;
        let mut streams = vec![stream];
        if bookmarks {
            server.request(&[CHECK]).await.answer_check((1, "9"));
            streams[0].bookmark("5");
        } else {
            let again = server.request_beside_checks((1, "9"), &["watch=true", "resourceVersion=5"]).await;
            streams.push(again.stream());
        }
        let services = [("web", "10.0.0.1"), ("new", "10.0.0.2")];
        let listed = relist(&mut server, &cluster, (1, "9"), &services).await;
        let lines = logged(&server);
        let expected =
            "watch of services is inconsistent, relisting: watch has not reached resourceVersion 9";
        assert_eq!(lines, ["watching services", expected]);
        if bookmarks {
            checks_pass(&mut server, (2, "60")).await;
        }
        drop(listed);
    }
}

/// The server was restored from a backup, and the watch is still connected.
#[tokio::test]
async fn a_server_at_an_older_version() {
    let (mut server, cluster, stream) = with_web(CHECKED).await;
    stream.bookmark("90");
    let _listed = relist(&mut server, &cluster, (1, "30"), &[("web", "10.0.0.1"), ("old", "10.0.0.2")]).await;
    checks_pass(&mut server, (2, "60")).await;
    let expected = "watch of services is inconsistent, relisting: server is at resourceVersion 30, was at 90";
    assert_eq!(logged(&server), ["watching services", expected]);
}

/// A load balancer may keep a connection whose server is gone.
#[tokio::test]
async fn a_server_that_does_not_respond_to_a_census() {
    let limits = Limits { census_timeout: 10 * SOON, ..CHECKED };
    let (mut server, cluster, _stream) = with_web(limits).await;
    // One missing response has no consequence.
    let _unanswered = (server.request(&[CHECK]).await, server.request(&[CHECK]).await);
    let request = server.request(&["watch=true", "resourceVersion=5"]).await;
    assert!(!cluster.staleness().is_zero());
    let stream = request.stream();
    until("it is connected", || cluster.staleness().is_zero()).await;
    let lines = logged(&server);
    assert_eq!(lines[1], "watch of services lost, serving the last known data: no response within 0 s");
    // A watch with events is not dead.
    let _unanswered = server.request(&[CHECK]).await;
    stream.modified(&service("web", "10.0.0.2", 9));
    server.request(&[CHECK]).await.answer_check((1, "9"));
    let lines = logged(&server);
    assert_eq!(lines[3..], ["cannot check the watch of services: no response within 0 s"]);
}

#[tokio::test]
async fn refused_censuses_leave_the_watch_alone() {
    let (mut server, cluster, stream) = with_web(CHECKED).await;
    for status in [401, 403, 429, 500] {
        server.request(&[CHECK]).await.refuse(status, "no");
    }
    checks_pass(&mut server, (1, "5")).await;
    stream.modified(&service("web", "10.0.0.2", 9));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    assert_eq!(
        logged(&server),
        ["watching services", "cannot check the watch of services: 401 Unauthorized: no"]
    );
}

/// A missed modification, which no count reveals, is repaired by the periodic relist.
#[tokio::test]
async fn a_missed_change_is_noticed_by_listing() {
    let (mut server, cluster, stream) =
        with_web(Limits { relist_interval: Duration::from_millis(300), ..LIMITS }).await;
    stream.added(&service("db", "10.0.0.5", 6));
    let listing = server.request(STREAMED).await.stream();
    listing.added(&service("web", "10.0.0.2", 7));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    assert_eq!(ip(&cluster, "db").as_deref(), Some("[10.0.0.5]"), "nothing disappears");
    assert!(cluster.staleness().is_zero());
    listing.added(&service("db", "10.0.0.5", 6));
    listing.list_ends("8");
    let next = server.request(STREAMED).await;
    assert_eq!(ip(&cluster, "db").as_deref(), Some("[10.0.0.5]"));
    // If it fails, the watch resumes.
    next.refuse(503, "busy");
    server.request(&["watch=true", "resourceVersion=8"]).await;
}

/// Packets are dropped silently.
#[tokio::test]
async fn a_dead_connection_is_detected() {
    let (mut server, cluster, _stream) =
        with_web(Limits { peer_timeout: Duration::from_secs(2), ..LIMITS }).await;
    server.drop_packets();
    let request = server.request(&["watch=true", "resourceVersion=5"]).await;
    assert!(!cluster.staleness().is_zero());
    let stream = request.stream();
    stream.modified(&service("web", "10.0.0.2", 9));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    let lines = logged(&server);
    assert!(lines[1].starts_with("watch of services lost, serving the last known data: "), "{lines:?}");
}

/// Watches are accepted, and nothing ever arrives.
#[tokio::test]
async fn silence_makes_stale() {
    let (mut server, cluster, stream) = with_web(Limits { watch_silence: SOON, ..LIMITS }).await;
    drop(stream);
    for _ in 0..4 {
        let silent = server.request(&["watch=true", "resourceVersion=5"]).await.stream();
        assert!(silent.closed_by_client().await);
    }
    until("it is stale", || cluster.staleness() > 2 * SOON).await;
    let _stream = server.request(&["resourceVersion=5"]).await.stream();
    assert!(!cluster.staleness().is_zero(), "a response without events is no data");
    let lines = logged(&server);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("no events for services in 0."), "{lines:?}");
}

/// The server accepts connections and does not respond.
#[tokio::test]
async fn a_late_first_response_is_logged_once() {
    let mut server = Server::start().await;
    let cluster =
        watch(&server, &[Kind::Namespace, Kind::Service], Limits { first_response: SOON, ..LIMITS });
    let _unanswered = (server.request(&["watch"]).await, server.request(&["watch"]).await);
    let host = server.url.replace("http://", "");
    let expected = format!("still waiting for a first answer from {host}, for namespaces, services");
    until("it is logged", || logged(&server) == [expected.as_str()]).await;
    tokio::time::sleep(3 * SOON).await;
    assert_eq!(logged(&server), [expected.as_str()]);
    assert!(!cluster.has_synced());
}
