//! Endpoints of readers, and writes with a timeout.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// For each of dial, handshake and write.
pub(super) const TIMEOUT: Duration = Duration::from_secs(4);

/// A socket named in the Corefile.
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

/// A plain or TLS connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Writes all frames, or fails when the reader does not accept them within [`TIMEOUT`].
pub(super) async fn write(stream: &mut (impl AsyncWrite + Unpin), frames: &[u8]) -> io::Result<()> {
    with_timeout(async {
        stream.write_all(frames).await?;
        stream.flush().await
    })
    .await
}

pub(super) async fn with_timeout<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(TIMEOUT, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The text of the error in Go.
pub(super) fn go_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut if error.raw_os_error().is_none() => "i/o timeout".to_owned(),
        io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => golang::system_error(error),
    }
}
