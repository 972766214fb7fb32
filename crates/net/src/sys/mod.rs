//! The system calls that rustix and socket2 lack: all `unsafe` of the workspace, one small function each, with a safe
//! signature where the arguments allow it.

mod fixed;
mod heap;
mod ifaddrs;
mod incoming;
mod message;
mod option;
mod outgoing;

use std::io;

use fixed::Fixed;
pub(crate) use heap::trim_heap;
pub(crate) use ifaddrs::link_addrs;
pub(crate) use incoming::Incoming;
pub(crate) use option::enable;
pub(crate) use outgoing::{Outgoing, Reply, send_one};

/// What system calls return: -1 and errno, or a value.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}
