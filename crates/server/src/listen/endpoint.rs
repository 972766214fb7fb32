//! A listening address. Its sockets survive reloads; its service is replaced.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use net::{UdpOptions, UdpSocket};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::{Address, Service, runtime};

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
    pub udp: Vec<Arc<UdpSocket>>,
    pub tcp: Vec<TcpListener>,
}

/// Attempts to find a port that is free for both UDP and TCP, for port 0.
const ANY_PORT_ATTEMPTS: usize = 16;

/// Binds all sockets of an address: as many as its service configures, or else one UDP socket per worker and one for TCP.
pub(crate) fn bind(address: &Address, workers: usize, service: Arc<Service>) -> io::Result<BoundEndpoint> {
    let mut bound = bind_once(address, workers, service.clone());
    for _ in 1..ANY_PORT_ATTEMPTS {
        match &bound {
            Err(error) if address.port == 0 && error.kind() == io::ErrorKind::AddrInUse => {
                bound = bind_once(address, workers, service.clone());
            }
            _ => break,
        }
    }
    bound
}

fn bind_once(address: &Address, workers: usize, service: Arc<Service>) -> io::Result<BoundEndpoint> {
    let wanted = address.socket_addr();
    // Replies must be sent from the address the query was sent to, which a wildcard socket only knows from pktinfo.
    let options = UdpOptions { pktinfo: address.is_wildcard(), ..UdpOptions::default() };
    let first = match UdpSocket::bind(wanted, &options) {
        Err(error) if address.ip.is_none() && net::ipv6_unavailable(&error) => {
            UdpSocket::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port), &options)
        }
        other => other,
    }
    .map_err(|error| with_address(error, "udp", address))?;
    let bound = first.local_addr();
    let _entered = runtime::handle().enter();
    let listen = || {
        let listener = net::listen_tcp(bound).and_then(TcpListener::from_std);
        listener.map_err(|error| with_address(error, "tcp", address))
    };
    let sockets = service.sockets;
    let tcp = (0..sockets.unwrap_or(1)).map(|_| listen()).collect::<io::Result<_>>()?;
    let mut udp = vec![Arc::new(first)];
    for _ in 1..sockets.unwrap_or(workers) {
        udp.push(Arc::new(
            UdpSocket::bind(bound, &options).map_err(|error| with_address(error, "udp", address))?,
        ));
    }
    let endpoint = Arc::new(Endpoint {
        address: address.clone(),
        bound,
        sockets,
        service: ArcSwap::new(service),
        closing: watch::Sender::new(false),
    });
    Ok(BoundEndpoint { endpoint, udp, tcp })
}

/// Adds the address to an error, in Go's words.
fn with_address(error: io::Error, network: &str, address: &Address) -> io::Error {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => "bind: address already in use".to_owned(),
        io::ErrorKind::PermissionDenied => "bind: permission denied".to_owned(),
        io::ErrorKind::AddrNotAvailable => "bind: cannot assign requested address".to_owned(),
        _ => error.to_string(),
    };
    io::Error::new(error.kind(), format!("listen {network} {address}: {reason}"))
}
