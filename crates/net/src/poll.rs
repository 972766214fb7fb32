//! Waiting for a few sockets that are always in use, and for an epoll with all others.
//!
//! An epoll keeps a callback on each of its sockets, which the kernel runs for every packet that leaves, since there is room
//! for another one then. A poll has callbacks only while it sleeps. With many sockets it would be the other way round: a poll
//! goes through all of them each time.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;
use std::{array, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::{Epoll, Events};

/// A wait may end early, so none need be longer; this one every kernel takes.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// More sockets than a server has on one thread as a rule.
const MOST: usize = 8;

struct Socket {
    fd: Box<dyn AsFd>,
    token: u64,
}

#[derive(Default)]
pub(crate) struct Poll(Vec<Socket>);

impl Poll {
    /// Watches a descriptor until it is removed; false if there are too many.
    pub(crate) fn add(&mut self, fd: impl AsFd + 'static, token: u64) -> bool {
        let room = self.0.len() < MOST;
        if room {
            self.0.push(Socket { fd: Box::new(fd), token });
        }
        room
    }

    /// False if it is not here.
    pub(crate) fn remove(&mut self, fd: impl AsFd) -> bool {
        let fd = fd.as_fd().as_raw_fd();
        let at = self.0.iter().position(|socket| socket.fd.as_fd().as_raw_fd() == fd);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Waits until something can be read, here or in the epoll. A signal ends the wait with nothing.
    pub(crate) fn wait(
        &self,
        epoll: &Epoll,
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        if self.0.is_empty() {
            return epoll.wait(events, timeout);
        }
        events.clear();
        // The epoll stands behind the sockets.
        let mut fds: [PollFd<'_>; MOST + 1] = array::from_fn(|_| PollFd::new(epoll, PollFlags::IN));
        fds.iter_mut().zip(&self.0).for_each(|(fd, socket)| fd.set_fd(&socket.fd));
        let Some(fds) = fds.get_mut(..=self.0.len()) else { return Ok(0) };
        match poll(fds, timeout.map(timespec).as_ref()) {
            Err(Errno::INTR) => return Ok(0),
            polled => polled?,
        };
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let own = self.0.iter().zip(&*fds).filter(|(_, fd)| ready(fd));
        own.for_each(|(socket, _)| events.push(socket.token));
        if fds.last().is_some_and(ready) {
            epoll.gather(events, Some(Duration::ZERO))?;
        }
        Ok(events.len())
    }
}

/// Waits until the descriptor can be written (or has an error to tell), or the time is over.
pub(crate) fn poll_writable(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], Some(&timespec(timeout))) {
        Err(error) if error != Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

pub(crate) fn timespec(timeout: Duration) -> Timespec {
    let timeout = timeout.min(LONGEST);
    Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn sockets_here_and_in_the_epoll_are_told_of() {
        let epoll = Epoll::new().unwrap();
        let mut poll = Poll::default();
        let sockets: Vec<Rc<UdpSocket>> =
            (0..MOST + 2).map(|_| Rc::new(UdpSocket::bind("127.0.0.1:0").unwrap())).collect();
        for (token, socket) in sockets.iter().enumerate() {
            let here = poll.add(socket.clone(), token as u64);
            assert_eq!(here, token < MOST);
            if !here {
                epoll.add(socket, token as u64).unwrap();
            }
        }
        let wait = |poll: &Poll, room: usize, timeout| {
            let mut events = Events::with_capacity(room);
            let count = poll.wait(&epoll, &mut events, Some(timeout)).unwrap();
            assert_eq!(count, events.tokens().count());
            events.tokens().collect::<Vec<u64>>()
        };
        let ready = |poll: &Poll, room| wait(poll, room, Duration::ZERO);
        assert_eq!(ready(&poll, 64), []);
        for told in [1, MOST - 1, MOST, MOST + 1] {
            sockets[told].send_to(b"x", sockets[told].local_addr().unwrap()).unwrap();
        }
        let all = [1, MOST as u64 - 1, MOST as u64, MOST as u64 + 1];
        let mut told = ready(&poll, 64);
        told.sort_unstable();
        assert_eq!(told, all);
        // However long a wait may be.
        assert_eq!(wait(&poll, 64, Duration::MAX).len(), all.len());
        // What finds no room is told of the next time.
        assert_eq!(ready(&poll, 1), all[..1]);
        assert_eq!(ready(&poll, 2), all[..2]);
        assert!(poll.remove(&sockets[1]) && !poll.remove(&sockets[1]) && !poll.remove(&sockets[MOST]));
        assert_eq!(ready(&poll, 64)[0], all[1]);
    }
}
