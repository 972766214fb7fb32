//! Wakes a thread that waits in an epoll.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd: readable from [`Waker::wake`] until [`Waker::drain`].
#[derive(Debug)]
pub struct Waker(File);

impl Waker {
    pub fn new() -> io::Result<Waker> {
        Ok(Waker(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?.into()))
    }

    /// Wakes the waiting thread. The only error is a full counter, and then a wake-up is already pending.
    pub fn wake(&self) {
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }

    /// Clears all wake-ups so far; call it before looking for the work they announce. Does nothing without a wake-up.
    pub fn drain(&self) {
        let _ = (&self.0).read(&mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
