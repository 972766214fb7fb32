//! How long it takes from the start of a process to the first right answer.

use std::time::{Duration, Instant};

use testkit::error::Result;

use crate::data::Size;
use crate::probe::Probe;
use crate::server::Server;

/// How often it is asked while it does not know yet.
const PERIOD: Duration = Duration::from_millis(2);

/// How long an answer is waited for; before a server listens there is none.
const ANSWER: Duration = Duration::from_millis(250);

const LONGEST: Duration = Duration::from_secs(120);

/// The last Services by name, one with a cluster IP and one or two without: lists are in this order.
pub fn last(size: &Size) -> Vec<Probe> {
    let services: Vec<_> = size.services().collect();
    let ordinary = services.iter().rev().find(|service| !service.headless);
    let headless = services.iter().rev().filter(|service| service.headless).take(2);
    ordinary.into_iter().chain(headless).flat_map(|service| service.probes()).collect()
}

/// Waits until each of them was answered rightly; gives the time since the process began.
pub fn wait(server: &Server, probes: &[Probe]) -> Result<Duration> {
    let asker = server.asker()?;
    for probe in probes {
        let packet = probe.packet()?;
        loop {
            let reply = asker.ask(&packet, ANSWER)?;
            if reply.as_ref().is_some_and(|reply| probe.is_answered_by(reply)) {
                break;
            }
            if server.process.exit_status().is_some() {
                return Err(server.failed("has ended"));
            }
            if Instant::now() >= server.began + LONGEST {
                let said =
                    reply.map(|reply| reply.answer.iter().map(ToString::to_string).collect::<Vec<_>>());
                return Err(server.failed(&format!("does not answer {probe} but {said:?}")));
            }
            std::thread::sleep(PERIOD);
        }
    }
    Ok(server.began.elapsed())
}
