//! TLS over the connection of another dialer.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Bytes, Connection};
use crate::{Error, tls};

/// The TLS configuration of a connection.
#[derive(Clone)]
pub struct Encryption {
    pub(crate) config: Arc<rustls::ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl Encryption {
    /// `name` is in the peer's certificate; without one the certificate must contain the address.
    pub fn new(config: Arc<rustls::ClientConfig>, name: Option<&str>, addr: SocketAddr) -> Encryption {
        Encryption { config, name: tls::server_name(name, addr) }
    }
}

pub(super) async fn dial(
    encryption: &Encryption,
    over: Connection,
    deadline: Instant,
) -> Result<Connection, Error> {
    let Connection { bytes, local, to } = over;
    let encrypted = timeout_at(deadline, handshake(encryption, bytes)).await;
    Ok(Connection { bytes: Box::new(encrypted.unwrap_or(Err(Error::Handshake))?), local, to })
}

pub(crate) async fn handshake<B: Bytes>(encryption: &Encryption, bytes: B) -> Result<TlsStream<B>, Error> {
    TlsConnector::from(Arc::clone(&encryption.config))
        .connect(encryption.name.clone(), bytes)
        .await
        .map_err(|error| tls::error(&error))
}
