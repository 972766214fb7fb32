//! The client of a query: addresses and transport.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The transport a query arrived over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    Udp,
    Tcp,
}

impl Transport {
    /// The name in the query log and in metrics.
    pub fn proto(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        }
    }

    /// Whether a reply may have several messages.
    pub(crate) fn carries_streams(self) -> bool {
        self == Transport::Tcp
    }
}

/// The two addresses of an exchange. IPv4 addresses are never IPv6-mapped here.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    pub remote: SocketAddr,
    pub local: SocketAddr,
    pub transport: Transport,
}

impl Client {
    /// 1 for IPv4, 2 for IPv6: the `family` label.
    pub fn family(&self) -> u8 {
        if self.remote.is_ipv4() { 1 } else { 2 }
    }

    pub(crate) fn unspecified() -> Client {
        let unspecified = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Client { remote: unspecified, local: unspecified, transport: Transport::Udp }
    }
}
