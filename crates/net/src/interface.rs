//! Network interfaces and their addresses.

use std::io;
use std::net::SocketAddr;

use crate::sys;

/// One interface of this network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub index: u32,
    /// Its addresses with port 0. IPv6 link-local ones have the scope they need for binding.
    pub addrs: Vec<SocketAddr>,
}

/// All interfaces, including those without an address, in the kernel's order.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut interfaces: Vec<Interface> = Vec::new();
    for row in sys::link_addrs()? {
        // An IPv4 address can have a label (`eth0:1`), which libc returns instead of the name. Real names have no colon.
        let name = row.name.split(':').next().unwrap_or_default();
        let at = match interfaces.iter().position(|interface| interface.name == name) {
            Some(at) => at,
            None => {
                interfaces.push(Interface { name: name.to_owned(), index: row.index, addrs: Vec::new() });
                interfaces.len() - 1
            }
        };
        interfaces[at].addrs.extend(row.addr.and_then(|addr| addr.to_socket_addr()));
    }
    Ok(interfaces)
}
