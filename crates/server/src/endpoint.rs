//! An address being listened on. The sockets stay the same through reloads; what is served on them changes.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use net::{UdpOptions, UdpSocket};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::{Address, Service, runtime};

/// One address and what is served there now.
pub(crate) struct Endpoint {
    pub address: Address,
    /// Where the sockets really are bound; differs for port 0 and without IPv6.
    pub bound: SocketAddr,
    /// How many sockets were asked for; None is one UDP socket per worker and one TCP socket.
    pub sockets: Option<usize>,
    pub service: ArcSwap<Service>,
    /// Turns true when the address is to be given up.
    pub closing: watch::Sender<bool>,
}

/// The sockets of an endpoint, bound but not yet served.
pub(crate) struct Bound {
    pub endpoint: Arc<Endpoint>,
    pub udp: Vec<Arc<UdpSocket>>,
    pub tcp: Vec<TcpListener>,
}

/// Attempts to find a port free for UDP and TCP alike, where any port will do.
const ANY_PORT_ATTEMPTS: usize = 16;

/// Binds all sockets of an address: as many as its service wants, or else one UDP socket per worker and one for TCP.
pub(crate) fn bind(address: &Address, workers: usize, service: Arc<Service>) -> io::Result<Bound> {
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

fn bind_once(address: &Address, workers: usize, service: Arc<Service>) -> io::Result<Bound> {
    let wanted = address.socket_addr();
    // Replies must leave from the address the query came to, which only wildcard sockets do not know.
    let options = UdpOptions { pktinfo: address.is_wildcard(), ..UdpOptions::default() };
    let first = match UdpSocket::bind(wanted, &options) {
        Err(error) if address.ip.is_none() && net::ipv6_unavailable(&error) => {
            UdpSocket::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port), &options)
        }
        other => other,
    }
    .map_err(|error| named(error, "udp", address))?;
    let bound = first.local_addr();
    let _entered = runtime::handle().enter();
    let listen = || {
        let listener = net::listen_tcp(bound).and_then(TcpListener::from_std);
        listener.map_err(|error| named(error, "tcp", address))
    };
    let sockets = service.sockets;
    let tcp = (0..sockets.unwrap_or(1)).map(|_| listen()).collect::<io::Result<_>>()?;
    let mut udp = vec![Arc::new(first)];
    for _ in 1..sockets.unwrap_or(workers) {
        udp.push(Arc::new(UdpSocket::bind(bound, &options).map_err(|error| named(error, "udp", address))?));
    }
    let endpoint = Arc::new(Endpoint {
        address: address.clone(),
        bound,
        sockets,
        service: ArcSwap::new(service),
        closing: watch::Sender::new(false),
    });
    Ok(Bound { endpoint, udp, tcp })
}

/// The error with what could not be done, in the words operators know.
fn named(error: io::Error, network: &str, address: &Address) -> io::Error {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => "bind: address already in use".to_owned(),
        io::ErrorKind::PermissionDenied => "bind: permission denied".to_owned(),
        io::ErrorKind::AddrNotAvailable => "bind: cannot assign requested address".to_owned(),
        _ => error.to_string(),
    };
    io::Error::new(error.kind(), format!("listen {network} {address}: {reason}"))
}
