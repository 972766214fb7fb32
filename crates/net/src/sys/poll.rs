//! Waiting: poll for a few descriptors, epoll for many, eventfd to be woken.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use super::check;

/// The kernel's structure, packed on x86_64 only; libc knows.
pub(crate) type EpollEvent = libc::epoll_event;

/// One descriptor of a poll.
pub(crate) type PollEntry = libc::pollfd;

/// For reading.
pub(crate) fn poll_entry(fd: BorrowedFd<'_>) -> PollEntry {
    libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// Waits until one of them can be read (or has an error to tell), or the time is over; how many.
pub(crate) fn poll(entries: &mut [PollEntry], timeout: Option<Duration>) -> io::Result<usize> {
    // SAFETY: the slice is valid for its length, and its descriptors are numbers: one that is closed is an event.
    let count = check(unsafe {
        libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, milliseconds(timeout))
    })?;
    Ok(count as usize)
}

/// Waits until the descriptor can be written (or has an error to tell), or the time is over.
pub(crate) fn poll_writable(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one pollfd, and the count says one.
    match check(unsafe { libc::poll(&mut poll, 1, milliseconds(Some(timeout))) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn epoll_create() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: the kernel has just made it, for nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// When a descriptor that can be read is told of: always, or when something comes.
#[derive(Clone, Copy)]
pub(crate) enum Trigger {
    Level,
    Edge,
}

/// For reading.
pub(crate) fn epoll_add(
    epoll: BorrowedFd<'_>,
    fd: BorrowedFd<'_>,
    token: u64,
    trigger: Trigger,
) -> io::Result<()> {
    let events = match trigger {
        Trigger::Level => libc::EPOLLIN,
        Trigger::Edge => libc::EPOLLIN | libc::EPOLLET,
    };
    let mut event = libc::epoll_event { events: events as u32, u64: token };
    // SAFETY: the kernel reads one event through the pointer; the token is a number to it.
    check(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event) })
        .map(drop)
}

pub(crate) fn epoll_remove(epoll: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: removal takes no event; null is allowed since Linux 2.6.9.
    check(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_DEL, fd.as_raw_fd(), ptr::null_mut()) })
        .map(drop)
}

pub(crate) fn epoll_wait(
    epoll: BorrowedFd<'_>,
    events: &mut [EpollEvent],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let room = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel writes at most `room` events, which the slice has.
    let count = check(unsafe {
        libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), room, milliseconds(timeout))
    })?;
    Ok(count as usize)
}

pub(crate) fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the kernel has just made it, for nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// As poll and epoll want it: rounded up, so that a wait for half a millisecond is not a busy loop; -1 is forever.
fn milliseconds(timeout: Option<Duration>) -> libc::c_int {
    match timeout {
        None => -1,
        Some(timeout) => timeout.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(libc::c_int::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_round_up_and_never_become_forever() {
        let table = [
            (None, -1),
            (Some(Duration::ZERO), 0),
            (Some(Duration::from_nanos(1)), 1),
            (Some(Duration::from_millis(50)), 50),
            (Some(Duration::from_micros(1001)), 2),
            (Some(Duration::MAX), libc::c_int::MAX),
        ];
        for (timeout, expected) in table {
            assert_eq!(milliseconds(timeout), expected, "{timeout:?}");
        }
    }
}
