//! Mutated messages over TCP with lengths that are right, wrong, missing or cut.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use testkit::error::{Context, Error, Result};

use super::mutate::Mutator;
use super::seeds;

/// Messages per connection; most connections break earlier.
const MESSAGES: usize = 20;
/// The server must close the connection within this time after the client has shut down its side.
const TIMEOUT: Duration = Duration::from_secs(20);

pub struct Framing {
    server: SocketAddr,
    mutator: Mutator,
    sent: u64,
    connections: u64,
    /// Connections that the client or the server reset.
    resets: u64,
    octets: u64,
}

impl Framing {
    pub fn new(server: SocketAddr, seed: u64) -> Result<Self> {
        let mutator = Mutator::new(seed ^ 0x7463_7000, seeds()?);
        Ok(Self { server, mutator, sent: 0, connections: 0, resets: 0, octets: 0 })
    }

    /// Sends at least `count` messages and waits for every connection to end.
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
        let mut stream = TcpStream::connect_timeout(&self.server, TIMEOUT)
            .context(format!("connecting after {} messages", self.sent))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        // One in eight closes without shutdown: SO_LINGER 0 makes the kernel send a reset.
        if self.mutator.below(8) == 0 {
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
            let _ = stream.write_all(&bytes);
            self.resets += 1;
            return Ok(());
        }
        // The server may close at the first bad frame, while the client is still writing.
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
                        "a connection is still open {TIMEOUT:?} after the client's shutdown"
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
        // Some unchanged, so that connections break later.
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
