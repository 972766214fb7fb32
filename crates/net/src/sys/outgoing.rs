//! The headers of sendmmsg, written for each batch. They point to the replies only while these are borrowed.

use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::slice;

use super::message::{IoVec, Message, send_messages};
use crate::address::RawAddr;

/// One datagram to send.
#[derive(Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub(crate) bytes: &'a [u8],
    /// None on a connected socket.
    pub(crate) peer: Option<&'a RawAddr>,
    pub(crate) control: &'a [u8],
}

impl Reply<'_> {
    fn iovec(&self) -> IoVec {
        IoVec::new(self.bytes.as_ptr().cast_mut(), self.bytes.len())
    }

    /// The message without its iovec. The kernel's structures have pointers to mutable data in both directions, but sending
    /// only reads.
    fn message(&self) -> Message {
        let mut message = Message::EMPTY;
        if let Some(peer) = self.peer {
            message.header.name = std::ptr::from_ref(peer).cast_mut();
            message.header.name_len = peer.len();
        }
        message.header.iov_len = 1;
        if !self.control.is_empty() {
            message.header.control = self.control.as_ptr().cast_mut().cast();
            message.header.control_len = self.control.len();
        }
        message
    }
}

/// The headers of a batch.
pub(crate) struct Outgoing {
    messages: Vec<Message>,
    iovecs: Vec<IoVec>,
}

impl Outgoing {
    pub(crate) fn new(slots: usize) -> Self {
        Self { messages: Vec::with_capacity(slots), iovecs: Vec::with_capacity(slots) }
    }

    /// Writes the headers of these replies.
    pub(crate) fn prepare<'a>(&'a mut self, replies: impl Iterator<Item = Reply<'a>>) -> Prepared<'a> {
        self.messages.clear();
        self.iovecs.clear();
        for reply in replies {
            self.messages.push(reply.message());
            self.iovecs.push(reply.iovec());
        }
        // Only now are the iovecs complete and no longer move.
        for (message, iovec) in self.messages.iter_mut().zip(&mut self.iovecs) {
            message.header.iov = iovec;
        }
        Prepared { messages: &mut self.messages, borrowed: PhantomData }
    }
}

/// Headers whose replies are borrowed for `'a`, and so still exist.
pub(crate) struct Prepared<'a> {
    messages: &'a mut [Message],
    borrowed: PhantomData<(&'a mut [IoVec], Reply<'a>)>,
}

impl Prepared<'_> {
    /// Sends all from `first` on with one sendmmsg; returns how many were sent. An error is that of message `first`.
    pub(crate) fn send_from(&mut self, first: usize, fd: BorrowedFd<'_>) -> io::Result<usize> {
        let messages = self.messages.get_mut(first..).unwrap_or_default();
        // SAFETY: only `prepare` creates a `Prepared`; it took each pointer with its length from a reply
        // borrowed for this value's lifetime, and the iovecs are borrowed with it.
        unsafe { send_messages(fd, messages) }
    }
}

/// Sends one reply without a batch.
pub(crate) fn send_one(fd: BorrowedFd<'_>, reply: Reply<'_>) -> io::Result<()> {
    let mut iovec = reply.iovec();
    let mut message = reply.message();
    message.header.iov = &mut iovec;
    // SAFETY: all pointers are to `reply`'s borrowed parts and to `iovec` above, which outlive the call.
    unsafe { send_messages(fd, slice::from_mut(&mut message)) }.map(drop)
}
