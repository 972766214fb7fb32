//! Faults at random, on real servers: no answer is ever wrong, and every change made meanwhile shows after them.
//!
//! A schedule follows from its seed. While etcd, the API server, the way to it and the token for it fail, the cluster
//! changes whenever it can, and every name is asked for two hundred times a second. The judge knows what each name was
//! like when. `RHUMB_SEED` repeats a run; CONTRIBUTING.md says how to repeat one schedule.

mod action;
mod ask;
mod change;
mod history;
mod judge_tests;
mod lane;
mod plan;
mod run;
mod scene;
mod schedule;
mod subject;
mod write;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lane::Lane;
use run::{Outcome, run};
use schedule::{Fault, Schedule};
use testkit::network::Cable;
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

/// Part of `make test-long`. `RHUMB_SCHEDULES` says how many, one with the seed `RHUMB_SEED` and others with the next.
#[test]
#[ignore = "takes half an hour"]
fn a_hundred_schedules() {
    let count = std::env::var("RHUMB_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(104);
    let seed = seed_from_env();
    let schedules = (seed..).take(count).map(Schedule::random).collect();
    check(schedules, 4, Duration::from_secs(44 * 60));
}

/// Runs them on so many lanes at once, and none begins after `limit`.
fn check(schedules: Vec<Schedule>, lanes: usize, limit: Duration) {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let Some(cables) = lay(lanes.min(schedules.len())) else { return };
    let (began, next, outcomes) = (Instant::now(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let drive = |cable| {
        let mut lane = Lane::start(cable).unwrap_or_else(|error| panic!("{error}"));
        for round in 1..=250 {
            let Some(schedule) = schedules.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            assert!(began.elapsed() < limit, "not all schedules could begin within {limit:?}");
            let outcome = run(&mut lane, schedule, round);
            println!("{outcome}");
            if let Some(failure) = &outcome.failure {
                println!("{failure}");
            }
            outcomes.lock().unwrap().push(outcome);
        }
    };
    std::thread::scope(|scope| {
        let driving: Vec<_> = cables.into_iter().map(|cable| scope.spawn(|| drive(cable))).collect();
        // All end before one of them fails the test.
        let ended: Vec<_> = driving.into_iter().map(|lane| lane.join()).collect();
        ended.into_iter().for_each(|lane| lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    sum_up(&outcomes.into_inner().unwrap(), schedules.len());
}

fn sum_up(outcomes: &[Outcome], expected: usize) {
    let mut recoveries: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.recovery).collect();
    recoveries.sort_unstable();
    let wrong: Vec<_> = outcomes.iter().filter(|outcome| outcome.failure.is_some()).collect();
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    println!(
        "{} schedules, {} wrong; {} faults, {} questions, {} changes; recovered after {:.1?} (median), {:.1?} (most)",
        outcomes.len(),
        wrong.len(),
        sum(|outcome| outcome.schedule.steps.len()),
        sum(|outcome| outcome.asked),
        sum(|outcome| outcome.changes),
        recoveries.get(recoveries.len() / 2).copied().unwrap_or_default(),
        recoveries.last().copied().unwrap_or_default(),
    );
    assert_eq!(outcomes.len(), expected, "a lane ended too early");
    let seeds: Vec<_> = wrong.iter().map(|outcome| outcome.schedule.seed).collect();
    assert!(
        wrong.is_empty(),
        "wrong with these seeds: {seeds:?}; first:\n{}",
        wrong[0].failure.as_ref().unwrap()
    );
}

/// Nothing, and a line that says so, where a test can do without.
fn lay(count: usize) -> Option<Vec<Cable>> {
    let cables: testkit::Result<Vec<Cable>> = (0..count).map(|_| Cable::lay()).collect();
    match cables {
        Ok(cables) => Some(cables),
        Err(why) => {
            assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "no namespaces here: {why}");
            println!("skipped: no namespaces here: {why}");
            None
        }
    }
}
