//! Where readers are, and the bytes to and from them.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// For everything a peer may take time for: a dial, a handshake, a write.
pub(super) const PATIENCE: Duration = Duration::from_secs(4);

/// A socket as the Corefile names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Unix(PathBuf),
    /// `HOST:PORT`
    Tcp(String),
    /// The same, with TLS.
    Tls(String),
}

impl fmt::Display for Endpoint {
    /// As Go's errors name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix {}", path.display()),
            Endpoint::Tcp(address) | Endpoint::Tls(address) => write!(f, "tcp {address}"),
        }
    }
}

/// Plain or encrypted, frames are the same.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// Writes all of it, or fails when the reader does not take it in time.
pub(super) async fn write(bytes: &mut (impl AsyncWrite + Unpin), frames: &[u8]) -> io::Result<()> {
    in_time(async {
        bytes.write_all(frames).await?;
        bytes.flush().await
    })
    .await
}

pub(super) async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// An error in Go's words.
pub(super) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut if error.raw_os_error().is_none() => "i/o timeout".to_owned(),
        io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => golang::system_error(error),
    }
}
