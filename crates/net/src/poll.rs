//! Waiting for a few sockets that are always in use, and for an epoll with all others.
//!
//! An epoll keeps a callback on each of its sockets, which the kernel runs for every packet that leaves, since there is room
//! for another one then. A poll has callbacks only while it sleeps. With many sockets it would be the other way round: a poll
//! goes through all of them each time.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use crate::sys::{self, PollEntry};
use crate::{Epoll, Events};

/// More sockets than a server has on one thread as a rule.
const MOST: usize = 8;

/// The sockets, behind the epoll, which is the first entry.
pub(crate) struct Poll {
    entries: Vec<PollEntry>,
    tokens: Vec<u64>,
}

impl Poll {
    pub(crate) fn new(epoll: &Epoll) -> Poll {
        Poll { entries: vec![sys::poll_entry(epoll.as_fd())], tokens: Vec::new() }
    }

    /// Watches a descriptor until it is removed; false if there are too many.
    pub(crate) fn add(&mut self, fd: impl AsFd, token: u64) -> bool {
        if self.tokens.len() == MOST {
            return false;
        }
        self.entries.push(sys::poll_entry(fd.as_fd()));
        self.tokens.push(token);
        true
    }

    /// False if it is not here.
    pub(crate) fn remove(&mut self, fd: impl AsFd) -> bool {
        let fd = fd.as_fd().as_raw_fd();
        let Some(at) = self.entries.iter().skip(1).position(|entry| entry.fd == fd) else { return false };
        self.entries.remove(at + 1);
        self.tokens.remove(at);
        true
    }

    /// Waits until something can be read, here or in the epoll. A signal ends the wait with nothing.
    pub(crate) fn wait(
        &mut self,
        epoll: &Epoll,
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        if self.tokens.is_empty() {
            return epoll.wait(events, timeout);
        }
        events.clear();
        match sys::poll(&mut self.entries, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            polled => polled?,
        };
        let Some((inner, own)) = self.entries.split_first() else { return Ok(0) };
        own.iter().zip(&self.tokens).filter(|(entry, _)| entry.revents != 0).for_each(|(_, token)| {
            events.push(*token);
        });
        if inner.revents != 0 {
            epoll.gather(events, Some(Duration::ZERO))?;
        }
        Ok(events.len())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn sockets_here_and_in_the_epoll_are_told_of() {
        let epoll = Epoll::new().unwrap();
        let mut poll = Poll::new(&epoll);
        let sockets: Vec<UdpSocket> =
            (0..MOST + 2).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        for (token, socket) in sockets.iter().enumerate() {
            let here = poll.add(socket, token as u64);
            assert_eq!(here, token < MOST);
            if !here {
                epoll.add(socket, token as u64).unwrap();
            }
        }
        let ready = |poll: &mut Poll, room: usize| {
            let mut events = Events::with_capacity(room);
            let count = poll.wait(&epoll, &mut events, Some(Duration::ZERO)).unwrap();
            assert_eq!(count, events.tokens().count());
            events.tokens().collect::<Vec<u64>>()
        };
        assert_eq!(ready(&mut poll, 64), []);
        for told in [1, MOST - 1, MOST, MOST + 1] {
            sockets[told].send_to(b"x", sockets[told].local_addr().unwrap()).unwrap();
        }
        let all = [1, MOST as u64 - 1, MOST as u64, MOST as u64 + 1];
        let mut told = ready(&mut poll, 64);
        told.sort_unstable();
        assert_eq!(told, all);
        // What finds no room is told of the next time.
        assert_eq!(ready(&mut poll, 1), all[..1]);
        assert_eq!(ready(&mut poll, 2), all[..2]);
        assert!(poll.remove(&sockets[1]) && !poll.remove(&sockets[1]) && !poll.remove(&sockets[MOST]));
        assert_eq!(ready(&mut poll, 64)[0], all[1]);
    }
}
