//! Socket options that are on or off.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::check;

pub(crate) fn enable(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads the given length, which is that of the int behind the pointer.
    let returned = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            ptr::from_ref(&on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    check(returned).map(drop)
}
