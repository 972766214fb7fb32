//! `dns://`: plain DNS over UDP and TCP, on the same port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use net::{UdpOptions, UdpSocket};
use tokio::net::TcpListener;

use super::endpoint::{Endpoint, with_address};
use super::tcp;
use super::transport::{Acceptor, BindOptions, Bound};
use super::udp::Workers;
use crate::{Address, runtime};

/// Attempts to find a port that is free for both UDP and TCP, for port 0.
const ANY_PORT_ATTEMPTS: usize = 16;

struct Sockets {
    udp: Vec<Arc<UdpSocket>>,
    tcp: Vec<TcpListener>,
}

impl Acceptor for Sockets {
    fn serve(self: Box<Self>, endpoint: &Arc<Endpoint>, workers: &Workers) {
        for listener in self.tcp.into_iter().map(Arc::new) {
            let endpoint = endpoint.clone();
            let accepting = move || tcp::accept(listener.clone(), endpoint.clone());
            supervise::spawn(runtime::handle(), "tcp-listener", accepting);
        }
        workers.serve(endpoint, self.udp);
    }
}

/// Binds as many sockets as the service configures, or else one UDP socket per worker and one for TCP.
pub(super) fn bind(address: &Address, options: &BindOptions<'_>) -> io::Result<Bound> {
    let mut bound = bind_once(address, options);
    for _ in 1..ANY_PORT_ATTEMPTS {
        match &bound {
            Err(error) if address.port == 0 && error.kind() == io::ErrorKind::AddrInUse => {
                bound = bind_once(address, options);
            }
            _ => break,
        }
    }
    bound
}

fn bind_once(address: &Address, options: &BindOptions<'_>) -> io::Result<Bound> {
    let wanted = address.socket_addr();
    let sockets = options.service.sockets;
    // Replies must be sent from the address the query was sent to, which a wildcard socket only knows from pktinfo.
    let udp_options = UdpOptions { pktinfo: address.is_wildcard(), ..UdpOptions::default() };
    let first = match UdpSocket::bind(wanted, &udp_options) {
        Err(error) if address.ip.is_none() && net::ipv6_unavailable(&error) => {
            UdpSocket::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port), &udp_options)
        }
        other => other,
    }
    .map_err(|error| with_address(error, "udp", address))?;
    let addr = first.local_addr();
    let _entered = runtime::handle().enter();
    let listen = || {
        let listener = net::listen_tcp(addr).and_then(TcpListener::from_std);
        listener.map_err(|error| with_address(error, "tcp", address))
    };
    let tcp = (0..sockets.unwrap_or(1)).map(|_| listen()).collect::<io::Result<_>>()?;
    let mut udp = vec![Arc::new(first)];
    for _ in 1..sockets.unwrap_or(options.workers) {
        udp.push(Arc::new(
            UdpSocket::bind(addr, &udp_options).map_err(|error| with_address(error, "udp", address))?,
        ));
    }
    Ok(Bound { addr, acceptor: Box::new(Sockets { udp, tcp }) })
}
