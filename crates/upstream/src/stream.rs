//! One query at a time over a TCP connection, with or without TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::error::{Cause, Error, Op};
use crate::question::{Question, Verdict};
use crate::upstream::UpstreamReply;
use crate::{Answer, Network, Options, tls};

/// A byte stream, plain or encrypted.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

pub(crate) struct Connection {
    bytes: Box<dyn Bytes>,
    local: Option<SocketAddr>,
    to: SocketAddr,
}

/// The TLS configuration of a connection.
#[derive(Clone)]
pub(crate) struct Encryption {
    pub(crate) config: Arc<rustls::ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// Why an exchange failed, and whether the upstream closed the connection before it sent anything.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) unanswered: bool,
}

/// Connects, with a TLS handshake if there is `encryption`, within `limit`.
pub(crate) async fn dial(
    options: &Options,
    encryption: Option<&Encryption>,
    limit: Duration,
) -> Result<Connection, Error> {
    let to = options.addr;
    let deadline = Instant::now() + limit;
    let connected = timeout_at(deadline, connect(options)).await;
    let stream = connected.unwrap_or_else(|_| Err(dial_error(options, Cause::Timeout)))?;
    let local = stream.local_addr().ok();
    let bytes: Box<dyn Bytes> = match encryption {
        None => Box::new(stream),
        Some(encryption) => {
            let encrypted = timeout_at(deadline, handshake(encryption, stream)).await;
            Box::new(encrypted.unwrap_or(Err(Error::Handshake))?)
        }
    };
    Ok(Connection { bytes, local, to })
}

pub(crate) async fn connect(options: &Options) -> Result<TcpStream, Error> {
    let failed = |call| move |error: io::Error| dial_error(options, Cause::system(call, &error));
    let socket = match options.addr {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
    .map_err(failed("socket"))?;
    if let Some(source) = options.source {
        socket.bind(SocketAddr::new(source, 0)).map_err(failed("bind"))?;
    }
    let stream = socket.connect(options.addr).await.map_err(failed("connect"))?;
    // A query is one small write; Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

pub(crate) async fn handshake(
    encryption: &Encryption,
    stream: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, Error> {
    TlsConnector::from(Arc::clone(&encryption.config))
        .connect(encryption.name.clone(), stream)
        .await
        .map_err(|error| tls::error(&error))
}

pub(crate) fn dial_error(options: &Options, cause: Cause) -> Error {
    Error::Net {
        op: Op::Dial,
        network: Network::Tcp,
        from: options.source.map(|source| SocketAddr::new(source, 0)),
        to: options.addr,
        cause,
    }
}

impl Connection {
    pub(crate) async fn exchange(
        &mut self,
        question: &Question<'_>,
        write_timeout: Duration,
        read_timeout: Duration,
    ) -> Result<UpstreamReply, Failure> {
        let mut unanswered = true;
        self.query(question, write_timeout, read_timeout, &mut unanswered)
            .await
            .map_err(|error| Failure { error, unanswered })
    }

    async fn query(
        &mut self,
        question: &Question<'_>,
        write_timeout: Duration,
        read_timeout: Duration,
        unanswered: &mut bool,
    ) -> Result<UpstreamReply, Error> {
        let packet = question.packet();
        let length = u16::try_from(packet.len()).map_err(|_| Error::InvalidQuery)?;
        let mut framed = Vec::with_capacity(packet.len() + 2);
        framed.extend_from_slice(&length.to_be_bytes());
        framed.extend_from_slice(packet);
        let write = async {
            self.bytes.write_all(&framed).await?;
            self.bytes.flush().await
        };
        match timeout(write_timeout, write).await {
            Err(_) => {
                *unanswered = false;
                return Err(self.failed(Op::Write, Cause::Timeout));
            }
            Ok(Err(error)) => {
                *unanswered = is_close(&error);
                return Err(self.failed(Op::Write, Cause::system("write", &error)));
            }
            Ok(Ok(())) => {}
        }
        let deadline = Instant::now() + read_timeout;
        loop {
            let mut message = match timeout_at(deadline, self.receive(unanswered)).await {
                Err(_) => {
                    *unanswered = false;
                    return Err(self.failed(Op::Read, Cause::Timeout));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Error::Closed),
                Ok(Err(error)) => {
                    *unanswered &= is_close(&error);
                    let failed = || self.failed(Op::Read, Cause::system("read", &error));
                    return Err(tls::alert(&error).unwrap_or_else(failed));
                }
                Ok(Ok(message)) => message,
            };
            let rcode = match question.check(&mut message, true) {
                Verdict::Unrelated => continue,
                Verdict::WrongQuestion => return Err(Error::WrongQuestion),
                Verdict::Malformed => return Err(Error::Malformed),
                Verdict::Answer(rcode) => rcode,
            };
            question.restore(&mut message);
            return Ok(UpstreamReply {
                answer: Answer { message, network: Network::Tcp, local: self.local },
                rcode,
            });
        }
    }

    async fn receive(&mut self, unanswered: &mut bool) -> io::Result<Vec<u8>> {
        let mut length = [0; 2];
        self.bytes.read_exact(&mut length[..1]).await?;
        *unanswered = false;
        self.bytes.read_exact(&mut length[1..]).await?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
        self.bytes.read_exact(&mut message).await?;
        Ok(message)
    }

    fn failed(&self, op: Op, cause: Cause) -> Error {
        Error::Net { op, network: Network::Tcp, from: self.local, to: self.to, cause }
    }
}

/// Whether the upstream closed the connection, as opposed to a network failure.
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
