//! Panics in the writer and in watches: logged, counted, survived, and nothing disappears meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use super::server::{Asked, Server, Stream, pod, service};
use super::{LIMITS, LINES, STREAMED, WEB, ip, keep_lines, logged, until, until_at, watch, with_web};
use crate::object::Kind;
use crate::poison;
use crate::snapshot::{Holder, Snapshot};
use crate::watch::{Cluster, register_metrics};

/// Panics are counted by task, and all clusters have the same tasks.
async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    keep_lines();
    supervise::install_hook();
    supervise::set_log(|line| {
        // Tests that fail are among them.
        eprintln!("{line}");
        LINES.lock().unwrap().push(line.to_owned());
    });
    ONE.lock().await
}

fn panics(task: &str) -> u64 {
    supervise::panics(task)
}

/// The last line about a task that panicked.
fn panic_line(task: &str) -> String {
    let start = format!("task {task}: ");
    let lines = LINES.lock().unwrap();
    lines.iter().rev().find_map(|line| line.strip_prefix(&start)).unwrap_or_default().to_owned()
}

/// Every snapshot that is published from now on must have these Services, and what `holds` says.
struct Witness<'c> {
    cluster: &'c Cluster,
    seen: usize,
    names: &'static [&'static str],
    holds: fn(&Snapshot) -> bool,
}

impl<'c> Witness<'c> {
    fn new(cluster: &'c Cluster, names: &'static [&'static str], holds: fn(&Snapshot) -> bool) -> Self {
        Self { cluster, seen: cluster.shared.history.lock().unwrap().len(), names, holds }
    }

    fn missed_nothing(&self) {
        let history = self.cluster.shared.history.lock().unwrap();
        for snapshot in &history[self.seen..] {
            assert!(self.cluster.shared.want.kinds.iter().all(|kind| snapshot.has_synced(*kind)));
            let names = names(snapshot);
            assert!(
                self.names.iter().all(|name| names.contains(name)),
                "{names:?} lacks some of {:?}",
                self.names
            );
            assert!((self.holds)(snapshot));
        }
    }
}

/// Of Services.
fn names(snapshot: &Snapshot) -> BTreeSet<&str> {
    snapshot.entries().filter(|entry| entry.service.is_some()).map(|entry| entry.key.name()).collect()
}

fn is_named(cluster: &Cluster, expected: &[&str]) -> bool {
    let snapshot = cluster.snapshot();
    names(&snapshot) == expected.iter().copied().collect() && snapshot.count(Kind::Service) == expected.len()
}

fn has_pod(snapshot: &Snapshot) -> bool {
    let address = "10.1.0.1".parse().unwrap();
    snapshot.holders(address).any(|holder| matches!(holder, Holder::Pod(_)))
}

/// Waits until the writer has taken in all that was sent on a stream, and published what it wants to publish of it.
async fn until_taken_in(cluster: &Cluster, stream: &Stream) {
    // A snapshot is published before the next update is taken in.
    for name in ["mark-1", "mark-2"] {
        let before = cluster.quarantined();
        stream.added(&service(name, poison::IN_CONVERT, 90));
        until("it is put aside", || cluster.quarantined() > before).await;
    }
}

fn quarantined_lines(server: &Server) -> Vec<String> {
    logged(server).into_iter().filter(|line| line.starts_with("quarantined")).collect()
}

/// Services by name, address and version.
async fn list(asked: Asked, services: &[(&str, &str, u32)]) -> Stream {
    let stream = asked.stream();
    services.iter().for_each(|(name, ip, version)| stream.added(&service(name, ip, *version)));
    stream.list_ends("40");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_panics_costs_itself() {
    let _alone = alone().await;
    const WRITER: &str = "cluster-writer";
    const WATCH: &str = "cluster-watch-services";
    for (bad, task) in [(poison::IN_INDEX, WRITER), (poison::IN_CONVERT, WATCH), (poison::IN_DECODE, WATCH)] {
        let (mut server, cluster, stream) = with_web(LIMITS).await;
        stream.added(&service("cart", "10.0.0.7", 6));
        until_at(&cluster, "cart", Some("[10.0.0.7]")).await;
        let witness = Witness::new(&cluster, &["web", "cart"], |_| true);
        let before = panics(task);
        // One that is new, and one that was good before.
        stream.added(&service("bad", bad, 7));
        stream.modified(&service("cart", bad, 8));
        stream.added(&service("next", "10.0.0.2", 9));
        until_at(&cluster, "next", Some("[10.0.0.2]")).await;
        assert!(is_named(&cluster, &["web", "cart", "next"]), "{bad}");
        assert_eq!(ip(&cluster, "cart").as_deref(), Some("[10.0.0.7]"), "what was known of it stays");
        assert!(cluster.snapshot().holders(bad.parse().unwrap()).next().is_none(), "{bad}");
        assert_eq!((cluster.quarantined(), panics(task)), (2, before + 2), "{bad}");
        assert!(cluster.staleness().is_zero());
        for (line, name) in quarantined_lines(&server).iter().zip(["bad", "cart"]) {
            let start = format!("quarantined Service shop/{name}: panic at crates/cluster/src/poison.rs:");
            assert!(line.starts_with(&start), "{line}");
            assert!(line.ends_with(": poisoned; other objects are served; fix or delete it"), "{line}");
        }

        // A list has them again and does not die of them, nor do they go with it.
        stream.error(410, "Expired");
        let all = [("web", "10.0.0.1", 3), ("bad", bad, 7), ("cart", bad, 8), ("last", "10.0.0.3", 8)];
        let asked = server.asked(STREAMED).await;
        let stream = list(asked, &all).await;
        until("the list is taken in", || is_named(&cluster, &["web", "cart", "last"])).await;
        assert_eq!((cluster.quarantined(), quarantined_lines(&server).len()), (2, 2), "{bad}");
        // In another version it is tried again, and in the end given up.
        let before = panics(task);
        (20..25).for_each(|version| stream.modified(&service("bad", bad, version)));
        // It is mended.
        stream.modified(&service("cart", "10.0.0.8", 30));
        until_at(&cluster, "cart", Some("[10.0.0.8]")).await;
        // Its watch does not know, and tries every time.
        let (tries, lines) = if task == WRITER { (2, 4) } else { (5, 2) };
        assert_eq!((panics(task) - before, quarantined_lines(&server).len()), (tries, lines), "{bad}");
        assert_eq!(cluster.quarantined(), 1, "{bad}");
        let mended = logged(&server).iter().any(|line| line == "Service shop/cart is current again");
        assert!(mended, "{bad}");
        witness.missed_nothing();

        // It goes, and the memory of it too.
        stream.error(410, "Expired");
        let asked = server.asked(STREAMED).await;
        let _stream = list(asked, &[("last", "10.0.0.3", 8)]).await;
        until("it is forgotten", || cluster.quarantined() == 0 && is_named(&cluster, &["last"])).await;
    }
}

/// The panic is in pages too, of which the next is fetched ahead.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_panics_in_a_page() {
    let _alone = alone().await;
    register_metrics();
    let mut server = Server::start_at(Some("34")).await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let bad = [poison::IN_DECODE, poison::IN_CONVERT, poison::IN_INDEX];
    let mut page: Vec<_> = bad.iter().map(|bad| service(&bad.replace('.', "-"), bad, 2)).collect();
    page.push(service("web", "10.0.0.1", 3));
    server.asked(&["limit=500"]).await.page(&page, "5", "");
    let _stream = server.asked(&["watch=true", "resourceVersion=5"]).await.stream();
    until("it is synced", || cluster.has_synced()).await;
    assert!(is_named(&cluster, &["web"]));
    assert_eq!(cluster.quarantined(), 3);
}

/// Its index is lost. Nothing is published before every kind was listed again.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_lists_everything_again() {
    let _alone = alone().await;
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service, Kind::Pod], LIMITS);
    let (services, pods) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3), ("db", "10.0.0.2", 4)]).await;
    let pods = pods.stream();
    pods.added(&pod("going", "10.1.0.1", 1, false));
    pods.list_ends("5");
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    let witness = Witness::new(&cluster, &["web", "db"], has_pod);
    let before = panics("cluster-writer");
    services.added(&service("bad", poison::IN_WRITER, 6));
    let (asked_services, asked_pods) = both(&mut server).await;
    assert_eq!(panics("cluster-writer"), before + 1);
    let line = panic_line("cluster-writer");
    assert!(line.starts_with("panic at crates/cluster/src/poison.rs:"), "{line}");
    assert!(line.ends_with(": poisoned; restarting in 100ms"), "{line}");
    assert!(services.hung_up().await && pods.hung_up().await, "the old watches would tell what is known");
    let stale = cluster.stale().unwrap();
    assert_eq!(stale.reason, "the index is rebuilt after a panic");

    let services =
        list(asked_services, &[("web", "10.0.0.9", 7), ("db", "10.0.0.2", 4), ("new", "10.0.0.3", 8)]).await;
    let pods = asked_pods.stream();
    services.modified(&service("new", "10.0.0.5", 9));
    pods.added(&pod("going", "10.1.0.1", 1, true));
    until_taken_in(&cluster, &services).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB), "pods are not listed yet");
    assert!(cluster.staleness() > stale.age);
    pods.list_ends("40");
    until_at(&cluster, "web", Some("[10.0.0.9]")).await;
    until("it is current", || cluster.staleness().is_zero()).await;
    until_at(&cluster, "new", Some("[10.0.0.5]")).await;
    witness.missed_nothing();
    assert!(has_pod(&cluster.snapshot()), "it is on its way out, but was known");
    until("that is told", || logged(&server).iter().any(|line| line.starts_with("rebuilt the index in ")))
        .await;
    // And it goes on.
    services.deleted(&service("web", "10.0.0.9", 41));
    until_at(&cluster, "web", None).await;
}

/// Before the first list is complete: what it showed so far stays too.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_in_the_first_list() {
    let _alone = alone().await;
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let stream = server.asked(STREAMED).await.stream();
    stream.added(&service("web", "10.0.0.1", 3));
    until_at(&cluster, "web", Some(WEB)).await;
    let before = panics("cluster-writer");
    stream.added(&service("bad", poison::IN_WRITER, 4));
    until("it panicked", || panics("cluster-writer") > before).await;
    stream.added(&service("db", "10.0.0.2", 4));
    stream.list_ends("5");
    // The writer has not seen the beginning of that list.
    let stream = server.asked(STREAMED).await.stream();
    assert_eq!(
        (ip(&cluster, "web").as_deref(), ip(&cluster, "db"), cluster.has_synced()),
        (Some(WEB), None, false)
    );
    stream.added(&service("db", "10.0.0.2", 4));
    stream.added(&service("web", "10.0.0.9", 6));
    until_taken_in(&cluster, &stream).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
    stream.list_ends("8");
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    assert!(is_named(&cluster, &["db", "web"]));
    assert_eq!(ip(&cluster, "web").as_deref(), Some("[10.0.0.9]"));
}

/// The next two requests: for services, and for another kind.
async fn both(server: &mut Server) -> (Asked, Asked) {
    let (one, other) = (server.asked(&[]).await, server.asked(&[]).await);
    if one.address.contains("/services?") { (one, other) } else { (other, one) }
}

/// A kind that the server has not any more is not waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_does_not_wait_for_a_kind_that_is_gone() {
    let _alone = alone().await;
    const GROUP: &str = "/apis/multicluster.x-k8s.io";
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service, Kind::ServiceImport], LIMITS);
    let (services, imports) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3)]).await;
    imports.json(&json!({"versions": [{"version": "v1beta1"}]}));
    let imports = server.asked(&["serviceimports"]).await.json_stream();
    imports.json(
        "BOOKMARK",
        &json!({"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}),
    );
    until("it is synced", || cluster.has_synced()).await;
    let witness = Witness::new(&cluster, &["web"], |_| true);
    services.added(&service("bad", poison::IN_WRITER, 6));
    let (asked, imports) = both(&mut server).await;
    imports.refuse(404, "not found");
    let _services = list(asked, &[("web", "10.0.0.2", 7)]).await;
    server.asked(&[GROUP]).await.refuse(404, "not found");
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    witness.missed_nothing();
}

/// Its kind is listed again, and no other one.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_panics_lists_its_kind_again() {
    let _alone = alone().await;
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Namespace, Kind::Service], LIMITS);
    let (services, namespaces) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3)]).await;
    let namespaces = namespaces.stream();
    namespaces.list_ends("5");
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    let witness = Witness::new(&cluster, &["web"], |_| true);
    let before = panics("cluster-watch-services");
    services.added(&service("bad", poison::IN_WATCH, 6));
    let asked = server.asked(STREAMED).await;
    assert_eq!(panics("cluster-watch-services"), before + 1);
    assert!(panic_line("cluster-watch-services").ends_with(": poisoned; restarting in 100ms"));
    assert_eq!(cluster.stale().unwrap().reason, "services: its task panicked and restarts");
    let _services = list(asked, &[("web", "10.0.0.2", 7)]).await;
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    until("it is current", || cluster.staleness().is_zero()).await;
    witness.missed_nothing();
    drop(namespaces);
    server.asked(&["/api/v1/namespaces?", "resourceVersion=5"]).await;
}

/// Nobody hears of a task that waits before it starts again, but of what it leaves undone.
#[tokio::test(flavor = "multi_thread")]
async fn staleness_grows_while_a_task_waits_to_start_again() {
    let _alone = alone().await;
    let (mut server, cluster, mut stream) = with_web(LIMITS).await;
    for _ in 0..3 {
        stream.added(&service("bad", poison::IN_WATCH, 6));
        until("it is stale", || cluster.staleness() > Duration::from_millis(20)).await;
        stream = list(server.asked(STREAMED).await, &[("web", "10.0.0.1", 3)]).await;
        until("it is current", || cluster.staleness().is_zero()).await;
    }
}
