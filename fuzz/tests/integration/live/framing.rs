//! Mutated messages over TCP behind lengths that are right, wrong, missing or cut.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use testkit::error::{Context, Error, Result};

use super::mutate::Mutator;
use super::seeds;

/// Messages on one connection; most break it long before.
const MESSAGES: usize = 20;
/// After we have said that nothing more comes, the server has no reason to keep the connection.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Framing {
    server: SocketAddr,
    mutator: Mutator,
    sent: u64,
    connections: u64,
    /// Connections that we, or the server, ended with a reset.
    resets: u64,
    octets: u64,
}

impl Framing {
    pub fn new(server: SocketAddr, seed: u64) -> Result<Self> {
        let mutator = Mutator::new(seed ^ 0x7463_7000, seeds()?);
        Ok(Self { server, mutator, sent: 0, connections: 0, resets: 0, octets: 0 })
    }

    /// Sends so many messages, and sees every connection to its end.
    pub fn send(&mut self, count: usize) -> Result<()> {
        let goal = self.sent + count as u64;
        while self.sent < goal {
            self.connection()?;
        }
        Ok(())
    }

    fn connection(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        for _ in 0..MESSAGES {
            self.message(&mut bytes);
        }
        self.sent += MESSAGES as u64;
        self.connections += 1;
        let mut stream = TcpStream::connect_timeout(&self.server, PATIENCE)
            .context(format!("connecting after {} messages", self.sent))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // One in eight goes away without a word: its unread replies make the kernel send a reset.
        if self.mutator.below(8) == 0 {
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
            let _ = stream.write_all(&bytes);
            self.resets += 1;
            return Ok(());
        }
        // The server may close at the first bad frame, while we are still writing: that is its right.
        if stream.write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write)).is_err() {
            self.resets += 1;
            return Ok(());
        }
        self.read_to_end(&mut stream)
    }

    fn read_to_end(&mut self, stream: &mut TcpStream) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => self.octets += n as u64,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(Error::new(format!(
                        "a connection is still open {PATIENCE:?} after our end of it"
                    )));
                }
                Err(_) => {
                    self.resets += 1;
                    return Ok(());
                }
            }
        }
    }

    fn message(&mut self, bytes: &mut Vec<u8>) {
        // Some as they are, so that connections live long enough to be broken later.
        let message = if self.mutator.below(3) > 0 { self.mutator.mutated() } else { self.mutator.seed() };
        let right = message.len() as u16;
        let length = match self.mutator.below(16) {
            0 => 0,
            1 => right.wrapping_sub(1),
            2 => right + 1,
            3 => u16::MAX,
            _ => right,
        };
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&message);
    }

    pub fn tally(&self) -> impl fmt::Display {
        format!(
            "{} messages on {} connections ({} reset), {} octets of replies",
            self.sent, self.connections, self.resets, self.octets
        )
    }
}
