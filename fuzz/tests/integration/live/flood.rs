//! Mutated packets over UDP, as fast as the server takes them.
//!
//! Not every packet is answered, so counting replies does not tell how many are still under way. Each burst
//! therefore ends with a question whose answer is known: a socket's packets go to one worker and are served in
//! order, so with that answer the whole burst has been dealt with. Several sockets take turns, so that the
//! server works while we write.

use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fuzz::service::KNOWN;
use testkit::error::{Context, Error, Result};

use super::mutate::Mutator;
use super::{known, seeds};

const SOCKETS: usize = 4;
/// Together with the sockets this bounds what waits in the server's receive buffer, which must not overflow.
const BURST: usize = 32;
/// The id of the closing question: ids are mutated too, so its name is looked at as well.
const MARK: u16 = 0xbeef;
const PATIENCE: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 5;

pub struct Flood {
    sockets: Vec<UdpSocket>,
    mutator: Mutator,
    mark: Vec<u8>,
    sent: u64,
    replies: u64,
    /// Closing questions asked again, because they or their answers were lost.
    repeated: u64,
    rcodes: [u64; 16],
}

impl Flood {
    pub fn new(server: SocketAddr, seed: u64) -> Result<Self> {
        let socket = || -> Result<UdpSocket> {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(server)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok(socket)
        };
        Ok(Self {
            sockets: (0..SOCKETS).map(|_| socket()).collect::<Result<_>>()?,
            mutator: Mutator::new(seed, seeds()?),
            mark: known(MARK)?,
            sent: 0,
            replies: 0,
            repeated: 0,
            rcodes: [0; 16],
        })
    }

    /// Sends at least so many packets and sees all of them dealt with.
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
        self.sockets[at].send(&self.mark).context("sending")?;
        Ok(())
    }

    /// Reads replies up to the closing one.
    fn collect(&mut self, at: usize) -> Result<()> {
        let mut buffer = [0; 4096];
        let mut attempts = 0;
        loop {
            match self.sockets[at].recv(&mut buffer) {
                Ok(n) => {
                    let reply = &buffer[..n];
                    if self.is_mark(reply) {
                        return Ok(());
                    }
                    if n < 12 || reply[2] & 0x80 == 0 {
                        return Err(Error::new(format!("this is no reply: {reply:02x?}")));
                    }
                    self.replies += 1;
                    self.rcodes[usize::from(reply[3] & 0xf)] += 1;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    attempts += 1;
                    self.repeated += 1;
                    if attempts > ATTEMPTS {
                        return Err(Error::new(format!("no answer any more after {} packets", self.sent)));
                    }
                    self.sockets[at].send(&self.mark).context("sending")?;
                }
                Err(error) => return Err(Error::new(format!("after {} packets: {error}", self.sent))),
            }
        }
    }

    /// The right answer to the closing question: the same id and name, and the address we know at the end.
    fn is_mark(&self, reply: &[u8]) -> bool {
        let question = &self.mark[12..];
        reply.starts_with(&MARK.to_be_bytes())
            && reply.get(12..12 + question.len()) == Some(question)
            && reply.ends_with(&KNOWN.1)
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
            "{} packets, {} replies (rcode {}), {} closing questions repeated",
            self.sent,
            self.replies,
            rcodes.join(", "),
            self.repeated
        )
    }
}
