//! Times single answers beside the load: two threads on dnsperf's processor, one that asks and one that listens.
//!
//! Questions leave on a schedule of their own, whether or not earlier ones were answered, so that a server that stands
//! still for a while is seen by all who ask meanwhile. The kernel notes when an answer arrives: how long the listener
//! waits for its processor, which dnsperf keeps busy, does not count.

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

/// Questions per second: few beside the load, enough for the hundredth part of them to be some.
pub const RATE: u64 = 500;

/// An answer that takes longer is lost, and counts as one that took so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many questions there are before they are asked again.
const QUESTIONS: usize = 20_000;

/// In microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    pub p50: f64,
    pub p99: f64,
}

/// What came of it.
#[derive(Debug)]
pub struct Probed {
    pub answered: u64,
    pub latency: Latency,
}

/// Asks from the last line of `questions` on for so long.
pub fn probe(server: SocketAddr, questions: &str, duration: Duration) -> Result<Probed> {
    let packets: Vec<Vec<u8>> =
        questions.lines().rev().take(QUESTIONS).map(question::packet).collect::<Result<_>>()?;
    let socket = UdpSocket::bind((server.ip(), 0))?;
    socket.connect(server)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).context("SO_TIMESTAMPNS")?;
    // The listener looks from time to time whether all is over.
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let end = Instant::now() + duration;
    // How many answers there will be, once that is known.
    let wanted = AtomicUsize::new(usize::MAX);
    let (asked, arrived) = thread::scope(|scope| {
        let listener = scope.spawn(|| listen(&socket, &wanted, end + PATIENCE));
        let asked = scope.spawn(|| ask(&socket, &packets, end)).join();
        if let Ok(Ok(asked)) = &asked {
            wanted.store(asked.len(), Ordering::Relaxed);
        }
        (asked, listener.join())
    });
    let died = |_| Error::new("a thread of the prober died");
    let (asked, arrived) = (asked.map_err(died)??, arrived.map_err(died)??);
    judge(&asked, &arrived)
}

/// When each question left, by its id.
fn ask(socket: &UdpSocket, packets: &[Vec<u8>], end: Instant) -> Result<Vec<Duration>> {
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
        // A server that is gone shows as answers that are lost.
        let _ = socket.send(&packet);
        next += Duration::from_micros(1_000_000 / RATE);
    }
    Ok(asked)
}

/// Which answers arrived when, until there are as many as wanted or it is the end.
fn listen(socket: &UdpSocket, wanted: &AtomicUsize, end: Instant) -> Result<Vec<(u16, Duration)>> {
    cpu::pin_to(CLIENT_CPU)?;
    let mut arrived = Vec::new();
    let mut packet = [0; 4096];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    while arrived.len() < wanted.load(Ordering::Relaxed) && Instant::now() < end {
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

/// By the clock that the kernel stamps with.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn judge(asked: &[Duration], arrived: &[(u16, Duration)]) -> Result<Probed> {
    let mut latencies = vec![PATIENCE; asked.len()];
    let mut answered = 0;
    for &(id, at) in arrived {
        let (Some(left), Some(latency)) = (asked.get(usize::from(id)), latencies.get_mut(usize::from(id)))
        else {
            return Err(Error::new(format!("an answer to question {id} of {}", asked.len())));
        };
        *latency = at.saturating_sub(*left).min(PATIENCE);
        answered += 1;
    }
    latencies.sort();
    let part = |share: f64| {
        // The smallest that so many are not above.
        let rank = (latencies.len() as f64 * share).ceil() as usize;
        latencies.get(rank.saturating_sub(1)).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    };
    Ok(Probed { answered, latency: Latency { p50: part(0.5), p99: part(0.99) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_count_what_was_lost() {
        let asked: Vec<Duration> = (0..200).map(Duration::from_secs).collect();
        let after = |micros: fn(u64) -> u64| -> Vec<(u16, Duration)> {
            (0..200).map(|n| (n as u16, asked[n as usize] + Duration::from_micros(micros(n)))).collect()
        };
        let steady = after(|n| 100 + n);
        for (arrived, p50, p99, answered) in [
            (&steady[..], 199.0, 297.0, 200),
            // Two of two hundred are the hundredth part: the one before them is still in time.
            (&steady[..198], 199.0, 297.0, 198),
            (&steady[..197], 199.0, 1e6, 197),
        ] {
            let probed = judge(&asked, arrived).unwrap();
            assert_eq!((probed.latency, probed.answered), (Latency { p50, p99 }, answered));
        }
        assert!(judge(&asked[..10], &steady).is_err(), "an answer nobody asked for");
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
