//! Epoll: waits for several sockets at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::poll::timespec;

/// An epoll instance for read readiness.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Watches a descriptor, level-triggered, until [`Epoll::remove`] or until its last copy is closed.
    pub fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(self, fd, EventData::new_u64(token), EventFlags::IN)?)
    }

    /// Watches a descriptor, edge-triggered: each event requires reading until it would block.
    pub fn add_edge(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(self, fd, EventData::new_u64(token), EventFlags::IN | EventFlags::ET)?)
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(self, fd)?)
    }

    /// Waits until a descriptor is readable; returns how many are. `None` waits forever. A signal ends the wait with 0.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        events.clear();
        self.append(events, timeout)?;
        Ok(events.len())
    }

    /// Waits likewise, and appends the ready descriptors to `events`, up to its capacity.
    pub(crate) fn append(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let free = events.list.get_mut(events.ready..).filter(|free| !free.is_empty());
        let Some(free) = free else { return Ok(()) };
        match epoll::wait(self, free, timeout.map(timespec).as_ref()) {
            Ok(ready) => events.ready += ready,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The events of one wait.
pub struct Events {
    list: Box<[Event]>,
    ready: usize,
}

impl Events {
    /// Capacity for `n` events; if more are ready, the next wait returns them.
    pub fn with_capacity(n: usize) -> Events {
        Events { list: vec![event(0); n.max(1)].into(), ready: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.ready = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.ready
    }

    /// Drops the event at capacity: a descriptor that is ready now is ready at the next wait.
    pub(crate) fn push(&mut self, token: u64) {
        if let Some(free) = self.list.get_mut(self.ready) {
            *free = event(token);
            self.ready += 1;
        }
    }

    /// The tokens of the ready descriptors.
    pub fn tokens(&self) -> impl Iterator<Item = u64> {
        self.list.iter().take(self.ready).map(|event| event.data.u64())
    }
}

fn event(token: u64) -> Event {
    Event { flags: EventFlags::IN, data: EventData::new_u64(token) }
}
