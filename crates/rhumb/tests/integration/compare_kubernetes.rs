//! The `kubernetes` plugin returns the same answers as CoreDNS's, with every option, on a real API server.
//!
//! One cluster is generated from a seed, which is printed; RHUMB_SEED repeats it. Each variant of the options gets a
//! thousand queries: names of every form, existing and nearly so. RHUMB_VARIANT runs only the variants whose names start
//! with it, RHUMB_QUERIES sets the queries per variant, RHUMB_SHOWN the number of differences printed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testkit::DnsServer;
use testkit::cluster::generate::Size;
use testkit::cluster::manifests;
use testkit::cluster::names::Zones;
use testkit::compare::{self, Comparison, Report};
use testkit::query::{Generator, Options};

use crate::kubernetes::{AUTOPATH, IntendedDifferences, K8S_EXTERNAL, PLAIN, Pair, Variant, World};

/// Per variant; more than 20,000 in all.
const QUERIES: usize = 1_200;

/// Concurrent variants: most of the time is spent on queries that CoreDNS does not answer.
const CONCURRENT_VARIANTS: usize = 4;

const SET: &str = "cluster.local clusterset.local in-addr.arpa ip6.arpa";

const VARIANTS: &[Variant] = &[
    PLAIN,
    Variant { name: "pods insecure", options: "pods insecure", ..PLAIN },
    Variant { name: "pods verified", options: "pods verified", ..PLAIN },
    Variant { name: "endpoint_pod_names", options: "endpoint_pod_names\nttl 30", ..PLAIN },
    Variant { name: "noendpoints", options: "noendpoints\npods insecure", ..PLAIN },
    Variant { name: "namespaces", options: "namespaces shop svc nosuch\npods insecure", ..PLAIN },
    Variant { name: "namespaces verified", options: "namespaces team-a pod\npods verified", ..PLAIN },
    Variant { name: "namespace_labels", options: "namespace_labels team=red\npods verified", ..PLAIN },
    Variant {
        name: "namespace_labels in",
        options: "namespace_labels team in (red, blue),tier notin (back)\npods insecure",
        ..PLAIN
    },
    Variant { name: "labels", options: "labels tier=front\npods verified", ..PLAIN },
    Variant {
        name: "labels in",
        options: "labels tier in (front, back),!env\npods insecure\nendpoint_pod_names",
        ..PLAIN
    },
    Variant {
        name: "labels and namespace_labels",
        options: "labels env\nnamespace_labels team=blue",
        ..PLAIN
    },
    Variant { name: "ttl 0", options: "ttl 0", ..PLAIN },
    Variant { name: "ttl 3600", options: "ttl 3600\npods insecure", ..PLAIN },
    Variant { name: "fallthrough", options: "fallthrough\npods verified", others: "whoami", ..PLAIN },
    Variant { name: "fallthrough to nothing", options: "fallthrough", ..PLAIN },
    Variant {
        name: "fallthrough zones",
        options: "fallthrough in-addr.arpa shop.svc.cluster.local\npods insecure",
        others: "whoami",
        ..PLAIN
    },
    Variant {
        name: "other classes",
        options: "pods verified\nfallthrough",
        others: "chaos\ntemplate IN A example.net {\nanswer \"{{ .Name }} 60 IN A 192.0.2.9\"\n}\nwhoami",
        ..PLAIN
    },
    Variant { name: "ignore empty_service", options: "ignore empty_service", ..PLAIN },
    Variant { name: "zonal", options: "zonal\npods verified\nendpoint_pod_names", ..PLAIN },
    Variant { name: "multicluster", zones: SET, options: "multicluster clusterset.local", ..PLAIN },
    Variant {
        name: "multicluster with everything",
        zones: "clusterset.local cluster.local 10.0.0.0/8 ip6.arpa",
        options: "multicluster clusterset.local\npods verified\nendpoint_pod_names\nzonal\nnamespaces shop team-a prod pod\nttl 60",
        ..PLAIN
    },
    Variant {
        name: "multicluster and labels",
        zones: SET,
        options: "multicluster clusterset.local\nlabels tier=front\nnamespace_labels team=red",
        ..PLAIN
    },
    Variant {
        name: "zones and networks",
        zones: "Second.Example cluster.local 10.96.0.0/12 10.244.0.0/23 fd00::/8 sub.cluster.local",
        options: "pods insecure",
        ..PLAIN
    },
    Variant {
        name: "reverse zones first",
        zones: "10.0.0.0/8 fd00::/9 cluster.local",
        options: "pods verified",
        ..PLAIN
    },
    Variant {
        name: "without reverse zones",
        zones: "cluster.local",
        options: "zonal\nignore empty_service",
        ..PLAIN
    },
    Variant {
        name: "everything is mine",
        zones: ".",
        options: "pods verified\nfallthrough",
        others: "whoami",
        ..PLAIN
    },
    // Only a server on all addresses has an address to return for its name server.
    Variant { name: "name servers", options: "pods insecure", bound: false, ..PLAIN },
    Variant { name: "name servers unknown", options: "labels tier=back\nttl 30", bound: false, ..PLAIN },
    Variant {
        name: "name servers hidden",
        options: "namespaces prod\nendpoint_pod_names",
        bound: false,
        ..PLAIN
    },
    KUBEADM,
];

/// kubeadm's Corefile, except for the upstream.
const KUBEADM: Variant = Variant {
    name: "as kubeadm has it",
    options: "pods insecure\nfallthrough in-addr.arpa ip6.arpa\nttl 30",
    others: "cache 30 {\ndisable success cluster.local\ndisable denial cluster.local\n}\nloadbalance\n\
             forward . {upstream} {\nmax_concurrent 1000\n}",
    ..PLAIN
};

/// The metadata of each query, written by `log`. Without a ClusterSet, whose names CoreDNS misinterprets.
const METADATA: Variant = Variant {
    name: "metadata",
    options: "pods verified\nzonal",
    others: "metadata\nlog . \"META {type} {name} {/kubernetes/kind} {/kubernetes/namespace} {/kubernetes/service} \
             {/kubernetes/endpoint} {/kubernetes/port-name} {/kubernetes/protocol} {/kubernetes/zone} \
             {/kubernetes/parse-error} {/kubernetes/client-namespace} {/kubernetes/client-pod-name} \
             {/kubernetes/client-label/tier}\"",
    ..PLAIN
};

#[test]
fn every_option() {
    let Some((world, _)) = World::create(Size::default()) else { return };
    let source = world.source();
    let only = std::env::var("RHUMB_VARIANT").ok();
    let run = Run { world, only, failures: Mutex::default(), asked: AtomicUsize::new(0) };
    let variants = Mutex::new(VARIANTS.iter().chain(K8S_EXTERNAL).chain(AUTOPATH));
    let next = || variants.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT_VARIANTS {
            scope.spawn(|| {
                while let Some(variant) = next() {
                    run.variant(variant, &source, &source);
                }
            });
        }
    });
    if let Some(pair) = run.variant(&METADATA, &source, &source) {
        run.failed(&metadata_differences(&pair));
    }

    // The same objects from other sources.
    let cluster = &run.world.cluster;
    let (certificate, key) = cluster.client_certificate();
    let tls = format!("tls {} {} {}", certificate.display(), key.display(), cluster.ca_file().display());
    let endpoint = format!("endpoint {}\n{tls}", cluster.url());
    let options = "pods verified";
    run.variant(&Variant { name: "endpoint and tls", options, ..PLAIN }, &endpoint, &endpoint);
    let folder = tempfile::tempdir().unwrap();
    manifests::write(&run.world.stored, folder.path()).unwrap();
    let manifests = format!("manifests {}", folder.path().display());
    let options = "pods verified\nmulticluster clusterset.local\nlabels tier notin (back)";
    run.variant(&Variant { name: "manifests", zones: SET, options, ..PLAIN }, &source, &manifests);

    let Run { world, only, failures, asked } = run;
    let (failures, asked) = (failures.into_inner().unwrap(), asked.into_inner());
    assert!(failures.is_empty(), "repeat with RHUMB_SEED={}\n{failures}", world.seed);
    assert!(only.is_some() || asked >= 20_000, "only {asked} queries");
}

/// All variants: a difference in one does not stop the others.
struct Run {
    world: World,
    /// Runs only the variants whose names start with this.
    only: Option<String>,
    failures: Mutex<String>,
    asked: AtomicUsize,
}

impl Run {
    fn failed(&self, text: &str) {
        self.failures.lock().unwrap().push_str(text);
    }

    /// Compares and records the differences. None if the variant is skipped.
    fn variant(&self, variant: &Variant, coredns: &str, rhumb: &str) -> Option<Pair> {
        if self.only.as_ref().is_some_and(|name| !variant.name.starts_with(name)) {
            return None;
        }
        let began = Instant::now();
        let pair = Pair::start(&self.world, variant, coredns, rhumb);
        let report = compare(&self.world, variant, &pair);
        println!(
            "{}: {:?}, accepted {:?}, {} differ, {:?}",
            variant.name,
            report.rcodes,
            report.accepted,
            report.differences.len(),
            began.elapsed()
        );
        report.unanswered.iter().for_each(|question| println!("    {} unanswered: {question}", variant.name));
        self.asked.fetch_add(report.queries, Ordering::Relaxed);
        if !report.differences.is_empty() {
            let shown = std::env::var("RHUMB_SHOWN").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
            let count = report.differences.len();
            let mut text = format!("\n== {}: {count} of {} differ\n", variant.name, report.queries);
            for difference in report.differences.iter().take(shown) {
                let _ = write!(text, "\n{difference}");
            }
            self.failed(&text);
        }
        Some(pair)
    }
}

fn compare(world: &World, variant: &Variant, pair: &Pair) -> Report {
    let zones = Zones { cluster: clusters(variant), set: sets(variant) };
    // Each variant has its own queries, all from one seed.
    let seed = world.seed.wrapping_add(variant.name.bytes().map(u64::from).sum());
    let options = Options {
        near_names: 0.06,
        odd_names: 0.01,
        odd_headers: 0.03,
        classes: if opens_classes(variant) { 0.25 } else { 0.01 },
        tcp: 0.1,
        mixed_case: 0.3,
        transfers: true,
        ..Options::default()
    };
    let (pools, sources) = variant.questions(&world.stored, zones, seed);
    let generator = Generator::new(seed, pools, options);
    // The content of a cache depends on the order of queries.
    let cached = variant.others.contains("cache");
    let intended = IntendedDifferences::new(variant, &world.stored);
    Comparison::new(("CoreDNS", pair.coredns.addr()), ("Rhumb", pair.rhumb.addr()))
        .lanes(if cached { 1 } else { 8 })
        .options(compare::Options { cached_ttl: cached, ..compare::Options::default() })
        .timeout(Duration::from_millis(1500))
        .sources(sources)
        .repeated()
        .accept(move |difference| intended.reason(difference))
        .run(generator, queries(variant))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The log lines that only one server has. A query may be repeated, so duplicates count once.
fn metadata_differences(pair: &Pair) -> String {
    // The last lines may still be in the pipe.
    std::thread::sleep(Duration::from_millis(500));
    // Lookups of ExternalName targets are logged too, and CoreDNS does more of them.
    let inside = |line: &String| {
        let name = line.split(' ').nth(3).unwrap_or_default().to_lowercase();
        line.contains("META ") && [".cluster.local.", ".arpa."].iter().any(|end| name.ends_with(end))
    };
    let lines = |server: &DnsServer| -> BTreeSet<String> {
        server.process().lines().into_iter().filter(inside).collect()
    };
    let (coredns, rhumb) = (lines(&pair.coredns), lines(&pair.rhumb));
    assert!(coredns.len() > QUERIES / 3, "only {} lines", coredns.len());
    let mut text = String::new();
    for line in coredns.symmetric_difference(&rhumb).take(10) {
        let side = if coredns.contains(line) { '-' } else { '+' };
        let _ = writeln!(text, "{side} {line}");
    }
    text
}

/// CoreDNS does not answer PTR queries in a block for the root, which costs a timeout each.
fn queries(variant: &Variant) -> usize {
    let count = std::env::var("RHUMB_QUERIES").ok().and_then(|n| n.parse().ok()).unwrap_or(QUERIES);
    if variant.zones == "." { count / 4 } else { count }
}

/// Whether a plugin accepts classes other than IN.
fn opens_classes(variant: &Variant) -> bool {
    ["chaos", "forward"].iter().any(|plugin| variant.others.contains(plugin))
}

/// Queried zones of the cluster.
fn clusters(variant: &Variant) -> &'static [&'static str] {
    if variant.zones.contains("Second") {
        &["cluster.local", "second.example", "sub.cluster.local"]
    } else if variant.zones == "." {
        &["cluster.local", "."]
    } else {
        &["cluster.local"]
    }
}

/// Queried zones of the ClusterSet.
fn sets(variant: &Variant) -> &'static [&'static str] {
    if variant.zones.contains("clusterset") { &["clusterset.local"] } else { &[] }
}

const _: () = assert!(VARIANTS.len() * QUERIES >= 20_000, "enough queries in all");
