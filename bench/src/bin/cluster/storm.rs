//! A thousand EndpointSlice changes per second from a scripted API server, under a query load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::Kind;
use testkit::dnsperf::Summary;
use testkit::error::{Error, Result};
use testkit::scripted_api::ScriptedApi;

use crate::data::{Service, Size};
use crate::percentile::Times;
use crate::server::{SERVERS, Server, Source};
use crate::{Bench, clients, memory, moving, start};
use bench::machine;

/// Changes per second.
pub const CHANGES: u32 = 1_000;

/// One change in so many moves the Service whose address is tracked.
const MOVES: u32 = 50;

/// Time limit until the last change is visible.
const LAST_CHANGE_TIMEOUT: Duration = Duration::from_secs(20);

/// One server in one round: the same load without changes and with them.
#[derive(Clone, Debug)]
pub struct Sample {
    pub quiet: Phase,
    pub storm: Phase,
    /// From a change to the answer with it, in milliseconds.
    pub delays: Times,
    /// Resident memory at the end, and its peak under changes, in octets.
    pub rss: u64,
    pub peak: u64,
}

/// The server's CPU time and its answers' latency.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Shares of a CPU.
    pub user: f64,
    pub system: f64,
    /// In milliseconds.
    pub answers: Times,
    pub lost: u64,
    pub sent: u32,
}

impl Phase {
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

pub fn measure(bench: &Bench, size: &Size) -> Result<Vec<(Kind, Sample)>> {
    machine::move_to_client_cpu(std::process::id())?;
    let mut samples = Vec::new();
    for round in 0..bench.plan.rounds {
        let mut order = SERVERS;
        order.rotate_left(round as usize % SERVERS.len());
        for kind in order {
            let sample = one(bench, size, kind)?;
            let (name, cpu, quiet) = (kind.name(), sample.storm.cpu() * 100.0, sample.quiet.cpu() * 100.0);
            let (p50, p99) = (sample.delays.p50(), sample.delays.p99());
            let answers = sample.storm.answers.p99();
            bench.progress(&format!(
                "storm: round {}/{}, {name}: CPU {cpu:.1} % ({quiet:.1} % without), answers p99 {answers:.2} ms, \
                 change to answer p50 {p50:.2} ms, p99 {p99:.2} ms",
                round + 1,
                bench.plan.rounds
            ));
            samples.push((kind, sample));
        }
    }
    machine::move_to_both_cpus(std::process::id())?;
    Ok(samples)
}

fn one(bench: &Bench, size: &Size, kind: Kind) -> Result<Sample> {
    let api = ScriptedApi::start(size.objects())?;
    let server = Server::start(kind, &Source::scripted(&api), bench.upstream.addr())?;
    start::wait(&server, &start::last(size))?;
    memory::stable(&server.process)?;
    let (quiet, _) = phase(bench, size, &server, None)?;
    server.process.reset_peak()?;
    let (storm, delays) = phase(bench, size, &server, Some(&api))?;
    let (rss, peak) = (server.process.rss()?, server.process.vm_hwm()?);
    Ok(Sample { quiet, storm, delays, rss, peak })
}

/// The load for some seconds, with changes if there is an API server to send them.
fn phase(bench: &Bench, size: &Size, server: &Server, api: Option<&ScriptedApi>) -> Result<(Phase, Times)> {
    let seconds = bench.plan.storm_seconds;
    let questions = clients::questions(size);
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let before = server.process.cpu_times()?;
    thread::scope(|scope| {
        let timed = scope.spawn(|| clients::timed(server, size, &stop));
        let looking = scope.spawn(|| clients::looking(server, &stop));
        let changing = api.map(|api| scope.spawn(move || send(api, size, CHANGES * seconds as u32)));
        let many = clients::many(server.addr, &questions, seconds);
        let sent = changing.map_or_else(|| Ok(Sent::default()), |thread| joined(thread.join()));
        let (after, elapsed) = (server.process.cpu_times()?, began.elapsed());
        let sent = sent?;
        wait_for_last(server, &sent)?;
        stop.store(true, Ordering::Relaxed);
        let (answers, seen) = (joined(timed.join())??, joined(looking.join())??);
        let Summary { lost, .. } = many?;
        let share =
            |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / elapsed.as_secs_f64();
        let (user, system) = (share(before.0, after.0), share(before.1, after.1));
        let delays = delays(&sent.moves, &seen);
        if delays.count() < sent.moves.len() {
            return Err(server.failed("did not answer with all changes"));
        }
        Ok((Phase { user, system, answers, lost, sent: sent.changes }, delays))
    })
}

/// The changes sent.
#[derive(Default)]
struct Sent {
    changes: u32,
    /// The moves among them, and when.
    moves: Vec<(u16, Instant)>,
}

/// Sends `count` changes evenly; catches up when late.
fn send(api: &ScriptedApi, size: &Size, count: u32) -> Sent {
    let services: Vec<Service> = size.services().collect();
    let began = Instant::now();
    let mut sent = Sent::default();
    for n in 0..count {
        let due = began + Duration::from_secs(1) * n / CHANGES;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if n % MOVES == MOVES - 1 {
            let place = (n / MOVES + 1) as u16;
            let slice = moving::slice(place);
            sent.moves.push((place, Instant::now()));
            api.apply(&slice);
        } else {
            // A prime, so that consecutive changes are spread over the cluster.
            let service = &services[(n as usize * 1_009) % services.len()];
            api.apply(&service.slice(0, n + 1));
        }
        sent.changes += 1;
    }
    sent
}

fn wait_for_last(server: &Server, sent: &Sent) -> Result<()> {
    let Some((last, _)) = sent.moves.last() else { return Ok(()) };
    let follower = moving::Follower::new(server.client()?)?;
    let deadline = Instant::now() + LAST_CHANGE_TIMEOUT;
    while follower.at(Duration::from_secs(1))? != Some(*last) {
        if Instant::now() >= deadline {
            return Err(server.failed("did not answer with the last change"));
        }
        thread::sleep(clients::DETECT_INTERVAL);
    }
    // The client that detects changes must see it as well.
    thread::sleep(10 * clients::DETECT_INTERVAL);
    Ok(())
}

/// A move counts as seen when it or a later one is seen.
fn delays(sent: &[(u16, Instant)], seen: &[(u16, Instant)]) -> Times {
    let delay = |(n, at): &(u16, Instant)| {
        let (_, when) = seen.iter().find(|(place, _)| place >= n)?;
        Some(when.saturating_duration_since(*at).as_secs_f64() * 1e3)
    };
    Times::new(sent.iter().filter_map(delay).collect())
}

fn joined<T>(outcome: thread::Result<T>) -> Result<T> {
    outcome.map_err(|_| Error::new("a client panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_move_counts_as_seen_with_the_next() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let sent = [(1, at(0)), (2, at(10)), (3, at(20)), (4, at(30))];
        let seen = [(0, at(0)), (1, at(4)), (3, at(25))];
        let delays = delays(&sent, &seen);
        assert_eq!((delays.count(), delays.p50(), delays.max()), (3, 5.0, 15.0));
    }
}
