//! getifaddrs: the addresses of this network namespace.

use std::ffi::CStr;
use std::io;
use std::ptr;

use super::check;
use crate::address::RawAddr;

/// One row of getifaddrs. An interface has a row per address and one without, for the link itself.
pub(crate) struct LinkAddr {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) addr: Option<RawAddr>,
}

/// libc's list; freed when dropped.
struct List(*mut libc::ifaddrs);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it is from getifaddrs and is freed once, here.
        unsafe { libc::freeifaddrs(self.0) }
    }
}

pub(crate) fn link_addrs() -> io::Result<Vec<LinkAddr>> {
    let mut first = ptr::null_mut();
    // SAFETY: libc writes one pointer.
    check(unsafe { libc::getifaddrs(&mut first) })?;
    let list = List(first);
    let mut rows = Vec::new();
    let mut next = list.0;
    // SAFETY: each pointer is null or points to a node of the list, which lives until `list` is dropped below.
    while let Some(node) = unsafe { next.as_ref() } {
        next = node.ifa_next;
        if node.ifa_name.is_null() {
            continue;
        }
        // SAFETY: libc's string ends with a zero and lives as long as the node.
        let name = unsafe { CStr::from_ptr(node.ifa_name) };
        // SAFETY: the same string.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        // SAFETY: the pointer is null or points to a whole socket address of its family, as getifaddrs guarantees.
        let addr = unsafe { copy_addr(node.ifa_addr) };
        rows.push(LinkAddr { name: name.to_string_lossy().into_owned(), index, addr });
    }
    Ok(rows)
}

/// Copies an IPv4 or IPv6 socket address; `None` for null and for other families.
///
/// # Safety
/// The pointer is null or points to a socket address of its family's length.
unsafe fn copy_addr(addr: *const libc::sockaddr) -> Option<RawAddr> {
    // SAFETY: null or valid by the caller's promise.
    let family = libc::c_int::from(unsafe { addr.as_ref() }?.sa_family);
    let len = match family {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    let mut bytes = [0; RawAddr::SIZE];
    // SAFETY: the source is of this length by the caller's promise, the target is at least as long.
    unsafe { ptr::copy_nonoverlapping(addr.cast::<u8>(), bytes.as_mut_ptr(), len) };
    Some(RawAddr::from_bytes(bytes))
}
