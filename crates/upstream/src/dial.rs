//! Dialers: each connects to an endpoint and returns a byte stream. A transport is one file in `dial/`, one variant of
//! [`Dialer`] and one line in [`Dialer::dial_by`]; a tunnel, like TLS, runs over another dialer.

pub(crate) mod tcp;
pub(crate) mod tls;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::Network;
use crate::error::{Cause, Error, Op};
pub use tls::Encryption;

/// An address, and the source address of connections to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub addr: SocketAddr,
    pub source: Option<IpAddr>,
}

impl Endpoint {
    pub(crate) fn dial_error(&self, network: Network, cause: Cause) -> Error {
        let from = self.source.map(|source| SocketAddr::new(source, 0));
        Error::Net { op: Op::Dial, network, from, to: self.addr, cause }
    }
}

/// How to connect to a peer.
#[derive(Clone)]
pub enum Dialer {
    Tcp(Endpoint),
    Tls(Box<Dialer>, Encryption),
}

/// A byte stream, plain or encrypted.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A byte stream to a peer, with the addresses of its ends.
pub struct Connection {
    pub(crate) bytes: Box<dyn Bytes>,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) to: SocketAddr,
}

impl Dialer {
    /// Connects, with all handshakes, within `limit`.
    pub async fn dial(&self, limit: Duration) -> Result<Connection, Error> {
        self.dial_by(Instant::now() + limit).await
    }

    async fn dial_by(&self, deadline: Instant) -> Result<Connection, Error> {
        match self {
            Dialer::Tcp(endpoint) => tcp::dial(endpoint, deadline).await,
            Dialer::Tls(over, encryption) => {
                tls::dial(encryption, Box::pin(over.dial_by(deadline)).await?, deadline).await
            }
        }
    }
}
