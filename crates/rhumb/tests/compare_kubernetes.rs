//! The `kubernetes` plugin gives the same answers as CoreDNS's, with every option, on a real API server.
//!
//! One cluster is made up from a seed, which is printed; RHUMB_SEED repeats it. Each variant of the options is
//! asked a thousand questions about it: names of every shape, right and nearly right. RHUMB_VARIANT runs one
//! variant alone, RHUMB_SHOWN says how many differences of each are shown.

mod kubernetes;

use std::fmt::Write;
use std::time::{Duration, Instant};

use kubernetes::{Meant, PLAIN, Pair, Variant, World};
use testkit::cluster::generate::Size;
use testkit::cluster::manifests;
use testkit::cluster::names::{self, Zones};
use testkit::compare::{self, Comparison, Report};
use testkit::query::{Generator, Options};

/// For each variant; they ask more than 20,000 in all.
const QUERIES: usize = 1_200;

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
    // Only a server that listens everywhere knows an address of its own to name as name server.
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

/// What kubeadm installs, but for its forwarding: nothing asked here may leave the machine.
const KUBEADM: Variant = Variant {
    name: "as kubeadm has it",
    options: "pods insecure\nfallthrough in-addr.arpa ip6.arpa\nttl 30",
    others: "cache 30 {\ndisable success cluster.local\ndisable denial cluster.local\n}\nloadbalance\nwhoami",
    ..PLAIN
};

#[test]
fn every_option() {
    let Some((world, _)) = World::create(Size::default()) else { return };
    let only = std::env::var("RHUMB_VARIANT").ok();
    let chosen = |variant: &&Variant| only.as_ref().is_none_or(|name| name == variant.name);
    let mut failures = String::new();
    let mut asked = 0;
    for variant in VARIANTS.iter().filter(chosen) {
        let report = compare(&world, variant, &world.source(), &world.source());
        asked += note(variant.name, &report, &mut failures);
    }

    // The same objects from other sources.
    let (certificate, key) = world.cluster.client_certificate();
    let tls =
        format!("tls {} {} {}", certificate.display(), key.display(), world.cluster.ca_file().display());
    let endpoint = format!("endpoint {}\n{tls}", world.cluster.url());
    let variant = Variant { name: "endpoint and tls", options: "pods verified", ..PLAIN };
    if chosen(&&variant) {
        asked += note(variant.name, &compare(&world, &variant, &endpoint, &endpoint), &mut failures);
    }
    let folder = tempfile::tempdir().unwrap();
    manifests::write(&world.stored, folder.path()).unwrap();
    let manifests = format!("manifests {}", folder.path().display());
    let options = "pods verified\nmulticluster clusterset.local\nlabels tier notin (back)";
    let variant = Variant { name: "manifests", zones: SET, options, ..PLAIN };
    if chosen(&&variant) {
        asked += note(variant.name, &compare(&world, &variant, &world.source(), &manifests), &mut failures);
    }
    assert!(failures.is_empty(), "repeat with RHUMB_SEED={}\n{failures}", world.seed);
    assert!(only.is_some() || asked >= 20_000, "only {asked} asked");
}

fn compare(world: &World, variant: &Variant, coredns: &str, rhumb: &str) -> Report {
    let began = Instant::now();
    let pair = Pair::start(variant, coredns, rhumb);
    let zones = Zones { cluster: clusters(variant), set: sets(variant) };
    // Each variant has questions of its own, all from the one seed.
    let seed = world.seed.wrapping_add(variant.name.bytes().map(u64::from).sum());
    let options = Options {
        near_names: 0.06,
        odd_names: 0.01,
        odd_headers: 0.03,
        tcp: 0.1,
        mixed_case: 0.3,
        transfers: true,
        ..Options::default()
    };
    let generator = Generator::new(seed, names::pools(&world.stored, zones, seed), options);
    // What a cache holds depends on the order of questions.
    let cached = variant.others.contains("cache");
    let meant = Meant::new(variant, &world.stored);
    let report = Comparison::new(("CoreDNS", pair.coredns.addr()), ("Rhumb", pair.rhumb.addr()))
        .lanes(if cached { 1 } else { 8 })
        .options(compare::Options { cached_ttl: cached, ..compare::Options::default() })
        .timeout(Duration::from_millis(1500))
        .accept(move |difference| meant.reason(difference))
        .run(generator, queries(variant))
        .unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{}: {} silent, {:?}, accepted {:?}, {} differ, {:?}",
        variant.name,
        report.silent,
        report.rcodes,
        report.accepted,
        report.differences.len(),
        began.elapsed()
    );
    report.unanswered.iter().for_each(|question| println!("    unanswered: {question}"));
    report
}

/// CoreDNS does not answer PTR questions in a block for the root, which costs a time-out each.
fn queries(variant: &Variant) -> usize {
    if variant.zones == "." { QUERIES / 4 } else { QUERIES }
}

/// Zones of the cluster that questions go to.
fn clusters(variant: &Variant) -> &'static [&'static str] {
    if variant.zones.contains("Second") {
        &["cluster.local", "second.example", "sub.cluster.local"]
    } else if variant.zones == "." {
        &["cluster.local", "."]
    } else {
        &["cluster.local"]
    }
}

/// Zones of the cluster set that questions go to.
fn sets(variant: &Variant) -> &'static [&'static str] {
    if variant.zones.contains("clusterset") { &["clusterset.local"] } else { &[] }
}

/// Writes down what differs; tells how many questions were asked.
fn note(name: &str, report: &Report, failures: &mut String) -> usize {
    let shown = std::env::var("RHUMB_SHOWN").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    if !report.differences.is_empty() {
        let _ = writeln!(failures, "\n== {name}: {} of {} differ", report.differences.len(), report.asked);
        for difference in report.differences.iter().take(shown) {
            let _ = write!(failures, "\n{difference}");
        }
    }
    report.asked
}

const _: () = assert!(VARIANTS.len() * QUERIES >= 20_000, "enough questions in all");
