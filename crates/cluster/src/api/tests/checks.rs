//! Watches that are not to be believed, and how that is noticed.

use std::time::Duration;

use super::server::{CHECK, Says, Server, Stream, service};
use super::{LIMITS, STREAMED, WEB, ip, logged, until, until_at, watch, with_web};
use crate::api::Limits;
use crate::object::Kind;
use crate::watch::{Cluster, register_metrics};

/// Checked again and again, and nothing else is in a hurry.
const CHECKED: Limits = Limits { check: Duration::from_millis(20), ..LIMITS };
const SOON: Duration = Duration::from_millis(50);

/// Checks come, and have no consequence.
async fn all_is_well(server: &mut Server, says: Says) {
    for _ in 0..3 {
        let asked = server.asked(&[CHECK]).await;
        assert!(
            !asked.address.contains("resourceVersion"),
            "a cache may have missed the same: {}",
            asked.address
        );
        asked.counted(says);
    }
}

/// What the server has is listed at version 60, and nothing disappears meanwhile.
async fn is_listed(server: &mut Server, cluster: &Cluster, says: Says, services: &[(&str, &str)]) -> Stream {
    let stream = server.asked_beside_checks(says, STREAMED).await.stream();
    assert_eq!(ip(cluster, "web").as_deref(), Some(WEB), "what is known stays during the list");
    services.iter().for_each(|(name, ip)| stream.added(&service(name, ip, 55)));
    stream.list_ends("60");
    for (name, ip) in services {
        until_at(cluster, name, Some(&format!("[{ip}]"))).await;
    }
    stream
}

#[tokio::test]
async fn missed_events_are_noticed() {
    register_metrics();
    type Tell = fn(&Stream);
    type Services = &'static [(&'static str, &'static str)];
    let nothing: Tell = |_| {};
    let cases: [(&str, Says, Tell, Services); 5] = [
        (
            "a bookmark came past a new object",
            (2, "8"),
            |it| it.bookmark("8"),
            &[("web", "10.0.0.1"), ("new", "10.0.0.2")],
        ),
        (
            "an event came past a new object",
            (2, "8"),
            |it| it.modified(&service("web", "10.0.0.1", 9)),
            &[("web", "10.0.0.1"), ("new", "10.0.0.2")],
        ),
        ("nothing came of a new object", (2, "8"), nothing, &[("web", "10.0.0.1"), ("new", "10.0.0.2")]),
        ("a bookmark came past the end of an object", (0, "8"), |it| it.bookmark("8"), &[]),
        ("nothing came of the end of an object", (0, "8"), nothing, &[]),
    ];
    for (name, says, tell, services) in cases {
        println!("{name}");
        let (mut server, cluster, stream) = with_web(Limits { grace: SOON, ..CHECKED }).await;
        server.asked(&[CHECK]).await.counted(says);
        tell(&stream);
        let _stream = is_listed(&mut server, &cluster, says, services).await;
        until("what is gone is gone", || ip(&cluster, "web").is_some() != services.is_empty()).await;
        all_is_well(&mut server, (services.len() as u64, "60")).await;
        let lines = logged(&server);
        let said = format!(
            "listing services again: the server has {} at version 8, and the watch told of 1",
            says.0
        );
        assert_eq!(lines, ["watching services", &said]);
        let missed = format!(
            "rhumb_cluster_events_total{{event=\"missed\",kind=\"Service\",source=\"{}\"}} 1",
            server.url
        );
        assert!(metrics::registry().encode().lines().any(|line| line == missed));
    }
}

#[tokio::test]
async fn events_on_their_way_are_not_missed() {
    let (mut server, cluster, stream) = with_web(CHECKED).await;
    // The server knows it first.
    server.asked(&[CHECK]).await.counted((2, "8"));
    let asked = server.asked(&[CHECK]).await;
    stream.added(&service("new", "10.0.0.2", 8));
    until_at(&cluster, "new", Some("[10.0.0.2]")).await;
    asked.counted((2, "8"));
    // The watch knows it first.
    let asked = server.asked(&[CHECK]).await;
    stream.deleted(&service("new", "10.0.0.2", 9));
    stream.added(&service("newer", "10.0.0.3", 10));
    stream.added(&service("newest", "10.0.0.4", 11));
    until_at(&cluster, "newest", Some("[10.0.0.4]")).await;
    asked.counted((1, "9"));
    all_is_well(&mut server, (3, "11")).await;
    assert_eq!(logged(&server), ["watching services"]);
}

/// Whatever its name, an object counts.
#[tokio::test]
async fn objects_that_are_not_kept_are_counted() {
    let (mut server, _cluster, stream) = with_web(Limits { grace: SOON, ..CHECKED }).await;
    stream.added(&service(&"long".repeat(40), "10.0.0.2", 8));
    stream.modified(&service(&"long".repeat(40), "10.0.0.3", 9));
    all_is_well(&mut server, (2, "9")).await;
    assert_eq!(logged(&server), ["watching services"]);
}

#[tokio::test]
async fn a_server_that_does_not_count() {
    let (mut server, _cluster, _stream) = with_web(Limits { grace: SOON, ..CHECKED }).await;
    for _ in 0..5 {
        server.asked(&[CHECK]).await.page(&[service("web", "10.0.0.1", 3)], "5", "more");
    }
    server.asked(&[CHECK]).await.page(&[service("web", "10.0.0.1", 3)], "of no number", "");
    server.asked(&[CHECK]).await;
    assert_eq!(logged(&server), ["watching services"]);
}

/// The watch stands, and the server goes on without it.
#[tokio::test]
async fn a_watch_that_stays_behind() {
    // Whether there are bookmarks at least, of the version that it is stuck at.
    for speaks in [false, true] {
        let limits = match speaks {
            true => Limits { behind: 4 * SOON, ..CHECKED },
            false => Limits { behind: 6 * SOON, watch_silence: 4 * SOON, ..CHECKED },
        };
        let (mut server, cluster, stream) = with_web(limits).await;
        let mut streams = vec![stream];
        if speaks {
            server.asked(&[CHECK]).await.counted((1, "9"));
            streams[0].bookmark("5");
        } else {
            let again = server.asked_beside_checks((1, "9"), &["watch=true", "resourceVersion=5"]).await;
            streams.push(again.stream());
        }
        let services = [("web", "10.0.0.1"), ("new", "10.0.0.2")];
        let listed = is_listed(&mut server, &cluster, (1, "9"), &services).await;
        let lines = logged(&server);
        let said = "listing services again: the watch does not get to version 9";
        assert_eq!(lines, ["watching services", said]);
        if speaks {
            all_is_well(&mut server, (2, "60")).await;
        }
        drop(listed);
    }
}

/// Its data were restored from a copy, and the watch still stands.
#[tokio::test]
async fn a_server_at_an_older_version() {
    let (mut server, cluster, stream) = with_web(CHECKED).await;
    stream.bookmark("90");
    let _listed =
        is_listed(&mut server, &cluster, (1, "30"), &[("web", "10.0.0.1"), ("old", "10.0.0.2")]).await;
    all_is_well(&mut server, (2, "60")).await;
    let said = "listing services again: the server is at version 30, and was at 90";
    assert_eq!(logged(&server), ["watching services", said]);
}

/// A load balancer may keep a connection whose other end is gone.
#[tokio::test]
async fn a_server_that_does_not_answer_a_check() {
    let limits = Limits { check_answer: 10 * SOON, ..CHECKED };
    let (mut server, cluster, _stream) = with_web(limits).await;
    // Once may be chance.
    let _unanswered = (server.asked(&[CHECK]).await, server.asked(&[CHECK]).await);
    let asked = server.asked(&["watch=true", "resourceVersion=5"]).await;
    assert!(!cluster.staleness().is_zero());
    let stream = asked.stream();
    until("it is connected", || cluster.staleness().is_zero()).await;
    let lines = logged(&server);
    assert_eq!(lines[1], "lost the watch of services, what is known stays: no answer for 0 s");
    // A watch that speaks is not dead.
    let _unanswered = server.asked(&[CHECK]).await;
    stream.modified(&service("web", "10.0.0.2", 9));
    server.asked(&[CHECK]).await.counted((1, "9"));
    let lines = logged(&server);
    assert_eq!(lines[3..], ["cannot check the watch of services: no answer for 0 s"]);
}

#[tokio::test]
async fn refusals_of_checks_leave_the_watch_alone() {
    let (mut server, cluster, stream) = with_web(CHECKED).await;
    for status in [401, 403, 429, 500] {
        server.asked(&[CHECK]).await.refuse(status, "no");
    }
    all_is_well(&mut server, (1, "5")).await;
    stream.modified(&service("web", "10.0.0.2", 9));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    assert_eq!(
        logged(&server),
        ["watching services", "cannot check the watch of services: 401 Unauthorized: no"]
    );
}

/// What no number shows is known again after a while.
#[tokio::test]
async fn a_missed_change_is_noticed_by_listing() {
    let (mut server, cluster, stream) =
        with_web(Limits { relist: Duration::from_millis(300), ..LIMITS }).await;
    stream.added(&service("db", "10.0.0.5", 6));
    let listing = server.asked(STREAMED).await.stream();
    listing.added(&service("web", "10.0.0.2", 7));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    assert_eq!(ip(&cluster, "db").as_deref(), Some("[10.0.0.5]"), "nothing disappears");
    assert!(cluster.staleness().is_zero());
    listing.added(&service("db", "10.0.0.5", 6));
    listing.list_ends("8");
    let next = server.asked(STREAMED).await;
    assert_eq!(ip(&cluster, "db").as_deref(), Some("[10.0.0.5]"));
    // If that fails, the watch goes on from where it was.
    next.refuse(503, "busy");
    server.asked(&["watch=true", "resourceVersion=8"]).await;
}

/// Packets are swallowed from now on, and nobody says so.
#[tokio::test]
async fn a_dead_connection_is_noticed() {
    let (mut server, cluster, _stream) =
        with_web(Limits { vanished: Duration::from_secs(2), ..LIMITS }).await;
    server.goes_deaf();
    let asked = server.asked(&["watch=true", "resourceVersion=5"]).await;
    assert!(!cluster.staleness().is_zero());
    let stream = asked.stream();
    stream.modified(&service("web", "10.0.0.2", 9));
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    let lines = logged(&server);
    assert!(lines[1].starts_with("lost the watch of services, what is known stays: "), "{lines:?}");
}

/// Watches begin well, and nothing ever comes.
#[tokio::test]
async fn silence_makes_stale() {
    let (mut server, cluster, stream) = with_web(Limits { watch_silence: SOON, ..LIMITS }).await;
    drop(stream);
    for _ in 0..4 {
        let silent = server.asked(&["watch=true", "resourceVersion=5"]).await.stream();
        assert!(silent.hung_up().await);
    }
    until("it is stale", || cluster.staleness() > 2 * SOON).await;
    let _stream = server.asked(&["resourceVersion=5"]).await.stream();
    assert!(!cluster.staleness().is_zero(), "a good beginning is no news");
    let lines = logged(&server);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("no events for services in 0."), "{lines:?}");
}

/// Somebody listens, but nobody answers.
#[tokio::test]
async fn a_first_answer_that_takes_long_is_told_once() {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Namespace, Kind::Service], Limits { first_answer: SOON, ..LIMITS });
    let _unanswered = (server.asked(&["watch"]).await, server.asked(&["watch"]).await);
    let host = server.url.replace("http://", "");
    let said = format!("still waiting for a first answer from {host}, for namespaces, services");
    until("it is told", || logged(&server) == [said.as_str()]).await;
    tokio::time::sleep(3 * SOON).await;
    assert_eq!(logged(&server), [said.as_str()]);
    assert!(!cluster.has_synced());
}
