//! Replies in batches.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use crate::address::RawAddr;
use crate::control::{Control, Local};
use crate::udp::wait_writable;
use crate::{ReplyTo, UdpSocket, sys};

/// What a reply's buffer starts with: more than a reply over UDP should ever have (RFC 9715 says 1400).
const RESERVED: usize = 4096;

/// Room for a batch of replies, allocated once. One per worker is enough for all its sockets, one after the other.
pub struct SendBatch {
    /// The first `len` are accepted replies, the rest is free.
    slots: Vec<Slot>,
    len: usize,
    headers: sys::Outgoing,
}

struct Slot {
    bytes: Vec<u8>,
    to: ReplyTo,
    control: Control,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendReport {
    pub sent: usize,
    pub failed: usize,
}

impl SendBatch {
    pub fn new(slots: usize) -> SendBatch {
        let slots = slots.max(1);
        let nobody = ReplyTo::new(RawAddr::ZERO, Local::Unknown);
        let slot = || Slot { bytes: Vec::with_capacity(RESERVED), to: nobody, control: Control::NONE };
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

    /// Accepts what was written into [`SendBatch::buffer`] as a reply. Panics if the batch is full.
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

    /// Sends all replies and empties the batch. A reply the kernel refuses is left out; if the send buffer stays full
    /// for 50 ms, the rest is given up, as a UDP client asks again anyway.
    pub fn send(&mut self, socket: &UdpSocket) -> SendReport {
        let mut deadline = None;
        let (mut report, left) = self.attempt(socket, || wait_writable(socket.as_fd(), &mut deadline));
        report.failed += left.len();
        report
    }

    /// Sends what there is room for and empties the batch; the rest is handed to `keep`, without any waiting.
    pub fn offer(&mut self, socket: &UdpSocket, mut keep: impl FnMut(&[u8], &ReplyTo)) -> SendReport {
        let (report, left) = self.attempt(socket, || false);
        for slot in &self.slots[left] {
            keep(&slot.bytes, &slot.to);
        }
        report
    }

    /// Sends until all is gone or `wait` sees no room any more. Tells which were not tried.
    fn attempt(&mut self, socket: &UdpSocket, mut wait: impl FnMut() -> bool) -> (SendReport, Range<usize>) {
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
                    // sendmmsg stops at the first it cannot send, and tells why when it is the first in a call.
                    _ => report.failed += 1,
                },
            }
        }
        (report, report.sent + report.failed..total)
    }
}
