//! Socket options that hold one int.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::check;

pub(crate) fn set_option(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the kernel reads the given length, that of the int the pointer leads to.
    let returned = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            ptr::from_ref(&value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    check(returned).map(drop)
}
