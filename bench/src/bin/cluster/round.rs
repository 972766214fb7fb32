//! Measures one size on a real API server.

use std::time::{Duration, Instant};

use testkit::Kind;
use testkit::cluster::objects::Object;
use testkit::cluster::{Cluster, Settings, load};
use testkit::error::{Context, Result};

use crate::Bench;
use crate::data::Size;
use crate::memory;
use crate::relist::{self, Memory};
use crate::server::{SERVERS, Server, Source};
use crate::start;
use crate::watch::{self, Delays};
use bench::machine;

/// Objects generated and loaded at once.
const CHUNK: usize = 2_000;

/// One server in one round.
#[derive(Clone, Debug)]
pub struct Sample {
    pub start: Duration,
    /// Resident memory once stable after the start, and the peak until then.
    pub rss: u64,
    pub start_peak: u64,
    pub relist: Memory,
    pub delays: Delays,
}

pub fn measure(bench: &Bench, size: &Size) -> Result<Vec<(Kind, Sample)>> {
    let mut cluster = loaded(bench, size)?;
    // From here on the servers have one CPU, and all else the other; child processes inherit ours.
    machine::move_to_client_cpu(std::process::id())?;
    for pid in cluster.process().map(|server| server.pid()).into_iter().chain([cluster.etcd().pid()]) {
        machine::move_to_client_cpu(pid)?;
    }
    let mut samples = Vec::new();
    let mut moves = 0;
    for round in 0..bench.plan.rounds {
        // The order alternates.
        let mut order = SERVERS;
        order.rotate_left(round as usize % SERVERS.len());
        samples.extend(one(bench, size, &mut cluster, order, round, &mut moves)?);
    }
    // The next size may load with all CPUs.
    machine::move_to_both_cpus(std::process::id())?;
    Ok(samples)
}

/// An API server with all objects.
fn loaded(bench: &Bench, size: &Size) -> Result<Cluster> {
    let cluster = Cluster::alone_with(Settings { audit: true, ..Settings::default() })?;
    let began = Instant::now();
    let mut objects = size.objects();
    let mut count = 0;
    loop {
        let chunk: Vec<Object> = objects.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            break;
        }
        count += chunk.len();
        load::load(cluster.api(), &chunk).context("loading")?;
    }
    let seconds = began.elapsed().as_secs_f64();
    bench.progress(&format!("{}: {}; {count} objects loaded in {seconds:.0} s", size.letter, size.about));
    Ok(cluster)
}

fn one(
    bench: &Bench,
    size: &Size,
    cluster: &mut Cluster,
    order: [Kind; 2],
    round: u32,
    moves: &mut u16,
) -> Result<Vec<(Kind, Sample)>> {
    let progress = |text: &str| {
        bench.progress(&format!("{}: round {}/{}, {text}", size.letter, round + 1, bench.plan.rounds));
    };
    let probes = start::last(size);
    let source = Source::real(cluster);
    let (mut servers, mut started) = (Vec::new(), Vec::new());
    for kind in order {
        let server = Server::start(kind, &source, bench.upstream.addr())?;
        let start = start::wait(&server, &probes)?;
        let (user, system) = server.process.cpu_times()?;
        let rss = memory::stable(&server.process)?;
        let start_peak = server.process.vm_hwm()?;
        let (name, rss_mb, peak_mb) = (kind.name(), megabytes(rss), megabytes(start_peak));
        progress(&format!(
            "{name}: correct after {:.2} s, {:.2} s of CPU, {rss_mb:.1} MB, peak {peak_mb:.1} MB",
            start.as_secs_f64(),
            (user + system).as_secs_f64()
        ));
        servers.push(server);
        started.push((start, rss, start_peak));
    }
    let delays = watch::measure(cluster, &servers, bench.plan.changes, moves)?;
    for (server, delay) in servers.iter().zip(&delays) {
        let (name, times) = (server.kind.name(), &delay.from_write);
        progress(&format!("{name}: write to answer p50 {:.2} ms, p99 {:.2} ms", times.p50(), times.p99()));
    }
    let relists = relist::measure(cluster, &servers, moves)?;
    for (server, Memory { before, peak, after }) in servers.iter().zip(&relists) {
        let (before, peak, after) = (megabytes(*before), megabytes(*peak), megabytes(*after));
        progress(&format!("{}: relist {before:.1} MB, peak {peak:.1} MB, {after:.1} MB", server.kind.name()));
    }
    let parts = started.into_iter().zip(delays).zip(relists);
    let samples = parts.map(|(((start, rss, start_peak), delays), relist)| Sample {
        start,
        rss,
        start_peak,
        relist,
        delays,
    });
    Ok(order.into_iter().zip(samples).collect())
}

pub fn megabytes(octets: u64) -> f64 {
    octets as f64 / 1e6
}
