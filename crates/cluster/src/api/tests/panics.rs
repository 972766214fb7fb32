//! Panics in the writer and in watches: logged, counted, survived, and nothing disappears meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use super::server::{Asked, Server, Stream, pod, service};
use super::{LIMITS, LINES, STREAMED, WEB, ip, keep_lines, logged, until, until_at, watch, with_web};
use crate::object::Kind;
use crate::snapshot::Holder;
use crate::watch::{Cluster, register_metrics};

/// Panics are counted by task, and all clusters have the same tasks.
async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    keep_lines();
    supervise::install_hook();
    supervise::set_log(|line| LINES.lock().unwrap().push(line.to_owned()));
    ONE.lock().await
}

fn panics(task: &str) -> u64 {
    supervise::PANICS.with(&[task]).get()
}

/// The last line about a task that panicked.
fn panic_line(task: &str) -> String {
    let start = format!("task {task}: ");
    let lines = LINES.lock().unwrap();
    lines.iter().rev().find_map(|line| line.strip_prefix(&start)).unwrap_or_default().to_owned()
}

/// Looks at the published snapshot all the time: whatever `holds` must hold in each.
struct Witness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Witness {
    fn new(cluster: &Arc<Cluster>, holds: impl Fn(&Cluster) -> bool + Send + 'static) -> Self {
        let (cluster, stop) = (Arc::clone(cluster), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let look = move || {
            while !stopped.load(Ordering::Relaxed) {
                assert!(cluster.has_synced() && holds(&cluster), "something is missing");
            }
        };
        Self { stop, thread: std::thread::spawn(look) }
    }

    fn missed_nothing(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("nothing is ever missing");
    }
}

fn is_named(cluster: &Cluster, expected: &[&str]) -> bool {
    let snapshot = cluster.snapshot();
    let names: BTreeSet<&str> = snapshot.entries().map(|entry| entry.key.name()).collect();
    names == expected.iter().copied().collect() && snapshot.count(Kind::Service) == expected.len()
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
    for (name, task) in
        [("panics-in-index", WRITER), ("panics-in-convert", WATCH), ("panics-in-decode", WATCH)]
    {
        let (mut server, cluster, stream) = with_web(LIMITS).await;
        let cluster = Arc::new(cluster);
        let witness = Witness::new(&cluster, |cluster| ip(cluster, "web").is_some());
        let before = panics(task);
        stream.added(&service(name, "10.0.0.66", 6));
        stream.added(&service("next", "10.0.0.2", 7));
        until_at(&cluster, "next", Some("[10.0.0.2]")).await;
        assert!(is_named(&cluster, &["web", "next"]), "{name}");
        assert!(cluster.snapshot().holders("10.0.0.66".parse().unwrap()).next().is_none(), "{name}");
        assert_eq!((cluster.quarantined(), panics(task)), (1, before + 1), "{name}");
        assert!(cluster.staleness().is_zero());
        let lines = logged(&server);
        let line = lines.last().unwrap();
        let start = format!("quarantined Service shop/{name}: panic at crates/cluster/src/poison.rs:");
        assert!(line.starts_with(&start), "{line}");
        assert!(line.ends_with(": poisoned; other objects are served; fix or delete it"), "{line}");

        // A list has it again and does not die of it.
        stream.error(410, "Expired");
        let all = [("web", "10.0.0.1", 3), (name, "10.0.0.66", 6), ("last", "10.0.0.3", 8)];
        let stream = list(server.asked(STREAMED).await, &all).await;
        until("the list is taken in", || is_named(&cluster, &["web", "last"])).await;
        assert_eq!(cluster.quarantined(), 1, "{name}");
        // In another version it is tried again, and in the end given up.
        let before = panics(task);
        (20..25).for_each(|version| stream.modified(&service(name, "10.0.0.67", version)));
        stream.modified(&service("last", "10.0.0.4", 30));
        until_at(&cluster, "last", Some("[10.0.0.4]")).await;
        // Its watch does not know, and asks the quarantine for nothing.
        assert_eq!(panics(task) - before, if task == WRITER { 2 } else { 5 }, "{name}");
        let told = logged(&server).iter().filter(|line| line.starts_with("quarantined")).count();
        assert_eq!(told, if task == WRITER { 3 } else { 1 }, "{name}");
        witness.missed_nothing();

        // It goes, and the memory of it too.
        stream.error(410, "Expired");
        let _stream = list(server.asked(STREAMED).await, &[("last", "10.0.0.4", 30)]).await;
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
    let bad = ["panics-in-decode", "panics-in-convert", "panics-in-index"];
    let mut page: Vec<_> = bad.iter().map(|name| service(name, "10.0.0.66", 2)).collect();
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
    let cluster = Arc::new(watch(&server, &[Kind::Service, Kind::Pod], LIMITS));
    let (services, pods) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3), ("db", "10.0.0.2", 4)]).await;
    let pods = pods.stream();
    pods.added(&pod("going", "10.1.0.1", 1, false));
    pods.list_ends("5");
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    let has_pod = |cluster: &Cluster| {
        let address = "10.1.0.1".parse().unwrap();
        cluster.snapshot().holders(address).any(|holder| matches!(holder, Holder::Pod(_)))
    };
    let witness = Witness::new(&cluster, move |cluster| {
        ip(cluster, "web").is_some() && ip(cluster, "db").is_some() && has_pod(cluster)
    });
    let before = panics("cluster-writer");
    services.added(&service("panics-in-writer", "10.0.0.66", 6));
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
    // All of it has arrived by the time this kind is sure to be listed.
    services.modified(&service("new", "10.0.0.5", 9));
    pods.added(&pod("going", "10.1.0.1", 1, true));
    assert_eq!(ip(&cluster, "web").as_deref(), Some(WEB), "pods are not listed yet");
    assert!(cluster.staleness() > stale.age);
    pods.list_ends("40");
    until_at(&cluster, "web", Some("[10.0.0.9]")).await;
    until("it is current", || cluster.staleness().is_zero()).await;
    until_at(&cluster, "new", Some("[10.0.0.5]")).await;
    witness.missed_nothing();
    assert!(has_pod(&cluster), "it is on its way out, but was known");
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
    stream.added(&service("panics-in-writer", "10.0.0.66", 4));
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
    stream.bookmark("7");
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
    let cluster = Arc::new(watch(&server, &[Kind::Service, Kind::ServiceImport], LIMITS));
    let (services, imports) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3)]).await;
    imports.json(&json!({"versions": [{"version": "v1beta1"}]}));
    let imports = server.asked(&["serviceimports"]).await.json_stream();
    imports.json(
        "BOOKMARK",
        &json!({"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}),
    );
    until("it is synced", || cluster.has_synced()).await;
    let witness = Witness::new(&cluster, |cluster| ip(cluster, "web").is_some());
    services.added(&service("panics-in-writer", "10.0.0.66", 6));
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
    let cluster = Arc::new(watch(&server, &[Kind::Namespace, Kind::Service], LIMITS));
    let (services, namespaces) = both(&mut server).await;
    let services = list(services, &[("web", "10.0.0.1", 3)]).await;
    let namespaces = namespaces.stream();
    namespaces.list_ends("5");
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    let witness = Witness::new(&cluster, |cluster| ip(cluster, "web").is_some());
    let before = panics("cluster-watch-services");
    services.added(&service("panics-in-watch", "10.0.0.66", 6));
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
        stream.added(&service("panics-in-watch", "10.0.0.66", 6));
        until("it is stale", || cluster.staleness() > Duration::from_millis(20)).await;
        stream = list(server.asked(STREAMED).await, &[("web", "10.0.0.1", 3)]).await;
        until("it is current", || cluster.staleness().is_zero()).await;
    }
}
