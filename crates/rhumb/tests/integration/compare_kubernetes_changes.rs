//! CoreDNS and Rhumb watch a changing cluster; whenever it is quiet their answers are equal.
//!
//! Three hundred changes from a seed, which is printed; RHUMB_SEED repeats them. After every few, marks in the cluster
//! show when both servers have processed all changes; then they are compared. Meanwhile Rhumb answers every query.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::client;
use testkit::cluster::StoredObjects;
use testkit::cluster::generate::Size;
use testkit::cluster::marks::{Mark, ServedZones};
use testkit::cluster::names::{self, Zones};
use testkit::compare::{Comparison, Report};
use testkit::query::{GeneratedQuery, Generator, Options};

use crate::kubernetes::{AUTOPATH, IntendedDifferences, K8S_EXTERNAL, PLAIN, Pair, Variant, World};

const ROUNDS: usize = 8;
const CHANGES: usize = 40;
/// Per pair and round, plus as many of earlier rounds, to detect outdated answers.
const QUERIES: usize = 300;

/// Time limit until a change is visible. Generous, for busy machines.
const VISIBLE_TIMEOUT: Duration = Duration::from_secs(60);

const EVERYTHING: Variant = Variant {
    name: "everything",
    zones: "cluster.local clusterset.local in-addr.arpa ip6.arpa",
    options: "pods verified\nendpoint_pod_names\nzonal\nmulticluster clusterset.local",
    ..PLAIN
};

/// With selectors, so that label changes add and remove objects.
const SELECTED: Variant = Variant {
    name: "selected",
    options: "pods verified\nlabels tier=front\nnamespace_labels team=red\nignore empty_service",
    ..PLAIN
};

#[test]
fn changing_cluster() {
    let size = Size { services: 120, pods: 80, imports: 25 };
    let Some((world, mut changes)) = World::create(size) else { return };
    let source = world.source();
    let everything = Pair::start(&world, &EVERYTHING, &source, &source);
    let selected = Pair::start(&world, &SELECTED, &source, &source);
    // External addresses change, and autopath's clients change their namespaces.
    let outside = K8S_EXTERNAL.iter().find(|variant| variant.others.contains("headless")).unwrap();
    let searched = &AUTOPATH[0];
    let reached = Pair::start(&world, outside, &source, &source);
    let searching = Pair::start(&world, searched, &source, &source);
    let pairs = [
        (
            &EVERYTHING,
            &everything,
            ServedZones { zone: "cluster.local", pods: true, clusterset: Some("clusterset.local") },
        ),
        (&SELECTED, &selected, ServedZones { zone: "cluster.local", pods: true, clusterset: None }),
        (outside, &reached, ServedZones { zone: "cluster.local", pods: false, clusterset: None }),
        (searched, &searching, ServedZones { zone: "cluster.local", pods: true, clusterset: None }),
    ];

    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| query_until(&ended, everything.rhumb.addr(), &world));
        // A failure must stop the query thread, too, or the test would never end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut known = world.stored.clone();
            let mut failures = String::new();
            let mut before: [Vec<GeneratedQuery>; 4] = Default::default();
            for round in 0..ROUNDS {
                let made: Vec<String> =
                    (0..CHANGES).map(|_| changes.step(world.cluster.api()).unwrap()).collect();
                let mark = Mark::create(world.cluster.api(), round as u8).unwrap();
                known = known.union(&StoredObjects::read(world.cluster.api()).unwrap());
                let compared = |(variant, pair, served): &(&Variant, &Pair, ServedZones<'_>),
                                before: &mut Vec<_>| {
                    for server in [&pair.coredns, &pair.rhumb] {
                        mark.wait(server.addr(), *served, VISIBLE_TIMEOUT)
                            .unwrap_or_else(|error| panic!("{error}\n{}", server.output()));
                    }
                    let intended = IntendedDifferences::new(variant, &known);
                    let questions = questions(variant, *served, &known, world.seed + round as u64);
                    compare((variant, pair), &questions, before, intended)
                };
                // Concurrently, since most of the time is spent on queries that CoreDNS does not answer.
                let reports: Vec<Report> = std::thread::scope(|scope| {
                    let running: Vec<_> = pairs
                        .iter()
                        .zip(&mut before)
                        .map(|(pair, before)| scope.spawn(|| compared(pair, before)))
                        .collect();
                    running.into_iter().map(|pair| pair.join().unwrap()).collect()
                });
                for ((variant, ..), report) in pairs.iter().zip(reports) {
                    if !report.differences.is_empty() {
                        let _ = writeln!(failures, "\n== {} in round {round}", variant.name);
                        let _ = writeln!(failures, "after these changes:\n{}\n", made.join("\n"));
                        report.differences.iter().for_each(|difference| failures += &difference.to_string());
                    }
                }
            }
            assert!(failures.is_empty(), "repeat with RHUMB_SEED={}\n{failures}", world.seed);
        }));
        ended.store(true, Ordering::Relaxed);
        let (asked, silent) = asking.join().expect("the asking ends");
        println!("{asked} queries meanwhile, {silent} unanswered");
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        assert_eq!(silent, 0, "of {asked} queries while the cluster changed");
    });
}

/// The queries of a round, and their source addresses.
fn questions(
    variant: &Variant,
    served: ServedZones<'_>,
    known: &StoredObjects,
    seed: u64,
) -> (Vec<GeneratedQuery>, Vec<IpAddr>) {
    let zones = Zones { cluster: &["cluster.local"], set: served.clusterset.as_slice() };
    let options =
        Options { near_names: 0.03, odd_names: 0.0, odd_headers: 0.0, tcp: 0.05, ..Options::default() };
    let (pools, sources) = variant.questions(known, zones, seed);
    (Generator::new(seed, pools, options).take(QUERIES).collect(), sources)
}

/// Compares, and keeps the queries for the next round.
fn compare(
    (variant, pair): (&Variant, &Pair),
    (new, sources): &(Vec<GeneratedQuery>, Vec<IpAddr>),
    before: &mut Vec<GeneratedQuery>,
    intended: IntendedDifferences,
) -> Report {
    let all: Vec<GeneratedQuery> = before.iter().chain(new).cloned().collect();
    let report = Comparison::new(("CoreDNS", pair.coredns.addr()), ("Rhumb", pair.rhumb.addr()))
        .timeout(Duration::from_millis(1500))
        .sources(sources.clone())
        .repeated()
        .accept(move |difference| intended.reason(difference))
        .run_queries(&all)
        .unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{}: {:?}, accepted {:?}, {} differ",
        variant.name,
        report.rcodes,
        report.accepted,
        report.differences.len()
    );
    before.extend_from_slice(new);
    *before = before.iter().step_by(before.len().div_ceil(QUERIES)).cloned().collect();
    report
}

/// Queries a server until `ended`; returns the number of queries, and of those unanswered.
fn query_until(ended: &AtomicBool, server: SocketAddr, world: &World) -> (usize, usize) {
    let zones = Zones { cluster: &["cluster.local"], set: &["clusterset.local"] };
    let options = Options { odd_headers: 0.0, tcp: 0.05, ..Options::default() };
    let generator = Generator::new(world.seed, names::pools(&world.stored, zones, world.seed), options);
    let (mut asked, mut silent) = (0, 0);
    for query in generator {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let outcome = client::query(server, query.transport, &query.wire, Duration::from_secs(5));
        if outcome.is_ok_and(|outcome| outcome.reply().is_none()) {
            println!("no answer to {}", query.description);
            silent += 1;
        }
        asked += 1;
        // Leaves CPU time to the compared servers.
        std::thread::sleep(Duration::from_millis(2));
    }
    (asked, silent)
}

const _: () = assert!(ROUNDS * CHANGES >= 300 && ROUNDS * QUERIES * 2 >= 2_000, "enough of both");
