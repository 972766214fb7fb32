//! Where a reply goes and where it comes from: all that is kept of a datagram that is answered later.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::address::{self, RawAddr};
use crate::control::{self, Control, Local};

/// The way back of one datagram. Small and `Copy`; valid for the socket it came by, from any thread.
#[derive(Clone, Copy)]
pub struct ReplyTo {
    peer: RawAddr,
    local: Local,
}

impl ReplyTo {
    pub(crate) fn new(peer: RawAddr, local: Local) -> Self {
        Self { peer, local }
    }

    pub(crate) fn peer(&self) -> &RawAddr {
        &self.peer
    }

    pub(crate) fn control(&self) -> Control {
        control::build(self.local)
    }

    /// The peer's address; IPv4 is never mapped.
    pub fn remote(&self) -> SocketAddr {
        // The kernel writes no other family on our sockets; if it did, the address that takes no reply is the
        // honest one.
        self.peer.to_socket_addr().map_or(NOBODY, address::unmapped)
    }

    /// The local address the datagram was sent to, if the socket was bound with pktinfo; IPv4 is never mapped.
    pub fn local(&self) -> Option<IpAddr> {
        match self.local {
            Local::Unknown => None,
            Local::V4(ip) => Some(ip.into()),
            Local::V6(ip, _) => Some(address::unmapped_ip(ip)),
        }
    }
}

const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl fmt::Debug for ReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyTo").field("remote", &self.remote()).field("local", &self.local()).finish()
    }
}
