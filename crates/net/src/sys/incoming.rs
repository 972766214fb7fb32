//! The buffers and headers of recvmmsg: allocated and linked once.

use std::io;
use std::os::fd::BorrowedFd;

use super::FixedArray;
use super::message::{IoVec, Message, recv_messages};
use crate::address::RawAddr;
use crate::control::ControlBuf;

/// Slots for datagrams, each with its bytes, its peer's address and its control messages. The last `recv` filled
/// the first `filled` of them.
pub(crate) struct Incoming {
    messages: FixedArray<Message>,
    // `messages` points into `iovecs`, `peers` and `controls`, and `iovecs` into `bytes`. None of them is ever replaced, and
    // all are dropped together with `self`.
    #[expect(dead_code, reason = "owned for the pointers into it")]
    iovecs: FixedArray<IoVec>,
    peers: FixedArray<RawAddr>,
    controls: FixedArray<ControlBuf>,
    bytes: FixedArray<u8>,
    bytes_per_slot: usize,
    filled: usize,
}

impl Incoming {
    pub(crate) fn new(slots: usize, bytes_per_slot: usize) -> Self {
        let (slots, bytes_per_slot) = (slots.max(1), bytes_per_slot.max(1));
        let bytes = FixedArray::new(0_u8, slots * bytes_per_slot);
        let peers = FixedArray::new(RawAddr::ZERO, slots);
        let controls = FixedArray::new(ControlBuf::ZERO, slots);
        let mut iovecs = FixedArray::new(IoVec::new(std::ptr::null_mut(), 0), slots);
        for (slot, iovec) in iovecs.iter_mut().enumerate() {
            *iovec = IoVec::new(bytes.pointer(slot * bytes_per_slot), bytes_per_slot);
        }
        let mut messages = FixedArray::new(Message::EMPTY, slots);
        for (slot, message) in messages.iter_mut().enumerate() {
            message.header.name = peers.pointer(slot);
            message.header.iov = iovecs.pointer(slot);
            message.header.iov_len = 1;
            message.header.control = controls.pointer(slot).cast();
        }
        let mut incoming = Self { messages, iovecs, peers, controls, bytes, bytes_per_slot, filled: slots };
        incoming.reset_lengths();
        incoming
    }

    /// The kernel overwrote the capacities with the lengths it used; resets those of the slots it filled.
    fn reset_lengths(&mut self) {
        for message in &mut self.messages[..self.filled] {
            message.header.name_len = RawAddr::SIZE as libc::socklen_t;
            message.header.control_len = ControlBuf::SIZE;
        }
        self.filled = 0;
    }

    /// One recvmmsg.
    pub(crate) fn recv(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.reset_lengths();
        // SAFETY: `new` pointed every message at its own slot of arrays that live as long as `self`, `reset_lengths`
        // set the lengths of those slots, and `&mut self` excludes other references into them.
        self.filled = unsafe { recv_messages(fd, &mut self.messages) }?;
        Ok(self.filled)
    }

    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    pub(crate) fn bytes(&self, slot: usize) -> &[u8] {
        let start = slot * self.bytes_per_slot;
        let len = (self.message(slot).len as usize).min(self.bytes_per_slot);
        &self.bytes[start..start + len]
    }

    pub(crate) fn truncated(&self, slot: usize) -> bool {
        self.message(slot).header.flags & libc::MSG_TRUNC as libc::c_uint != 0
    }

    pub(crate) fn peer(&self, slot: usize) -> &RawAddr {
        &self.peers[slot]
    }

    pub(crate) fn control(&self, slot: usize) -> &[u8] {
        self.controls[slot].filled(self.message(slot).header.control_len)
    }

    fn message(&self, slot: usize) -> &Message {
        &self.messages[..self.filled][slot]
    }
}
