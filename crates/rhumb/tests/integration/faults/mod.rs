//! Random faults on real servers: no answer is ever wrong, and all changes are visible after recovery.
//!
//! A schedule is a function of its seed. While etcd, the API server, the link to it and the token for it fail, the test
//! changes the cluster whenever it can and sends two hundred queries a second. It checks each answer against the history
//! of the name. `RHUMB_SEED` repeats a run; CONTRIBUTING.md says how to repeat one schedule.

mod action;
mod change;
mod context;
mod history;
mod judge_tests;
mod plan;
mod prober;
mod run;
mod schedule;
mod subject;
mod testbed;
mod write;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use run::{Outcome, run};
use schedule::{Fault, Schedule};
use testbed::Testbed;
use testkit::network::Link;
use testkit::peers::Peer;
use testkit::random::seed_from_env;

/// Every kind of fault at least once, in five schedules.
const SHORT: [&[Fault]; 5] = [
    &[Fault::TokenExpired, Fault::Cut],
    &[Fault::HistoryLost, Fault::EtcdStopped],
    &[Fault::Cut, Fault::ApiKilled, Fault::EtcdStopped],
    &[Fault::EtcdKilled, Fault::ApiStopped, Fault::Cut],
    &[Fault::EtcdStopped, Fault::ApiRestarted, Fault::Cut],
];

#[test]
fn five_schedules() {
    assert!(Fault::ALL.iter().all(|fault| SHORT.iter().any(|faults| faults.contains(fault))));
    let seed = seed_from_env();
    let schedules = SHORT.iter().zip(seed..).map(|(faults, seed)| Schedule::short(seed, faults)).collect();
    check(schedules, 2, Duration::from_secs(400));
}

/// Part of `make test-long`. `RHUMB_SCHEDULES` is their number; their seeds count up from `RHUMB_SEED`.
#[test]
#[ignore = "takes half an hour"]
fn a_hundred_schedules() {
    let count = std::env::var("RHUMB_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(104);
    let seed = seed_from_env();
    let schedules = (seed..).take(count).map(Schedule::random).collect();
    check(schedules, 4, Duration::from_secs(44 * 60));
}

/// Runs them on several testbeds concurrently; none may start after `limit`.
fn check(schedules: Vec<Schedule>, testbeds: usize, limit: Duration) {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let Some(links) = create_links(testbeds.min(schedules.len())) else { return };
    let (started, next, outcomes) = (Instant::now(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let drive = |link| {
        let mut testbed = Testbed::start(link).unwrap_or_else(|error| panic!("{error}"));
        for round in 1..=250 {
            let Some(schedule) = schedules.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            assert!(started.elapsed() < limit, "not all schedules started within {limit:?}");
            let outcome = run(&mut testbed, schedule, round);
            println!("{outcome}");
            if let Some(failure) = &outcome.failure {
                println!("{failure}");
            }
            outcomes.lock().unwrap().push(outcome);
        }
    };
    std::thread::scope(|scope| {
        let driving: Vec<_> = links.into_iter().map(|link| scope.spawn(|| drive(link))).collect();
        // All testbeds finish before one of them fails the test.
        let ended: Vec<_> = driving.into_iter().map(|testbed| testbed.join()).collect();
        ended
            .into_iter()
            .for_each(|testbed| testbed.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    summarize(&outcomes.into_inner().unwrap(), schedules.len());
}

fn summarize(outcomes: &[Outcome], expected: usize) {
    let mut recoveries: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.recovery).collect();
    recoveries.sort_unstable();
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.failure.is_some()).collect();
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    println!(
        "{} schedules, {} failed; {} faults, {} queries, {} changes; recovered after {:.1?} (median), {:.1?} (maximum)",
        outcomes.len(),
        failed.len(),
        sum(|outcome| outcome.schedule.steps.len()),
        sum(|outcome| outcome.queries),
        sum(|outcome| outcome.changes),
        recoveries.get(recoveries.len() / 2).copied().unwrap_or_default(),
        recoveries.last().copied().unwrap_or_default(),
    );
    assert_eq!(outcomes.len(), expected, "a testbed ended too early");
    let seeds: Vec<_> = failed.iter().map(|outcome| outcome.schedule.seed).collect();
    assert!(
        failed.is_empty(),
        "failed seeds: {seeds:?}; first failure:\n{}",
        failed[0].failure.as_ref().unwrap()
    );
}

/// None, after printing why, where namespaces are not available and not required.
fn create_links(count: usize) -> Option<Vec<Link>> {
    let links: testkit::Result<Vec<Link>> = (0..count).map(|_| Link::create()).collect();
    match links {
        Ok(links) => Some(links),
        Err(why) => {
            assert!(
                std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(),
                "cannot create network namespaces: {why}"
            );
            println!("skipped: cannot create network namespaces: {why}");
            None
        }
    }
}
