//! Destination and source of a reply that is sent later.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::address::RawAddr;
use crate::control::{self, Control, Local};

/// The peer and local address of a datagram. Small and `Copy`; valid for the socket that received it, on any thread.
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
        let mut control = Control::NONE;
        self.write_control(&mut control);
        control
    }

    /// Sets the source of the reply to the address the query was sent to.
    pub(crate) fn write_control(&self, control: &mut Control) {
        control::write(self.local, control);
    }

    /// The peer's address; IPv4 is never mapped.
    pub fn remote(&self) -> SocketAddr {
        self.peer.remote()
    }

    /// The local address the datagram was sent to, if the socket was bound with pktinfo; IPv4 is never mapped.
    pub fn local(&self) -> Option<IpAddr> {
        self.local.address()
    }
}

impl fmt::Debug for ReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyTo").field("remote", &self.remote()).field("local", &self.local()).finish()
    }
}
