//! A listening address. Its sockets survive reloads; its service is replaced.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::transport::{self, Acceptor, BindOptions, Bound};
use crate::{Address, Service};

/// One listening address and its current service.
pub(crate) struct Endpoint {
    pub address: Address,
    /// The address the sockets are bound to; differs for port 0 and without IPv6.
    pub bound: SocketAddr,
    /// The configured number of sockets; None is one UDP socket per worker and one TCP socket.
    pub sockets: Option<usize>,
    pub service: ArcSwap<Service>,
    /// Becomes true when the endpoint is to be closed.
    pub closing: watch::Sender<bool>,
}

/// An endpoint with its sockets, bound but not served yet.
pub(crate) struct BoundEndpoint {
    pub endpoint: Arc<Endpoint>,
    pub acceptor: Box<dyn Acceptor>,
}

/// Binds all sockets of an address, by the transport of its scheme.
pub(crate) fn bind(address: &Address, workers: usize, service: Arc<Service>) -> io::Result<BoundEndpoint> {
    let scheme = address.scheme;
    let transport = transport::find(scheme)
        .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, format!("{scheme}:// is not served")))?;
    let Bound { addr, acceptor } = (transport.bind)(address, &BindOptions { workers, service: &service })?;
    let endpoint = Arc::new(Endpoint {
        address: address.clone(),
        bound: addr,
        sockets: service.sockets,
        service: ArcSwap::new(service),
        closing: watch::Sender::new(false),
    });
    Ok(BoundEndpoint { endpoint, acceptor })
}

/// Adds the address to an error, in Go's words.
pub(super) fn with_address(error: io::Error, network: &str, address: &Address) -> io::Error {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => "bind: address already in use".to_owned(),
        io::ErrorKind::PermissionDenied => "bind: permission denied".to_owned(),
        io::ErrorKind::AddrNotAvailable => "bind: cannot assign requested address".to_owned(),
        _ => error.to_string(),
    };
    io::Error::new(error.kind(), format!("listen {network} {address}: {reason}"))
}
