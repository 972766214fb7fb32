//! Memory of the real server with kubeadm's Corefile and a fixture cluster: after the first list, during a relist because
//! the API server lost its history, and after everything was deleted.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::cluster::objects::{Object, Resource};
use testkit::cluster::{Cluster, load};
use testkit::dns_server::get;
use testkit::peers::Peer;
use testkit::{DnsServer, Kind, ports};

/// As kubeadm writes it, except for addresses and the kubeconfig.
const COREFILE: &str = ".:{port} {
    bind 127.0.0.1
    errors
    health 127.0.0.1:{health} {
       lameduck 5s
    }
    ready 127.0.0.1:{ready}
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       kubeconfig {kubeconfig}
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus 127.0.0.1:{metrics}
    forward . 127.0.0.1:9 {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
";

/// The size of the cluster, and its memory limit.
struct Size {
    services: usize,
    slices_of_each: usize,
    endpoints_of_each: usize,
    namespaces: usize,
    /// Limit in megabytes above a server with an empty cluster.
    most: u64,
}

/// Peak memory limit during a relist, in percent of the memory before it.
const RELIST_PERCENT: u64 = 130;

/// Memory limit after everything was deleted, in megabytes above the start; or half of what the objects took, if that is
/// more: the heap is fragmented by then.
const LEFTOVER_LIMIT: u64 = 4;

const TIMEOUT: Duration = Duration::from_secs(120);

struct Fixture {
    cluster: Cluster,
    server: DnsServer,
    metrics: u16,
}

impl Fixture {
    fn start() -> Self {
        let cluster = Cluster::alone().unwrap();
        let [health, ready, metrics] = [(); 3].map(|()| ports::free().unwrap());
        let corefile = COREFILE
            .replace("{health}", &health.to_string())
            .replace("{ready}", &ready.to_string())
            .replace("{metrics}", &metrics.to_string())
            .replace("{kubeconfig}", &cluster.kubeconfig().display().to_string());
        let server = DnsServer::start_on_free_port(Kind::Rhumb, &corefile).unwrap();
        server.wait_until_ready(ready).unwrap();
        Self { cluster, server, metrics }
    }

    /// Megabytes, once stable for a while.
    fn stable_memory(&self) -> u64 {
        let mut last = self.rss();
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(50));
            let now = self.rss();
            if now.abs_diff(last) > 256 << 10 {
                (last, since) = (now, Instant::now());
            }
        }
        megabytes(self.rss())
    }

    fn rss(&self) -> u64 {
        self.server.process().rss().unwrap()
    }

    /// The sum of a metric's series that contain `text`.
    fn metric(&self, name: &str, text: &str) -> u64 {
        let all = get(self.metrics, "/metrics").unwrap();
        let rows = all.lines().filter(|line| line.starts_with(name) && line.contains(text));
        rows.filter_map(|row| row.rsplit_once(' ')?.1.parse::<f64>().ok()).sum::<f64>() as u64
    }

    fn wait_until(&self, what: &str, is: impl Fn() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is() {
            assert!(
                Instant::now() < deadline,
                "{what}: not within {TIMEOUT:?}\n{}",
                self.server.process().output()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn objects(&self, kind: Resource) -> usize {
        self.metric("rhumb_cluster_objects", kind.kind()) as usize
    }

    fn lists(&self) -> u64 {
        self.metric("rhumb_cluster_events_total", "event=\"list\"")
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

fn objects(size: &Size) -> Vec<Object> {
    let space = |n: usize| format!("team-{:02}", n % size.namespaces);
    let mut objects: Vec<Object> = (0..size.namespaces)
        .map(|n| Object::new(Resource::Namespace, "", &space(n), json!({"metadata": {"name": space(n)}})))
        .collect();
    let mut address = 11 << 24;
    for n in 0..size.services {
        let (namespace, service) = (space(n), format!("checkout-{n}"));
        let ports = json!([{"name": "http", "port": 80}, {"name": "metrics", "port": 9090}]);
        let kind = if size.services == 1 { "None" } else { "" };
        let body = json!({"metadata": {"name": service, "labels": {"app": service}},
                          "spec": {"clusterIP": kind, "ports": ports}});
        objects.push(Object::new(Resource::Service, &namespace, &service, body));
        for m in 0..size.slices_of_each {
            let name = format!("{service}-x7k{m:02}");
            let endpoint = |_| {
                address += 1;
                let pod = format!("{service}-7d5f5d7b9c-{address}");
                json!({"addresses": [std::net::Ipv4Addr::from_bits(address)], "conditions": {"ready": true},
                       "nodeName": "node-1", "zone": "eu-1a",
                       "targetRef": {"kind": "Pod", "name": pod, "namespace": namespace}})
            };
            let endpoints: Vec<_> = (0..size.endpoints_of_each).map(endpoint).collect();
            let labels = json!({"kubernetes.io/service-name": service});
            let ports = json!([{"name": "http", "port": 8080}, {"name": "metrics", "port": 9090}]);
            let body = json!({"metadata": {"name": name, "labels": labels}, "addressType": "IPv4",
                              "endpoints": endpoints, "ports": ports});
            objects.push(Object::new(Resource::EndpointSlice, &namespace, &name, body));
        }
    }
    objects
}

fn check(size: &Size) {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let mut fixture = Fixture::start();
    let start = fixture.stable_memory();
    let (services, slices) = (fixture.objects(Resource::Service), fixture.objects(Resource::EndpointSlice));
    let all = objects(size);
    load::load(fixture.cluster.api(), &all).unwrap();
    fixture.wait_until("all is known", || {
        fixture.objects(Resource::Service) == services + size.services
            && fixture.objects(Resource::EndpointSlice) == slices + size.services * size.slices_of_each
    });

    // An object outside the watches: all watched versions are older now, and a restarted API server has no
    // history before its own first list.
    let later = json!({"metadata": {"name": "later"}});
    fixture.cluster.api().create("/api/v1/namespaces/default/configmaps", &later).unwrap();
    let lists = fixture.lists();
    let steady = fixture.stable_memory();
    fixture.server.process().reset_peak().unwrap();
    fixture.cluster.restart().unwrap();
    fixture.wait_until("all is listed again", || fixture.lists() >= lists + 3);
    let relisted = fixture.stable_memory();
    let peak = megabytes(fixture.server.process().vm_hwm().unwrap());
    println!("start {start} MB, steady {steady}, peak of a new list {peak}, after it {relisted}");
    let grown = steady.saturating_sub(start);
    assert!(grown <= size.most, "it grew by {grown} MB to {steady}, and {} are allowed", size.most);
    assert!(peak * 100 <= steady * RELIST_PERCENT, "the relist peaked at {peak} MB; {steady} MB before it");

    for namespace in all.iter().filter(|object| object.resource == Resource::Namespace) {
        for resource in [Resource::Service, Resource::EndpointSlice] {
            let path = resource.collection(&namespace.name);
            // Thousands take longer than the request timeout; the next request deletes the rest.
            assert!((0..20).any(|_| fixture.cluster.api().delete(&path).is_ok()), "{path} cannot be emptied");
        }
    }
    fixture.wait_until("all is gone", || {
        fixture.objects(Resource::Service) <= services && fixture.objects(Resource::EndpointSlice) <= slices
    });
    let left = fixture.stable_memory();
    println!("deleted {left} MB");
    assert!(
        left <= start + LEFTOVER_LIMIT.max(grown / 2),
        "{left} MB left of {relisted} MB; {start} MB at the start"
    );
}

#[test]
fn medium_cluster() {
    check(&Size { services: 2_000, slices_of_each: 1, endpoints_of_each: 10, namespaces: 20, most: 6 });
}

/// Part of `make test-long`, as the tests below.
#[test]
#[ignore = "takes minutes"]
fn five_thousand_services() {
    check(&Size { services: 5_000, slices_of_each: 1, endpoints_of_each: 10, namespaces: 100, most: 12 });
}

#[test]
#[ignore = "takes minutes"]
fn five_thousand_services_in_one_namespace() {
    check(&Size { services: 5_000, slices_of_each: 1, endpoints_of_each: 10, namespaces: 1, most: 12 });
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_services() {
    check(&Size { services: 10_000, slices_of_each: 1, endpoints_of_each: 15, namespaces: 100, most: 24 });
}

#[test]
#[ignore = "takes minutes"]
fn one_headless_service_of_five_thousand_endpoints() {
    check(&Size { services: 1, slices_of_each: 50, endpoints_of_each: 100, namespaces: 1, most: 5 });
}
