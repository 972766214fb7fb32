//! System calls that rustix and socket2 lack: all `unsafe` of the workspace, one small function each, with a safe
//! signature where possible.

mod fixed;
mod heap;
mod ifaddrs;
mod incoming;
mod message;
mod option;
mod outgoing;

use std::io;

use fixed::FixedArray;
pub(crate) use heap::trim_heap;
pub(crate) use ifaddrs::link_addrs;
pub(crate) use incoming::Incoming;
pub(crate) use option::enable;
pub(crate) use outgoing::{Outgoing, Reply, send_one};

/// Converts the return value of a system call: -1 means an error in errno.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}
