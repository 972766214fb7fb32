//! Lists and watches against a scripted API server.

mod checks;
mod json;
mod kinds;
mod lists;
mod measured;
mod outages;
mod panics;
mod real;
mod server;
mod sources;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::object::{Kind, ServiceType};
use crate::want::Want;
use crate::watch::{Cluster, Level, Source, set_logger, start};
use kube_api::Limits;
use server::{DEADLINE, Server, service};

/// Long where tests do not wait, short where they do.
const LIMITS: Limits = Limits {
    response_timeout: Duration::from_secs(10),
    list_event_timeout: Duration::from_secs(10),
    list_timeout: Duration::from_secs(20),
    watch_silence: Duration::from_secs(20),
    census_interval: Duration::from_secs(3600),
    census_timeout: Duration::from_secs(10),
    delivery_grace: Duration::from_secs(10),
    max_lag: Duration::from_secs(20),
    relist_interval: Duration::from_secs(3600),
    peer_timeout: Duration::from_secs(30),
    first_response: Duration::from_secs(5),
    stable_after: Duration::ZERO,
    first_backoff: Duration::from_millis(10),
    max_backoff: Duration::from_millis(100),
    pages_since: (1, 34),
    discovery_interval: Duration::from_secs(3600),
    requests_per_second: 1000,
    request_burst: 1000,
};

fn watch(server: &Server, kinds: &[Kind], limits: Limits) -> Cluster {
    collect_log();
    let source = Source::Endpoint { url: server.url.clone(), tls: None };
    let want = Want { kinds: kinds.to_vec(), ..Want::default() };
    start(&source, &want, Some(limits), &Handle::current()).unwrap()
}

fn collect_log() {
    static LOG: std::sync::Once = std::sync::Once::new();
    LOG.call_once(|| set_logger(|_: Level, line| LINES.lock().unwrap().push(line.to_owned())));
}

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The log lines about a server so far, without its address.
fn logged(server: &Server) -> Vec<String> {
    let lines = LINES.lock().unwrap();
    lines
        .iter()
        .filter_map(|line| line.strip_prefix(&format!("{}: ", server.url)))
        .map(str::to_owned)
        .collect()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The cluster IPs of `shop/NAME`, as text.
fn ip(cluster: &Cluster, name: &str) -> Option<String> {
    let mut labels = vec![u8::try_from(name.len()).unwrap()];
    labels.extend(name.bytes());
    labels.extend(b"\x04shop");
    let snapshot = cluster.snapshot();
    match &snapshot.entry(&labels)?.service.as_ref()?.kind {
        ServiceType::ClusterIp(ips) => Some(format!("{ips:?}")),
        other => Some(format!("{other:?}")),
    }
}

async fn until_at(cluster: &Cluster, name: &str, at: Option<&str>) {
    until(&format!("{name} is at {at:?}"), || ip(cluster, name).as_deref() == at).await;
}

const STREAMED: &[&str] =
    &["/api/v1/services?", "watch=true", "sendInitialEvents=true", "allowWatchBookmarks=true"];
const WEB: &str = "[10.0.0.1]";

/// A cluster with one Service, watched from version 5.
async fn with_web(limits: Limits) -> (Server, Cluster, server::Stream) {
    let mut server = Server::start().await;
    let cluster = watch(&server, &[Kind::Service], limits);
    let stream = server.request(STREAMED).await.stream();
    stream.added(&service("web", "10.0.0.1", 3));
    stream.list_ends("5");
    until("it is synced", || cluster.has_synced()).await;
    (server, cluster, stream)
}
