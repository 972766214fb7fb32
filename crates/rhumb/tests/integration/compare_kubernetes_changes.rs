//! A cluster that keeps changing: CoreDNS and Rhumb watch it, and whenever it is quiet they say the same.
//!
//! Three hundred changes from a seed, which is printed; RHUMB_SEED repeats them. After every few, marks in the
//! cluster tell when both servers have seen all of it; then they are compared. Meanwhile Rhumb answers everything.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::client;
use testkit::cluster::Stored;
use testkit::cluster::generate::Size;
use testkit::cluster::marks::{Mark, Shown};
use testkit::cluster::names::{self, Zones};
use testkit::compare::{Comparison, Report};
use testkit::query::{GeneratedQuery, Generator, Options};

use crate::kubernetes::{AUTOPATH, K8S_EXTERNAL, Meant, PLAIN, Pair, Variant, World};

const ROUNDS: usize = 8;
const CHANGES: usize = 40;
/// For each pair in each round, and as many of the rounds before: what is remembered must not be what was.
const QUERIES: usize = 300;

/// How long a change may take to be seen. Far more than it takes, for machines that do other things, too.
const SEEN: Duration = Duration::from_secs(60);

const EVERYTHING: Variant = Variant {
    name: "everything",
    zones: "cluster.local clusterset.local in-addr.arpa ip6.arpa",
    options: "pods verified\nendpoint_pod_names\nzonal\nmulticluster clusterset.local",
    ..PLAIN
};

/// Objects come and go here by their labels alone.
const SELECTED: Variant = Variant {
    name: "selected",
    options: "pods verified\nlabels tier=front\nnamespace_labels team=red\nignore empty_service",
    ..PLAIN
};

#[test]
fn a_cluster_that_changes() {
    let size = Size { services: 120, pods: 80, imports: 25 };
    let Some((world, mut changes)) = World::create(size) else { return };
    let source = world.source();
    let everything = Pair::start(&world, &EVERYTHING, &source, &source);
    let selected = Pair::start(&world, &SELECTED, &source, &source);
    // External addresses come and go, and those who search change their namespaces.
    let outside = K8S_EXTERNAL.iter().find(|variant| variant.others.contains("headless")).unwrap();
    let searched = &AUTOPATH[0];
    let reached = Pair::start(&world, outside, &source, &source);
    let searching = Pair::start(&world, searched, &source, &source);
    let pairs = [
        (
            &EVERYTHING,
            &everything,
            Shown { zone: "cluster.local", pods: true, set: Some("clusterset.local") },
        ),
        (&SELECTED, &selected, Shown { zone: "cluster.local", pods: true, set: None }),
        (outside, &reached, Shown { zone: "cluster.local", pods: false, set: None }),
        (searched, &searching, Shown { zone: "cluster.local", pods: true, set: None }),
    ];

    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask_until(&ended, everything.rhumb.addr(), &world));
        // A failure in between must end the asking, too, or the test would never end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut known = world.stored.clone();
            let mut failures = String::new();
            let mut before: [Vec<GeneratedQuery>; 4] = Default::default();
            for round in 0..ROUNDS {
                let made: Vec<String> =
                    (0..CHANGES).map(|_| changes.step(world.cluster.api()).unwrap()).collect();
                let mark = Mark::set(world.cluster.api(), round as u8).unwrap();
                known = known.and(&Stored::read(world.cluster.api()).unwrap());
                let compared = |(variant, pair, shown): &(&Variant, &Pair, Shown<'_>),
                                before: &mut Vec<_>| {
                    for server in [&pair.coredns, &pair.rhumb] {
                        mark.wait(server.addr(), *shown, SEEN)
                            .unwrap_or_else(|error| panic!("{error}\n{}", server.output()));
                    }
                    let meant = Meant::new(variant, &known);
                    let questions = questions(variant, *shown, &known, world.seed + round as u64);
                    compare((variant, pair), &questions, before, meant)
                };
                // At once, since most of the time is waiting for answers that CoreDNS does not give.
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
        println!("{asked} asked meanwhile, {silent} without an answer");
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        assert_eq!(silent, 0, "of {asked} questions asked while the cluster changed");
    });
}

/// What is asked in a round, and from where.
fn questions(
    variant: &Variant,
    shown: Shown<'_>,
    known: &Stored,
    seed: u64,
) -> (Vec<GeneratedQuery>, Vec<IpAddr>) {
    let zones = Zones { cluster: &["cluster.local"], set: shown.set.as_slice() };
    let options =
        Options { near_names: 0.03, odd_names: 0.0, odd_headers: 0.0, tcp: 0.05, ..Options::default() };
    let (pools, sources) = variant.questions(known, zones, seed);
    (Generator::new(seed, pools, options).take(QUERIES).collect(), sources)
}

/// Compares, and leaves what to ask again in the next round.
fn compare(
    (variant, pair): (&Variant, &Pair),
    (new, sources): &(Vec<GeneratedQuery>, Vec<IpAddr>),
    before: &mut Vec<GeneratedQuery>,
    meant: Meant,
) -> Report {
    let all: Vec<GeneratedQuery> = before.iter().chain(new).cloned().collect();
    let report = Comparison::new(("CoreDNS", pair.coredns.addr()), ("Rhumb", pair.rhumb.addr()))
        .timeout(Duration::from_millis(1500))
        .sources(sources.clone())
        .repeated()
        .accept(move |difference| meant.reason(difference))
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

/// Asks one server after another question until told to end; how many there were, and how many without answer.
fn ask_until(ended: &AtomicBool, server: SocketAddr, world: &World) -> (usize, usize) {
    let zones = Zones { cluster: &["cluster.local"], set: &["clusterset.local"] };
    let options = Options { odd_headers: 0.0, tcp: 0.05, ..Options::default() };
    let generator = Generator::new(world.seed, names::pools(&world.stored, zones, world.seed), options);
    let (mut asked, mut silent) = (0, 0);
    for query in generator {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let outcome = client::ask(server, query.transport, &query.wire, Duration::from_secs(5));
        if outcome.is_ok_and(|outcome| outcome.reply().is_none()) {
            println!("no answer to {}", query.description);
            silent += 1;
        }
        asked += 1;
        // Leaves the machine to those who are compared.
        std::thread::sleep(Duration::from_millis(2));
    }
    (asked, silent)
}

const _: () = assert!(ROUNDS * CHANGES >= 300 && ROUNDS * QUERIES * 2 >= 2_000, "enough of both");
