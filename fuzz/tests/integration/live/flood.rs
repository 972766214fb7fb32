//! Mutated packets over UDP, as fast as the server takes them.
//!
//! Not every packet is answered, so the number of replies does not show how many packets are in flight. Each burst
//! therefore ends with a marker, a query whose answer is known: one worker serves a socket's packets in order, so the
//! reply to the marker means that the whole burst was processed. Several sockets take turns, so that the server works
//! while the test sends.

use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fuzz::service::KNOWN_ANSWER;
use testkit::error::{Context, Error, Result};

use super::mutate::Mutator;
use super::{known_query, seeds};

const SOCKETS: usize = 4;
/// Times [`SOCKETS`] this bounds the packets in the server's receive buffer, which must not overflow.
const BURST: usize = 32;
/// The id of the marker. Mutated packets may have it too, so `is_marker` also compares the name.
const MARKER_ID: u16 = 0xbeef;
const READ_TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 5;

pub struct Flood {
    sockets: Vec<UdpSocket>,
    mutator: Mutator,
    marker: Vec<u8>,
    sent: u64,
    replies: u64,
    /// Markers sent again because they or their replies were lost.
    repeated: u64,
    rcodes: [u64; 16],
}

impl Flood {
    pub fn new(server: SocketAddr, seed: u64) -> Result<Self> {
        let socket = || -> Result<UdpSocket> {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(server)?;
            socket.set_read_timeout(Some(READ_TIMEOUT))?;
            Ok(socket)
        };
        Ok(Self {
            sockets: (0..SOCKETS).map(|_| socket()).collect::<Result<_>>()?,
            mutator: Mutator::new(seed, seeds()?),
            marker: known_query(MARKER_ID)?,
            sent: 0,
            replies: 0,
            repeated: 0,
            rcodes: [0; 16],
        })
    }

    /// Sends at least `count` packets and waits until all are processed.
    pub fn send(&mut self, count: usize) -> Result<()> {
        let goal = self.sent + count as u64;
        let mut turn = 0;
        for at in 0..SOCKETS {
            self.burst(at)?;
        }
        while self.sent < goal {
            self.collect(turn)?;
            self.burst(turn)?;
            turn = (turn + 1) % SOCKETS;
        }
        (0..SOCKETS).try_for_each(|at| self.collect(at))
    }

    fn burst(&mut self, at: usize) -> Result<()> {
        for _ in 0..BURST {
            self.sockets[at].send(&self.mutator.mutated()).context("sending")?;
            self.sent += 1;
        }
        self.sockets[at].send(&self.marker).context("sending")?;
        Ok(())
    }

    /// Reads replies up to the marker's.
    fn collect(&mut self, at: usize) -> Result<()> {
        let mut buffer = [0; 4096];
        let mut attempts = 0;
        loop {
            match self.sockets[at].recv(&mut buffer) {
                Ok(n) => {
                    let reply = &buffer[..n];
                    if self.is_marker(reply) {
                        return Ok(());
                    }
                    if n < 12 || reply[2] & 0x80 == 0 {
                        return Err(Error::new(format!("not a reply: {reply:02x?}")));
                    }
                    self.replies += 1;
                    self.rcodes[usize::from(reply[3] & 0xf)] += 1;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    attempts += 1;
                    self.repeated += 1;
                    if attempts > ATTEMPTS {
                        return Err(Error::new(format!(
                            "no reply to the marker after {} packets",
                            self.sent
                        )));
                    }
                    self.sockets[at].send(&self.marker).context("sending")?;
                }
                Err(error) => return Err(Error::new(format!("after {} packets: {error}", self.sent))),
            }
        }
    }

    /// Whether this is the right reply to the marker: its id and name, and the known address at the end.
    fn is_marker(&self, reply: &[u8]) -> bool {
        let question = &self.marker[12..];
        reply.starts_with(&MARKER_ID.to_be_bytes())
            && reply.get(12..12 + question.len()) == Some(question)
            && reply.ends_with(&KNOWN_ANSWER.1)
    }

    pub fn tally(&self) -> impl fmt::Display {
        let rcodes: Vec<String> = self
            .rcodes
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(code, n)| format!("{code}: {n}"))
            .collect();
        format!(
            "{} packets, {} replies (rcode {}), {} markers repeated",
            self.sent,
            self.replies,
            rcodes.join(", "),
            self.repeated
        )
    }
}
