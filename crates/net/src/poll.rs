//! Waits with `poll` for a few busy sockets and for an epoll that has all others.
//!
//! An epoll keeps a callback on each of its sockets, which the kernel runs for every packet sent, since that frees buffer
//! space. A `poll` has callbacks only while it sleeps. With many sockets epoll is cheaper: `poll` checks all of them each
//! time.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;
use std::{array, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::{Epoll, Events};

/// Longer timeouts are cut to this, which every kernel accepts; a wait may end early anyway.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// More sockets than a server usually has on one thread.
const MAX_SOCKETS: usize = 8;

struct Socket {
    fd: Box<dyn AsFd>,
    token: u64,
}

#[derive(Default)]
pub(crate) struct Poll(Vec<Socket>);

impl Poll {
    /// Watches a descriptor until it is removed; false if there are [`MAX_SOCKETS`] already.
    pub(crate) fn add(&mut self, fd: impl AsFd + 'static, token: u64) -> bool {
        let room = self.0.len() < MAX_SOCKETS;
        if room {
            self.0.push(Socket { fd: Box::new(fd), token });
        }
        room
    }

    /// False if the descriptor is not watched here.
    pub(crate) fn remove(&mut self, fd: impl AsFd) -> bool {
        let fd = fd.as_fd().as_raw_fd();
        let at = self.0.iter().position(|socket| socket.fd.as_fd().as_raw_fd() == fd);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Waits until a socket here or in the epoll is readable; returns how many are. A signal ends the wait with 0.
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
        // The epoll follows the sockets.
        let mut fds: [PollFd<'_>; MAX_SOCKETS + 1] = array::from_fn(|_| PollFd::new(epoll, PollFlags::IN));
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
            epoll.append(events, Some(Duration::ZERO))?;
        }
        Ok(events.len())
    }
}

/// Waits until the descriptor is writable or has an error, or until the timeout.
pub(crate) fn poll_writable(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], Some(&timespec(timeout))) {
        Err(error) if error != Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

pub(crate) fn timespec(timeout: Duration) -> Timespec {
    let timeout = timeout.min(MAX_TIMEOUT);
    Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn polled_sockets_and_those_in_the_epoll_are_reported() {
        let epoll = Epoll::new().unwrap();
        let mut poll = Poll::default();
        let sockets: Vec<Rc<UdpSocket>> =
            (0..MAX_SOCKETS + 2).map(|_| Rc::new(UdpSocket::bind("127.0.0.1:0").unwrap())).collect();
        for (token, socket) in sockets.iter().enumerate() {
            let polled = poll.add(socket.clone(), token as u64);
            assert_eq!(polled, token < MAX_SOCKETS);
            if !polled {
                epoll.add(socket, token as u64).unwrap();
            }
        }
        let wait = |poll: &Poll, capacity: usize, timeout| {
            let mut events = Events::with_capacity(capacity);
            let count = poll.wait(&epoll, &mut events, Some(timeout)).unwrap();
            assert_eq!(count, events.tokens().count());
            events.tokens().collect::<Vec<u64>>()
        };
        let ready = |poll: &Poll, capacity| wait(poll, capacity, Duration::ZERO);
        assert_eq!(ready(&poll, 64), []);
        for sent in [1, MAX_SOCKETS - 1, MAX_SOCKETS, MAX_SOCKETS + 1] {
            sockets[sent].send_to(b"x", sockets[sent].local_addr().unwrap()).unwrap();
        }
        let all = [1, MAX_SOCKETS as u64 - 1, MAX_SOCKETS as u64, MAX_SOCKETS as u64 + 1];
        let mut reported = ready(&poll, 64);
        reported.sort_unstable();
        assert_eq!(reported, all);
        // The longest timeout is accepted.
        assert_eq!(wait(&poll, 64, Duration::MAX).len(), all.len());
        // Events beyond the capacity are reported by the next wait.
        assert_eq!(ready(&poll, 1), all[..1]);
        assert_eq!(ready(&poll, 2), all[..2]);
        assert!(poll.remove(&sockets[1]) && !poll.remove(&sockets[1]) && !poll.remove(&sockets[MAX_SOCKETS]));
        assert_eq!(ready(&poll, 64)[0], all[1]);
    }
}
