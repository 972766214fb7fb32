//! Times single answers during the load: a sending and a receiving thread on dnsperf's CPU.
//!
//! Queries are sent on a fixed schedule, whether or not earlier ones were answered, so that a stall delays all queries
//! sent meanwhile. The kernel timestamps arriving answers, so that the receiver's wait for its CPU, which dnsperf keeps
//! busy, does not count.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use net::cpu;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use testkit::error::{Context, Error, Result};

use crate::question;
use bench::machine::CLIENT_CPU;

/// Queries per second: few compared with the load, enough for a p99.
pub const RATE: u64 = 500;

/// A slower answer is lost, and counts as this latency.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Number of questions before they repeat.
const QUESTIONS: usize = 20_000;

/// In microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    pub p50: f64,
    pub p99: f64,
}

/// The result of probing.
#[derive(Debug)]
pub struct ProbeResult {
    pub answered: u64,
    pub latency: Latency,
}

/// Sends queries for `duration`, from the last line of `questions` on.
pub fn probe(server: SocketAddr, questions: &str, duration: Duration) -> Result<ProbeResult> {
    let packets: Vec<Vec<u8>> =
        questions.lines().rev().take(QUESTIONS).map(question::packet).collect::<Result<_>>()?;
    let socket = UdpSocket::bind((server.ip(), 0))?;
    socket.connect(server)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).context("SO_TIMESTAMPNS")?;
    // The receiver checks periodically for the end.
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let end = Instant::now() + duration;
    // Number of expected answers, once known.
    let expected = AtomicUsize::new(usize::MAX);
    let (asked, arrived) = thread::scope(|scope| {
        let listener = scope.spawn(|| receive(&socket, &expected, end + TIMEOUT));
        let asked = scope.spawn(|| send(&socket, &packets, end)).join();
        if let Ok(Ok(asked)) = &asked {
            expected.store(asked.len(), Ordering::Relaxed);
        }
        (asked, listener.join())
    });
    let died = |_| Error::new("a thread of the prober panicked");
    let (asked, arrived) = (asked.map_err(died)??, arrived.map_err(died)??);
    evaluate(&asked, &arrived)
}

/// Returns when each query was sent, by its id.
fn send(socket: &UdpSocket, packets: &[Vec<u8>], end: Instant) -> Result<Vec<Duration>> {
    cpu::pin_to(CLIENT_CPU)?;
    let mut packets = packets.iter().cycle();
    let mut asked = Vec::new();
    let mut next = Instant::now();
    while next < end {
        let (Some(packet), Ok(id)) = (packets.next(), u16::try_from(asked.len())) else { break };
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let mut packet = packet.clone();
        packet[..2].copy_from_slice(&id.to_be_bytes());
        asked.push(now());
        // A stopped server shows as lost answers.
        let _ = socket.send(&packet);
        next += Duration::from_micros(1_000_000 / RATE);
    }
    Ok(asked)
}

/// Returns when answers arrived, until all expected ones have or the time ends.
fn receive(socket: &UdpSocket, expected: &AtomicUsize, end: Instant) -> Result<Vec<(u16, Duration)>> {
    cpu::pin_to(CLIENT_CPU)?;
    let mut arrived = Vec::new();
    let mut packet = [0; 4096];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    while arrived.len() < expected.load(Ordering::Relaxed) && Instant::now() < end {
        let mut parts = [IoSliceMut::new(&mut packet)];
        let Ok(message) =
            recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())
        else {
            continue;
        };
        let stamp = message.cmsgs().context("SO_TIMESTAMPNS")?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
            _ => None,
        });
        let at = stamp.unwrap_or_else(now);
        arrived.push((u16::from_be_bytes([packet[0], packet[1]]), at));
    }
    Ok(arrived)
}

/// By the clock of the kernel's timestamps.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn evaluate(asked: &[Duration], arrived: &[(u16, Duration)]) -> Result<ProbeResult> {
    let mut latencies = vec![TIMEOUT; asked.len()];
    let mut answered = 0;
    for &(id, at) in arrived {
        let (Some(left), Some(latency)) = (asked.get(usize::from(id)), latencies.get_mut(usize::from(id)))
        else {
            return Err(Error::new(format!(
                "answer with id {id}, but only {} queries were sent",
                asked.len()
            )));
        };
        *latency = at.saturating_sub(*left).min(TIMEOUT);
        answered += 1;
    }
    latencies.sort();
    let part = |share: f64| {
        // Nearest rank.
        let rank = (latencies.len() as f64 * share).ceil() as usize;
        latencies.get(rank.saturating_sub(1)).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    };
    Ok(ProbeResult { answered, latency: Latency { p50: part(0.5), p99: part(0.99) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_include_lost_answers() {
        let asked: Vec<Duration> = (0..200).map(Duration::from_secs).collect();
        let after = |micros: fn(u64) -> u64| -> Vec<(u16, Duration)> {
            (0..200).map(|n| (n as u16, asked[n as usize] + Duration::from_micros(micros(n)))).collect()
        };
        let steady = after(|n| 100 + n);
        for (arrived, p50, p99, answered) in [
            (&steady[..], 199.0, 297.0, 200),
            // Two lost of two hundred are 1 %: the p99 is still below.
            (&steady[..198], 199.0, 297.0, 198),
            (&steady[..197], 199.0, 1e6, 197),
        ] {
            let probed = evaluate(&asked, arrived).unwrap();
            assert_eq!((probed.latency, probed.answered), (Latency { p50, p99 }, answered));
        }
        assert!(evaluate(&asked[..10], &steady).is_err(), "an answer without a query");
    }

    #[test]
    fn answers_are_timed() {
        let upstream = crate::upstream::Upstream::start(None).unwrap();
        let probed =
            probe(upstream.addr(), "a.example A\nb.example A\n", Duration::from_millis(200)).unwrap();
        assert!(probed.answered >= 50, "{probed:?}");
        assert!(probed.latency.p50 > 0.0 && probed.latency.p50 <= probed.latency.p99, "{probed:?}");
    }
}
