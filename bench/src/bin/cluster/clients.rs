//! Who asks a server while changes come: many by dnsperf, one whose answers are timed, and one who looks for changes.

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

/// Queries per second of the many.
pub const RATE: u32 = 5_000;

/// Names they ask for.
const NAMES: usize = 1_000;

/// Between two questions of the one who is timed: 200 per second.
const TIMED: Duration = Duration::from_millis(5);

/// Between two looks for changes.
pub const LOOK: Duration = Duration::from_millis(1);

const ANSWER: Duration = Duration::from_secs(2);

/// The names of Services with an address of their own, spread over the cluster.
pub fn questions(size: &Size) -> String {
    let ordinary: Vec<_> = size.services().filter(|service| !service.headless).collect();
    let mut text = String::new();
    for service in ordinary.iter().step_by((ordinary.len() / NAMES).max(1)).take(NAMES) {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{} A", service.domain());
    }
    text
}

/// Asks at the fixed rate to the end; every answer must be one.
pub fn many(server: SocketAddr, questions: &str, seconds: u64) -> Result<Summary> {
    let mut load = Load::new(server, questions);
    load.duration = Duration::from_secs(seconds);
    load.rate = Some(RATE);
    load.clients = 16;
    load.cpu = Some(CLIENT_CPU);
    // A lost query is not waited for; it is counted.
    load.args = vec!["-t".into(), "1".into()];
    let summary = load.run()?;
    let answers = summary.rcodes.get("NOERROR").copied().unwrap_or_default();
    if answers < summary.completed || summary.completed == 0 {
        return Err(Error::new(format!("answered {:?}", summary.rcodes)));
    }
    Ok(summary)
}

/// Asks for one name until told to stop; gives the milliseconds each answer took.
pub fn timed(server: &Server, size: &Size, stop: &AtomicBool) -> Result<Times> {
    let (asker, probes) = (server.asker()?, crate::start::last(size));
    let probe = probes.first().ok_or_else(|| Error::new("nothing to ask for"))?;
    let packet = probe.packet()?;
    let mut times = Vec::new();
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        // An answer that does not come took as long as it was waited for.
        let _ = asker.ask(&packet, ANSWER)?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        next = (next + TIMED).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(Times::new(times))
}

/// Looks where the moving Service is until told to stop; gives when each place was first seen.
pub fn looking(server: &Server, stop: &AtomicBool) -> Result<Vec<(u16, Instant)>> {
    let follower = Follower::new(server.asker()?)?;
    let mut seen: Vec<(u16, Instant)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if let Some(at) = follower.at(ANSWER)?
            && seen.last().is_none_or(|(last, _)| at > *last)
        {
            seen.push((at, Instant::now()));
        }
        thread::sleep(LOOK);
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
