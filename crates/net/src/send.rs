//! Sends replies in batches.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use crate::address::RawAddr;
use crate::control::{Control, Local};
use crate::udp::wait_writable;
use crate::{ReplyTo, UdpSocket, sys};

/// Initial capacity of a reply's buffer: more than a UDP reply should have (RFC 9715: 1400).
const REPLY_CAPACITY: usize = 4096;

/// Buffers for a batch of replies, allocated once. A worker needs one for all its sockets, used in turn.
pub struct SendBatch {
    /// The first `len` are committed replies, the rest is free.
    slots: Vec<Slot>,
    len: usize,
    headers: sys::Outgoing,
}

struct Slot {
    bytes: Vec<u8>,
    to: ReplyTo,
    control: Control,
}

/// The result of sending a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendReport {
    pub sent: usize,
    pub failed: usize,
}

impl SendBatch {
    pub fn new(slots: usize) -> SendBatch {
        let slots = slots.max(1);
        let unset = ReplyTo::new(RawAddr::ZERO, Local::Unknown);
        let slot = || Slot { bytes: Vec::with_capacity(REPLY_CAPACITY), to: unset, control: Control::NONE };
        SendBatch {
            slots: std::iter::repeat_with(slot).take(slots).collect(),
            len: 0,
            headers: sys::Outgoing::new(slots),
        }
    }

    /// An empty buffer for the next reply. Without a [`SendBatch::commit`] it stays free. Panics if the batch is full.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        let bytes = &mut self.slots[self.len].bytes;
        bytes.clear();
        bytes
    }

    /// Adds the contents of [`SendBatch::buffer`] as a reply. Panics if the batch is full.
    pub fn commit(&mut self, to: &ReplyTo) {
        let slot = &mut self.slots[self.len];
        slot.to = *to;
        to.write_control(&mut slot.control);
        self.len += 1;
    }

    pub fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Sends all replies and clears the batch. Replies that the kernel refuses are dropped; so is the rest if the send buffer
    /// stays full for 50 ms, since UDP clients retry.
    pub fn send(&mut self, socket: &UdpSocket) -> SendReport {
        let mut deadline = None;
        let (mut report, left) = self.send_while(socket, || wait_writable(socket.as_fd(), &mut deadline));
        report.failed += left.len();
        report
    }

    /// Sends without waiting and clears the batch; passes replies that found the send buffer full to `keep`.
    pub fn try_send(&mut self, socket: &UdpSocket, mut keep: impl FnMut(&[u8], &ReplyTo)) -> SendReport {
        let (report, left) = self.send_while(socket, || false);
        for slot in &self.slots[left] {
            keep(&slot.bytes, &slot.to);
        }
        report
    }

    /// Sends until all is sent or `wait` returns false on a full send buffer. Returns the range of replies not tried.
    fn send_while(
        &mut self,
        socket: &UdpSocket,
        mut wait: impl FnMut() -> bool,
    ) -> (SendReport, Range<usize>) {
        let mut report = SendReport::default();
        let fd = socket.as_fd();
        let total = std::mem::take(&mut self.len);
        let replies = self.slots[..total].iter().map(|slot| sys::Reply {
            bytes: &slot.bytes,
            peer: Some(slot.to.peer()),
            control: slot.control.as_slice(),
        });
        let mut prepared = self.headers.prepare(replies);
        while report.sent + report.failed < total {
            match prepared.send_from(report.sent + report.failed, fd) {
                Ok(0) => report.failed += 1,
                Ok(sent) => report.sent += sent,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock if wait() => {}
                    io::ErrorKind::WouldBlock => break,
                    // sendmmsg stops at a message it cannot send, and reports its error when it is the first of a call.
                    _ => report.failed += 1,
                },
            }
        }
        (report, report.sent + report.failed..total)
    }
}
