//! Receives datagrams in batches.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use crate::address::RawAddr;
use crate::control::{self, Local};
use crate::{ReplyTo, sys};

/// Buffers for a batch of datagrams, allocated once. A worker needs one for all its sockets.
pub struct RecvBatch(sys::Incoming);

/// One datagram of a batch.
#[derive(Clone, Copy)]
pub struct Datagram<'a> {
    /// The datagram, truncated to the size of a slot.
    pub bytes: &'a [u8],
    /// Whether the datagram was larger than a slot.
    pub truncated: bool,
    peer: &'a RawAddr,
    local: Local,
}

impl Datagram<'_> {
    /// The peer's address; IPv4 is never mapped.
    #[inline]
    pub fn remote(&self) -> SocketAddr {
        self.peer.remote()
    }

    /// The address it was sent to, if the socket was bound with pktinfo; IPv4 is never mapped.
    #[inline]
    pub fn local(&self) -> Option<IpAddr> {
        self.local.address()
    }

    /// For sending a reply later.
    #[inline]
    pub fn reply_to(&self) -> ReplyTo {
        ReplyTo::new(*self.peer, self.local)
    }
}

impl RecvBatch {
    pub fn new(slots: usize, bytes_per_slot: usize) -> RecvBatch {
        RecvBatch(sys::Incoming::new(slots, bytes_per_slot))
    }

    /// Receives up to a batch with one system call, replacing the last batch. 0 if no datagram is queued.
    pub fn recv(&mut self, socket: impl AsFd) -> io::Result<usize> {
        loop {
            match self.0.recv(socket.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                result => return result,
            }
        }
    }

    /// Number of datagrams of the last [`RecvBatch::recv`].
    pub fn len(&self) -> usize {
        self.0.filled()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one datagram, truncated to the size of a slot. Panics if `i` is not below [`RecvBatch::len`].
    pub fn bytes(&self, i: usize) -> &[u8] {
        self.0.bytes(i)
    }

    /// One datagram. Panics if `i` is not below [`RecvBatch::len`].
    #[inline]
    pub fn packet(&self, i: usize) -> Datagram<'_> {
        Datagram {
            bytes: self.0.bytes(i),
            truncated: self.0.truncated(i),
            peer: self.0.peer(i),
            local: control::parse(self.0.control(i)),
        }
    }
}
