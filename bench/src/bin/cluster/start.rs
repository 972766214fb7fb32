//! The time from the start of a process to the first correct answer.

use std::time::{Duration, Instant};

use testkit::error::Result;

use crate::data::Size;
use crate::probe::Probe;
use crate::server::Server;

/// Query interval until the answer is correct.
const PERIOD: Duration = Duration::from_millis(2);

/// Query timeout; before a server listens there is no answer.
const QUERY_TIMEOUT: Duration = Duration::from_millis(250);

const TIMEOUT: Duration = Duration::from_secs(120);

/// The last Services by name, which is the order of lists: one with a cluster IP and one or two without.
pub fn last(size: &Size) -> Vec<Probe> {
    let services: Vec<_> = size.services().collect();
    let ordinary = services.iter().rev().find(|service| !service.headless);
    let headless = services.iter().rev().filter(|service| service.headless).take(2);
    ordinary.into_iter().chain(headless).flat_map(|service| service.probes()).collect()
}

/// Waits until each was answered correctly; returns the time since the process started.
pub fn wait(server: &Server, probes: &[Probe]) -> Result<Duration> {
    let client = server.client()?;
    for probe in probes {
        let packet = probe.packet()?;
        loop {
            let reply = client.query(&packet, QUERY_TIMEOUT)?;
            if reply.as_ref().is_some_and(|reply| probe.is_answered_by(reply)) {
                break;
            }
            if server.process.exit_status().is_some() {
                return Err(server.failed("has ended"));
            }
            if Instant::now() >= server.began + TIMEOUT {
                let got = reply.map(|reply| reply.answer.iter().map(ToString::to_string).collect::<Vec<_>>());
                return Err(server.failed(&format!("expected {probe}, got {got:?}")));
            }
            std::thread::sleep(PERIOD);
        }
    }
    Ok(server.began.elapsed())
}
