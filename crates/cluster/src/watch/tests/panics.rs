//! Panics in the writer and in watches: logged, counted, survived, and nothing disappears meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use super::server::{PendingRequest, Server, Stream, pod, service};
use super::{LIMITS, LINES, STREAMED, WEB, collect_log, ip, logged, until, until_at, watch, with_web};
use crate::object::Kind;
use crate::poison;
use crate::snapshot::{Holder, Snapshot};
use crate::watch::{Cluster, register_metrics};

/// Serializes tests: panics are counted by task name, and all clusters have the same names.
async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    collect_log();
    supervise::install_hook();
    supervise::set_log(|line| {
        // Includes the panics of failing tests.
        eprintln!("{line}");
        LINES.lock().unwrap().push(line.to_owned());
    });
    ONE.lock().await
}

fn panics(task: &str) -> u64 {
    supervise::panics(task)
}

/// The last log line about a panic of a task.
fn panic_line(task: &str) -> String {
    let start = format!("task {task}: ");
    let lines = LINES.lock().unwrap();
    lines.iter().rev().find_map(|line| line.strip_prefix(&start)).unwrap_or_default().to_owned()
}

/// Every snapshot that is published from now on must have these Services and fulfil `condition`.
struct Witness<'c> {
    cluster: &'c Cluster,
    seen: usize,
    names: &'static [&'static str],
    condition: fn(&Snapshot) -> bool,
}

impl<'c> Witness<'c> {
    fn new(cluster: &'c Cluster, names: &'static [&'static str], condition: fn(&Snapshot) -> bool) -> Self {
        Self { cluster, seen: cluster.shared.history.lock().unwrap().len(), names, condition }
    }

    fn check(&self) {
        let history = self.cluster.shared.history.lock().unwrap();
        for snapshot in &history[self.seen..] {
            assert!(self.cluster.shared.want.kinds.iter().all(|kind| snapshot.has_synced(*kind)));
            let names = names(snapshot);
            assert!(
                self.names.iter().all(|name| names.contains(name)),
                "{names:?} lacks some of {:?}",
                self.names
            );
            assert!((self.condition)(snapshot));
        }
    }
}

/// The names of all Services.
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

/// Waits until the writer has applied and published all events of a stream.
async fn until_applied(cluster: &Cluster, stream: &Stream) {
    // The writer publishes before it applies the next update.
    for name in ["mark-1", "mark-2"] {
        let before = cluster.quarantined();
        stream.added(&service(name, poison::IN_CONVERT, 90));
        until("it is quarantined", || cluster.quarantined() > before).await;
    }
}

fn quarantined_lines(server: &Server) -> Vec<String> {
    logged(server).into_iter().filter(|line| line.starts_with("quarantined")).collect()
}

/// Services by name, address and version.
async fn list(request: PendingRequest, services: &[(&str, &str, u32)]) -> Stream {
    let stream = request.stream();
    services.iter().for_each(|(name, ip, version)| stream.added(&service(name, ip, *version)));
    stream.list_ends("40");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_panics_is_quarantined_alone() {
    let _alone = alone().await;
    const WRITER: &str = "cluster-writer";
    const WATCH: &str = "cluster-watch-services";
    for (bad, task) in [(poison::IN_INDEX, WRITER), (poison::IN_CONVERT, WRITER), (poison::IN_DECODE, WATCH)]
    {
        let (mut server, cluster, stream) = with_web(LIMITS).await;
        stream.added(&service("cart", "10.0.0.7", 6));
        until_at(&cluster, "cart", Some("[10.0.0.7]")).await;
        let witness = Witness::new(&cluster, &["web", "cart"], |_| true);
        let before = panics(task);
        // A new object, and one with a good previous version.
        stream.added(&service("bad", bad, 7));
        stream.modified(&service("cart", bad, 8));
        stream.added(&service("next", "10.0.0.2", 9));
        until_at(&cluster, "next", Some("[10.0.0.2]")).await;
        assert!(is_named(&cluster, &["web", "cart", "next"]), "{bad}");
        assert_eq!(ip(&cluster, "cart").as_deref(), Some("[10.0.0.7]"), "its previous version stays");
        assert!(cluster.snapshot().holders(bad.parse().unwrap()).next().is_none(), "{bad}");
        assert_eq!((cluster.quarantined(), panics(task)), (2, before + 2), "{bad}");
        assert!(cluster.staleness().is_zero());
        for (line, name) in quarantined_lines(&server).iter().zip(["bad", "cart"]) {
            let start = format!("quarantined Service shop/{name}: panic at crates/cluster/src/poison.rs:");
            assert!(line.starts_with(&start), "{line}");
            assert!(line.ends_with(": poisoned; other objects are served; fix or delete it"), "{line}");
        }

        // A relist contains them again: it completes and keeps them.
        stream.error(410, "Expired");
        let all = [("web", "10.0.0.1", 3), ("bad", bad, 7), ("cart", bad, 8), ("last", "10.0.0.3", 8)];
        let request = server.request(STREAMED).await;
        let stream = list(request, &all).await;
        until("the list is applied", || is_named(&cluster, &["web", "cart", "last"])).await;
        assert_eq!((cluster.quarantined(), quarantined_lines(&server).len()), (2, 2), "{bad}");
        // New versions are tried again, up to a limit.
        let before = panics(task);
        (20..25).for_each(|version| stream.modified(&service("bad", bad, version)));
        // A good version.
        stream.modified(&service("cart", "10.0.0.8", 30));
        until_at(&cluster, "cart", Some("[10.0.0.8]")).await;
        // The reflector has no quarantine and tries every version.
        let (tries, lines) = if task == WRITER { (2, 4) } else { (5, 2) };
        assert_eq!((panics(task) - before, quarantined_lines(&server).len()), (tries, lines), "{bad}");
        assert_eq!(cluster.quarantined(), 1, "{bad}");
        let mended = logged(&server).iter().any(|line| line == "released Service shop/cart from quarantine");
        assert!(mended, "{bad}");
        witness.check();

        // Deleted objects leave the quarantine.
        stream.error(410, "Expired");
        let request = server.request(STREAMED).await;
        let _stream = list(request, &[("last", "10.0.0.3", 8)]).await;
        until("the quarantine is empty", || cluster.quarantined() == 0 && is_named(&cluster, &["last"]))
            .await;
    }
}

/// Pages are decoded while the next one is fetched.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_panics_in_a_page() {
    let _alone = alone().await;
    register_metrics();
    let mut server = Server::start_at(Some("34")).await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let bad = [poison::IN_DECODE, poison::IN_CONVERT, poison::IN_INDEX];
    let mut page: Vec<_> = bad.iter().map(|bad| service(&bad.replace('.', "-"), bad, 2)).collect();
    page.push(service("web", "10.0.0.1", 3));
    server.request(&["limit=500"]).await.page(&page, "5", "");
    let _stream = server.request(&["watch=true", "resourceVersion=5"]).await.stream();
    until("it is synced", || cluster.has_synced()).await;
    assert!(is_named(&cluster, &["web"]));
    assert_eq!(cluster.quarantined(), 3);
}

/// The index is lost. Nothing is published before every kind was relisted.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_relists_every_kind() {
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
    let (services_request, pods_request) = both(&mut server).await;
    assert_eq!(panics("cluster-writer"), before + 1);
    let line = panic_line("cluster-writer");
    assert!(line.starts_with("panic at crates/cluster/src/poison.rs:"), "{line}");
    assert!(line.ends_with(": poisoned; restarting in 100ms"), "{line}");
    assert!(
        services.closed_by_client().await && pods.closed_by_client().await,
        "the old watches would not deliver known objects"
    );
    let stale = cluster.stale().unwrap();
    assert_eq!(stale.reason, "rebuilding the index after a panic");

    let services =
        list(services_request, &[("web", "10.0.0.9", 7), ("db", "10.0.0.2", 4), ("new", "10.0.0.3", 8)])
            .await;
    let pods = pods_request.stream();
    services.modified(&service("new", "10.0.0.5", 9));
    pods.added(&pod("going", "10.1.0.1", 1, true));
    until_applied(&cluster, &services).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB), "pods are not listed yet");
    assert!(cluster.staleness() > stale.age);
    pods.list_ends("40");
    until_at(&cluster, "web", Some("[10.0.0.9]")).await;
    until("it is current", || cluster.staleness().is_zero()).await;
    until_at(&cluster, "new", Some("[10.0.0.5]")).await;
    witness.check();
    assert!(has_pod(&cluster.snapshot()), "it terminates, but was indexed");
    until("that is logged", || logged(&server).iter().any(|line| line.starts_with("rebuilt the index in ")))
        .await;
    // The watch continues.
    services.deleted(&service("web", "10.0.0.9", 41));
    until_at(&cluster, "web", None).await;
}

/// Before the first list is complete: its objects so far stay too.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_in_the_first_list() {
    let _alone = alone().await;
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], LIMITS);
    let stream = server.request(STREAMED).await.stream();
    stream.added(&service("web", "10.0.0.1", 3));
    until_at(&cluster, "web", Some(WEB)).await;
    let before = panics("cluster-writer");
    stream.added(&service("bad", poison::IN_WRITER, 4));
    until("it panicked", || panics("cluster-writer") > before).await;
    stream.added(&service("db", "10.0.0.2", 4));
    stream.list_ends("5");
    // The writer has not seen the beginning of that list.
    let stream = server.request(STREAMED).await.stream();
    assert_eq!(
        (ip(&cluster, "web").as_deref(), ip(&cluster, "db"), cluster.has_synced()),
        (Some(WEB), None, false)
    );
    stream.added(&service("db", "10.0.0.2", 4));
    stream.added(&service("web", "10.0.0.9", 6));
    until_applied(&cluster, &stream).await;
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB));
    stream.list_ends("8");
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    assert!(is_named(&cluster, &["db", "web"]));
    assert_eq!(ip(&cluster, "web").as_deref(), Some("[10.0.0.9]"));
}

/// The next two requests: for services, and for another kind.
async fn both(server: &mut Server) -> (PendingRequest, PendingRequest) {
    let (one, other) = (server.request(&[]).await, server.request(&[]).await);
    if one.uri.contains("/services?") { (one, other) } else { (other, one) }
}

/// The writer does not wait for a kind that the server no longer has.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_does_not_wait_for_a_kind_that_is_gone() {
    let _alone = alone().await;
    const GROUP: &str = "/apis/multicluster.x-k8s.io";
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service, Kind::ServiceImport], LIMITS);
    let (services, imports) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3)]).await;
    imports.json(&json!({"versions": [{"version": "v1beta1"}]}));
    let imports = server.request(&["serviceimports"]).await.json_stream();
    imports.json(
        "BOOKMARK",
        &json!({"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}),
    );
    until("it is synced", || cluster.has_synced()).await;
    let witness = Witness::new(&cluster, &["web"], |_| true);
    services.added(&service("bad", poison::IN_WRITER, 6));
    let (request, imports) = both(&mut server).await;
    imports.refuse(404, "not found");
    let _services = list(request, &[("web", "10.0.0.2", 7)]).await;
    server.request(&[GROUP]).await.refuse(404, "not found");
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    witness.check();
}

/// Only its own kind is relisted.
#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_that_panics_relists_its_kind() {
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
    supervise::inject::arm("cluster-watch-services", 1);
    services.added(&service("bad", "10.0.0.6", 6));
    let request = server.request(STREAMED).await;
    assert_eq!(panics("cluster-watch-services"), before + 1);
    assert!(
        panic_line("cluster-watch-services")
            .ends_with(": injected into cluster-watch-services; restarting in 100ms")
    );
    assert_eq!(cluster.stale().unwrap().reason, "services: the task panicked and is restarting");
    let _services = list(request, &[("web", "10.0.0.2", 7)]).await;
    until_at(&cluster, "web", Some("[10.0.0.2]")).await;
    until("it is current", || cluster.staleness().is_zero()).await;
    witness.check();
    drop(namespaces);
    server.request(&["/api/v1/namespaces?", "resourceVersion=5"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staleness_grows_while_a_task_waits_to_start_again() {
    let _alone = alone().await;
    let (mut server, cluster, mut stream) = with_web(LIMITS).await;
    for _ in 0..3 {
        supervise::inject::arm("cluster-watch-services", 1);
        stream.added(&service("bad", "10.0.0.6", 6));
        until("it is stale", || cluster.staleness() > Duration::from_millis(20)).await;
        stream = list(server.request(STREAMED).await, &[("web", "10.0.0.1", 3)]).await;
        until("it is current", || cluster.staleness().is_zero()).await;
    }
}
