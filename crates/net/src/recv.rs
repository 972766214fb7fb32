//! Datagrams in batches.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use crate::address::RawAddr;
use crate::control::{self, Local};
use crate::{ReplyTo, sys};

/// Room for a batch of datagrams, allocated once. One per worker is enough for all its sockets.
pub struct RecvBatch(sys::Incoming);

/// One datagram of a batch.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    /// The datagram, cut to the size of a slot.
    pub bytes: &'a [u8],
    /// The datagram was larger than a slot, and the rest is lost.
    pub truncated: bool,
    peer: &'a RawAddr,
    local: Local,
}

impl Received<'_> {
    /// Who sent it; IPv4 is never mapped.
    #[inline]
    pub fn remote(&self) -> SocketAddr {
        self.peer.remote()
    }

    /// The address it was sent to, if the socket was bound with pktinfo; IPv4 is never mapped.
    #[inline]
    pub fn local(&self) -> Option<IpAddr> {
        self.local.address()
    }

    /// The way back.
    #[inline]
    pub fn reply_to(&self) -> ReplyTo {
        ReplyTo::new(*self.peer, self.local)
    }
}

impl RecvBatch {
    pub fn new(slots: usize, bytes_per_slot: usize) -> RecvBatch {
        RecvBatch(sys::Incoming::new(slots, bytes_per_slot))
    }

    /// Takes what is waiting, up to a batch, with one system call; replaces the batch before. 0 if nothing is waiting.
    pub fn recv(&mut self, socket: impl AsFd) -> io::Result<usize> {
        loop {
            match self.0.recv(socket.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                result => return result,
            }
        }
    }

    /// The datagrams of the last [`RecvBatch::recv`].
    pub fn len(&self) -> usize {
        self.0.filled()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one of them, cut to the size of a slot. Panics if `i` is not below what `recv` returned.
    pub fn bytes(&self, i: usize) -> &[u8] {
        self.0.bytes(i)
    }

    /// One of them. Panics if `i` is not below what `recv` returned.
    #[inline]
    pub fn packet(&self, i: usize) -> Received<'_> {
        Received {
            bytes: self.0.bytes(i),
            truncated: self.0.truncated(i),
            peer: self.0.peer(i),
            local: control::parse(self.0.control(i)),
        }
    }
}
