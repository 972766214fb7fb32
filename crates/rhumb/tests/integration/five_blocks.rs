//! Five blocks that read one cluster, each with its own options, cost as much as one block: one watch per kind of
//! object, and the memory of one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use testkit::cluster::generate::{self, Size};
use testkit::cluster::{Cluster, Method, load};
use testkit::peers::Peer;
use testkit::{DnsServer, Kind, ports};

const SIZE: Size = Size { services: 2_000, pods: 500, imports: 0 };

/// Zone and options of each block. The first needs everything the others need.
const BLOCKS: [(&str, &str); 5] = [
    ("cluster.local", "pods verified\nendpoint_pod_names\nzonal"),
    ("front.local", "labels tier=front\npods insecure"),
    ("shop.local", "namespaces shop team-a\npods verified\nttl 30"),
    ("red.local", "namespace_labels team=red\nignore empty_service"),
    ("bare.local", "noendpoints\nfallthrough"),
];

const KINDS: [&str; 4] = ["services", "endpointslices", "namespaces", "pods"];

#[test]
fn five_blocks_cost_what_one_does() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let cluster = Cluster::alone().unwrap();
    load::load(cluster.api(), &generate::cluster(5, SIZE)).unwrap();
    // The API server has watches of its own, too.
    let before = stable_watches(&cluster);

    let one = measure(&cluster, &BLOCKS[..1]);
    let five = measure(&cluster, &BLOCKS);
    println!("one block: {:.1} MB, five: {:.1} MB", one.megabytes(), five.megabytes());
    for (watches, blocks) in [(&one.watches, "one block"), (&five.watches, "five blocks")] {
        for kind in KINDS {
            let more = watches.get(kind).unwrap_or(&0) - before.get(kind).unwrap_or(&0);
            assert_eq!(more, 1, "watches of {kind} by {blocks}");
        }
    }
    assert!(five.memory as f64 <= 1.1 * one.memory as f64, "five {} B, one {} B", five.memory, one.memory);
}

struct Cost {
    /// Resident, in bytes.
    memory: u64,
    watches: BTreeMap<String, i64>,
}

impl Cost {
    fn megabytes(&self) -> f64 {
        self.memory as f64 / 1e6
    }
}

fn measure(cluster: &Cluster, blocks: &[(&str, &str)]) -> Cost {
    let (port, ready) = (ports::free().expect("a port"), ports::free().expect("a port"));
    let kubeconfig = cluster.kubeconfig();
    let block = |(zone, options): &(&str, &str)| {
        format!(
            "{zone}:{port} {{\nbind 127.0.0.1\nready 127.0.0.1:{ready}\nkubernetes {{\nkubeconfig {}\n{options}\n}}\n}}\n",
            kubeconfig.display()
        )
    };
    let corefile: String = blocks.iter().map(block).collect();
    let server = DnsServer::start(Kind::Rhumb, &corefile, port).unwrap_or_else(|error| panic!("{error}"));
    server.wait_until_ready(ready).unwrap_or_else(|error| panic!("{error}"));
    let cost = Cost { memory: stable_memory(&server), watches: stable_watches(cluster) };
    drop(server);
    cost
}

/// The memory once it has changed by less than 1 % for two seconds.
fn stable_memory(server: &DnsServer) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut last = server.process().rss().expect("its memory");
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
        let now = server.process().rss().expect("its memory");
        if now.abs_diff(last) > last / 100 {
            (last, since) = (now, Instant::now());
        }
    }
    server.process().rss().expect("its memory")
}

/// Open watches by kind, once unchanged for two seconds: those of a stopped server close late.
fn stable_watches(cluster: &Cluster) -> BTreeMap<String, i64> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut last = watches(cluster);
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
        let now = watches(cluster);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

fn watches(cluster: &Cluster) -> BTreeMap<String, i64> {
    let metrics = cluster.api().send(Method::GET, "/metrics", None).expect("metrics").text();
    let mut open = BTreeMap::new();
    for line in metrics.lines().filter(|line| line.starts_with("apiserver_longrunning_requests{")) {
        let label = |name: &str| {
            let (_, rest) = line.split_once(&format!("{name}=\""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let value: i64 = line.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default();
        if label("verb").as_deref() == Some("WATCH") {
            *open.entry(label("resource").unwrap_or_default()).or_default() += value;
        }
    }
    open
}
