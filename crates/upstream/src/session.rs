//! A session: DNS messages in order over a byte stream, each after two octets of length (RFC 1035 §4.2.2). There may be
//! several replies to one message.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use crate::dial::Connection;
use crate::error::{Cause, Error, Op};
use crate::{Network, tls};

/// Sends and receives whole messages. [`Session`] is the plain one; [`crate::tsig::SignedSession`] wraps another.
pub trait Messages: Send {
    fn send(&mut self, message: &[u8]) -> impl Future<Output = Result<(), Error>> + Send;

    /// Replaces `message` with the next one.
    fn receive(&mut self, message: &mut Vec<u8>) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The limits of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    pub write_timeout: Duration,
    pub read_timeout: Duration,
    /// The maximum size of a message received, in octets.
    pub max_size: u16,
}

impl MessageLimits {
    pub const fn new(write_timeout: Duration, read_timeout: Duration) -> MessageLimits {
        MessageLimits { write_timeout, read_timeout, max_size: u16::MAX }
    }
}

/// A session over a connection. After an error it is of no further use.
pub struct Session {
    connection: Connection,
    limits: MessageLimits,
    /// The message being sent, with its length.
    frame: Vec<u8>,
    /// Since the last send, the peer has sent nothing, nor did the network fail.
    unanswered: bool,
}

impl Session {
    pub fn new(connection: Connection, limits: MessageLimits) -> Session {
        Session { connection, limits, frame: Vec::new(), unanswered: true }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn limits(&self) -> MessageLimits {
        self.limits
    }

    /// After an error: whether the peer just closed the connection, without answering the last message.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered
    }

    /// [`Messages::receive`] with a deadline of the caller's.
    pub(crate) async fn receive_by(&mut self, deadline: Instant, message: &mut Vec<u8>) -> Result<(), Error> {
        match timeout_at(deadline, self.read(message)).await {
            Err(_) => {
                self.unanswered = false;
                Err(self.failed(Op::Read, Cause::Timeout))
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Error::Closed),
            Ok(Err(error)) => {
                self.unanswered &= is_close(&error);
                let failed = || self.failed(Op::Read, Cause::system("read", &error));
                Err(tls::alert(&error).unwrap_or_else(failed))
            }
            Ok(Ok(size)) if size > self.limits.max_size => {
                Err(Error::TooLarge { size, limit: self.limits.max_size })
            }
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Reads a message and returns its size; one that is too large is not read.
    async fn read(&mut self, message: &mut Vec<u8>) -> io::Result<u16> {
        let bytes = &mut self.connection.bytes;
        let mut size = [0; 2];
        bytes.read_exact(&mut size[..1]).await?;
        self.unanswered = false;
        bytes.read_exact(&mut size[1..]).await?;
        let size = u16::from_be_bytes(size);
        if size <= self.limits.max_size {
            message.resize(usize::from(size), 0);
            bytes.read_exact(message).await?;
        }
        Ok(size)
    }

    fn failed(&self, op: Op, cause: Cause) -> Error {
        let Connection { local, to, .. } = self.connection;
        Error::Net { op, network: Network::Tcp, from: local, to, cause }
    }
}

impl Messages for Session {
    async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        let size = u16::try_from(message.len()).map_err(|_| Error::InvalidQuery)?;
        self.frame.clear();
        self.frame.extend_from_slice(&size.to_be_bytes());
        self.frame.extend_from_slice(message);
        self.unanswered = true;
        let write = async {
            self.connection.bytes.write_all(&self.frame).await?;
            self.connection.bytes.flush().await
        };
        match timeout(self.limits.write_timeout, write).await {
            Err(_) => {
                self.unanswered = false;
                Err(self.failed(Op::Write, Cause::Timeout))
            }
            Ok(Err(error)) => {
                self.unanswered = is_close(&error);
                Err(self.failed(Op::Write, Cause::system("write", &error)))
            }
            Ok(Ok(())) => Ok(()),
        }
    }

    async fn receive(&mut self, message: &mut Vec<u8>) -> Result<(), Error> {
        self.receive_by(Instant::now() + self.limits.read_timeout, message).await
    }
}

/// Whether the peer closed the connection, as opposed to a network failure.
fn is_close(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected
    )
}
