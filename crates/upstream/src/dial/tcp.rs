//! Connections over TCP.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::{Connection, Endpoint};
use crate::Network;
use crate::error::{Cause, Error};

pub(super) async fn dial(endpoint: &Endpoint, deadline: Instant) -> Result<Connection, Error> {
    let connected = timeout_at(deadline, connect(endpoint)).await;
    let stream = connected.unwrap_or_else(|_| Err(endpoint.dial_error(Network::Tcp, Cause::Timeout)))?;
    Ok(Connection { local: stream.local_addr().ok(), bytes: Box::new(stream), to: endpoint.addr })
}

pub(crate) async fn connect(endpoint: &Endpoint) -> Result<TcpStream, Error> {
    let failed =
        |call| move |error: io::Error| endpoint.dial_error(Network::Tcp, Cause::system(call, &error));
    let socket = match endpoint.addr {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
    .map_err(failed("socket"))?;
    if let Some(source) = endpoint.source {
        socket.bind(SocketAddr::new(source, 0)).map_err(failed("bind"))?;
    }
    let stream = socket.connect(endpoint.addr).await.map_err(failed("connect"))?;
    // A message is one small write; Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
