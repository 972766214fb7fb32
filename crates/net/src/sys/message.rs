//! The system calls recvmmsg and sendmmsg, and their structures.
//!
//! Called directly, with the kernel's structures: musl's `sendmmsg` is a loop of `sendmsg`, since its `msghdr` has
//! narrower fields with padding that the kernel would read; glibc's wrappers add nothing needed here.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use crate::address::RawAddr;

/// The kernel's `struct iovec`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct IoVec(libc::iovec);

impl IoVec {
    pub(crate) fn new(base: *mut u8, len: usize) -> Self {
        Self(libc::iovec { iov_base: base.cast(), iov_len: len })
    }
}

/// The kernel's `struct user_msghdr`, where the length of the name is an `int`; ours are small and not negative.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) name: *mut RawAddr,
    pub(crate) name_len: libc::socklen_t,
    pub(crate) iov: *mut IoVec,
    pub(crate) iov_len: usize,
    pub(crate) control: *mut libc::c_void,
    pub(crate) control_len: usize,
    pub(crate) flags: libc::c_uint,
}

/// The kernel's `struct mmsghdr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Message {
    pub(crate) header: Header,
    /// Bytes received or sent.
    pub(crate) len: libc::c_uint,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Header>() == size_of::<libc::msghdr>());
    assert!(offset_of!(Header, name_len) == offset_of!(libc::msghdr, msg_namelen));
    assert!(offset_of!(Header, iov) == offset_of!(libc::msghdr, msg_iov));
    assert!(offset_of!(Header, control) == offset_of!(libc::msghdr, msg_control));
    assert!(offset_of!(Header, flags) == offset_of!(libc::msghdr, msg_flags));
    assert!(size_of::<Message>() == size_of::<libc::mmsghdr>());
    assert!(offset_of!(Message, len) == offset_of!(libc::mmsghdr, msg_len));
};

impl Message {
    pub(crate) const EMPTY: Message = Message {
        header: Header {
            name: ptr::null_mut(),
            name_len: 0,
            iov: ptr::null_mut(),
            iov_len: 0,
            control: ptr::null_mut(),
            control_len: 0,
            flags: 0,
        },
        len: 0,
    };
}

// SAFETY: in both types pointers are data; only the two unsafe functions below follow them, and their callers guarantee
// that they are valid.
unsafe impl Send for Message {}
// SAFETY: as above.
unsafe impl Sync for Message {}
// SAFETY: as above.
unsafe impl Send for IoVec {}
// SAFETY: as above.
unsafe impl Sync for IoVec {}

/// Fills the messages from the front with queued datagrams, without blocking; returns how many were filled.
///
/// # Safety
/// The pointers and lengths of every message must describe memory that is valid for writes (for reads: the iovecs)
/// and that nothing else refers to during the call.
pub(crate) unsafe fn recv_messages(fd: BorrowedFd<'_>, messages: &mut [Message]) -> io::Result<usize> {
    // SAFETY: the slice is valid for its length, a null timeout is allowed, the rest is the caller's promise.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_recvmmsg,
            word(fd.as_raw_fd()),
            messages.as_mut_ptr(),
            messages.len() as libc::c_long,
            word(libc::MSG_DONTWAIT),
            ptr::null_mut::<libc::timespec>(),
        )
    };
    count(returned)
}

/// Sends the messages from the front, without blocking; returns how many were sent. An error is that of the first.
///
/// # Safety
/// The pointers and lengths of every message must describe memory that is valid for reads during the call.
pub(crate) unsafe fn send_messages(fd: BorrowedFd<'_>, messages: &mut [Message]) -> io::Result<usize> {
    // SAFETY: the slice is valid for its length and for the kernel's writes of `len`; the rest is the caller's promise.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_sendmmsg,
            word(fd.as_raw_fd()),
            messages.as_mut_ptr(),
            messages.len() as libc::c_long,
            word(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL),
        )
    };
    count(returned)
}

/// `syscall` takes its arguments as whole registers.
fn word(value: libc::c_int) -> libc::c_long {
    libc::c_long::from(value)
}

fn count(returned: libc::c_long) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
