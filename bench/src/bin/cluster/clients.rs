//! Clients of a server during changes: dnsperf, one whose answers are timed, and one that detects changes.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::dnsperf::{Load, Summary};
use testkit::error::{Error, Result};

use crate::data::Size;
use crate::moving::Follower;
use crate::percentile::Times;
use crate::server::Server;
use bench::machine::CLIENT_CPU;

/// Queries per second of dnsperf.
pub const RATE: u32 = 5_000;

/// Number of its query names.
const NAMES: usize = 1_000;

/// Interval of the timed queries: 200 per second.
const TIMED_INTERVAL: Duration = Duration::from_millis(5);

/// Interval of the queries that detect changes.
pub const DETECT_INTERVAL: Duration = Duration::from_millis(1);

const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// The names of Services with a cluster IP, spread over the cluster.
pub fn questions(size: &Size) -> String {
    let ordinary: Vec<_> = size.services().filter(|service| !service.headless).collect();
    let mut text = String::new();
    for service in ordinary.iter().step_by((ordinary.len() / NAMES).max(1)).take(NAMES) {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{} A", service.domain());
    }
    text
}

/// Sends queries at the fixed rate; all must be answered with NOERROR.
pub fn many(server: SocketAddr, questions: &str, seconds: u64) -> Result<Summary> {
    let mut load = Load::new(server, questions);
    load.duration = Duration::from_secs(seconds);
    load.rate = Some(RATE);
    load.clients = 16;
    load.cpu = Some(CLIENT_CPU);
    // Lost queries are counted, not waited for.
    load.args = vec!["-t".into(), "1".into()];
    let summary = load.run()?;
    let answers = summary.rcodes.get("NOERROR").copied().unwrap_or_default();
    if answers < summary.completed || summary.completed == 0 {
        return Err(Error::new(format!("answered {:?}", summary.rcodes)));
    }
    Ok(summary)
}

/// Queries one name until stopped; returns the milliseconds each answer took.
pub fn timed(server: &Server, size: &Size, stop: &AtomicBool) -> Result<Times> {
    let (client, probes) = (server.client()?, crate::start::last(size));
    let probe = probes.first().ok_or_else(|| Error::new("no name to query"))?;
    let packet = probe.packet()?;
    let mut times = Vec::new();
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        // A missing answer counts as the timeout.
        let _ = client.query(&packet, QUERY_TIMEOUT)?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        next = (next + TIMED_INTERVAL).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(Times::new(times))
}

/// Queries the moving Service until stopped; returns when each address was first seen.
pub fn looking(server: &Server, stop: &AtomicBool) -> Result<Vec<(u16, Instant)>> {
    let follower = Follower::new(server.client()?)?;
    let mut seen: Vec<(u16, Instant)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if let Some(at) = follower.at(QUERY_TIMEOUT)?
            && seen.last().is_none_or(|(last, _)| at > *last)
        {
            seen.push((at, Instant::now()));
        }
        thread::sleep(DETECT_INTERVAL);
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SIZES;

    #[test]
    fn a_thousand_names_or_all_there_are() {
        for (size, expected) in [(&SIZES[0], 1_000), (&SIZES[1], 1_000), (&SIZES[3], 90)] {
            let text = questions(size);
            assert_eq!(text.lines().count(), expected, "{}", size.letter);
            assert_eq!(text.lines().next(), Some("service-00000.team-000.svc.cluster.local. A"));
        }
    }
}
