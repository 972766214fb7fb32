//! Reserves loopback ports: free for UDP and TCP, never handed out twice.
//!
//! Binding port 0 and closing the socket yields ephemeral ports, which any outgoing connection may take
//! before the server is up. These are below the ephemeral range instead, and a lock file per port
//! reserves each against other test processes (nextest runs one per test) until this one exits.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::error::{Error, Result};

/// Below Linux's ephemeral range (32768 on), above the usual ports of services.
const FIRST: u16 = 20_000;
const LAST: u16 = 32_000;

/// The ports of this process with their lock files. Never emptied: packets to a port used before may still
/// be in flight.
static RESERVED: Mutex<BTreeMap<u16, Option<File>>> = Mutex::new(BTreeMap::new());

/// A port on 127.0.0.1, free for both UDP and TCP, and reserved until this process exits.
pub fn free() -> Result<u16> {
    let mut taken = RESERVED.lock().map_err(|_| Error::new("a thread panicked while reserving a port"))?;
    let span = LAST - FIRST;
    // Processes start at different ports, so that they rarely contend for one lock.
    let start = (std::process::id().wrapping_mul(2_654_435_761) % u32::from(span)) as u16;
    for i in 0..span {
        let port = FIRST + (start + i) % span;
        if taken.contains_key(&port) {
            continue;
        }
        let Some(lock) = lock(port)? else { continue };
        if is_free(port) {
            taken.insert(port, Some(lock));
            return Ok(port);
        }
        taken.insert(port, None);
    }
    Err(Error::new(format!("no loopback port is free between {FIRST} and {LAST}")))
}

/// 127.0.0.1 with a [`free`] port.
pub fn free_addr() -> Result<SocketAddr> {
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, free()?)))
}

fn is_free(port: u16) -> bool {
    let addr = (Ipv4Addr::LOCALHOST, port);
    UdpSocket::bind(addr).is_ok() && TcpListener::bind(addr).is_ok()
}

fn lock(port: u16) -> Result<Option<File>> {
    let folder = folder();
    if !folder.is_dir() {
        fs::create_dir_all(&folder)?;
        // Shared by every user of the machine; another user's folder is not ours to change.
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o777));
    }
    // The file of another user cannot be opened: that user has the port.
    let Ok(file) = OpenOptions::new().create(true).append(true).open(folder.join(port.to_string())) else {
        return Ok(None);
    };
    Ok(file.try_lock().is_ok().then_some(file))
}

fn folder() -> PathBuf {
    std::env::temp_dir().join("rhumb-test-ports")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_twice_and_usable() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..25).map(|_| free().unwrap()).collect::<Vec<_>>()))
            .collect();
        let mut ports: Vec<u16> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 100);
        let addr = free_addr().unwrap();
        let (_udp, _tcp) = (UdpSocket::bind(addr).unwrap(), TcpListener::bind(addr).unwrap());
        assert!(lock(addr.port()).unwrap().is_none(), "a second opening of the lock must not get it");
    }
}
