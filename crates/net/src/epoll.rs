//! Waiting for several sockets at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::poll::timespec;

/// Readiness to read.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Watches a descriptor: it is ready for as long as there is something to read. It leaves by [`Epoll::remove`],
    /// or when its last copy is closed.
    pub fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(self, fd, EventData::new_u64(token), EventFlags::IN)?)
    }

    /// Watches a descriptor that is always read until nothing is left: it is ready once for each arrival.
    pub fn add_edge(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(self, fd, EventData::new_u64(token), EventFlags::IN | EventFlags::ET)?)
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(self, fd)?)
    }

    /// Waits until something can be read; how many are ready. `None` waits for ever. A signal ends the wait with 0.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        events.clear();
        self.gather(events, timeout)?;
        Ok(events.len())
    }

    /// Waits as well, and adds what can be read to what is there, as far as there is room.
    pub(crate) fn gather(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let room = events.list.get_mut(events.ready..).filter(|room| !room.is_empty());
        let Some(room) = room else { return Ok(()) };
        match epoll::wait(self, room, timeout.map(timespec).as_ref()) {
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

/// Room for what one wait found.
pub struct Events {
    list: Box<[Event]>,
    ready: usize,
}

impl Events {
    /// Room for `n`; if more are ready, the next wait tells of them.
    pub fn with_capacity(n: usize) -> Events {
        Events { list: vec![event(0); n.max(1)].into(), ready: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.ready = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.ready
    }

    /// Without room it is left out: what is ready now is so the next time.
    pub(crate) fn push(&mut self, token: u64) {
        if let Some(free) = self.list.get_mut(self.ready) {
            *free = event(token);
            self.ready += 1;
        }
    }

    /// The tokens of all that are ready, as they were given when they were added.
    pub fn tokens(&self) -> impl Iterator<Item = u64> {
        self.list.iter().take(self.ready).map(|event| event.data.u64())
    }
}

fn event(token: u64) -> Event {
    Event { flags: EventFlags::IN, data: EventData::new_u64(token) }
}
