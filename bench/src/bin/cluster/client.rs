//! A UDP client that queries a server repeatedly from one socket.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use testkit::error::{Context, Result};
use testkit::message::Message;

pub struct Client {
    socket: UdpSocket,
    id: Cell<u16>,
}

impl Client {
    pub fn new(server: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(server).context(server)?;
        Ok(Self { socket, id: Cell::new(0) })
    }

    /// The reply to this packet; none on a timeout or if the port is closed.
    pub fn query(&self, packet: &[u8], timeout: Duration) -> Result<Option<Message>> {
        let deadline = Instant::now() + timeout;
        // A late reply must not be taken for the next one.
        let id = self.id.get().wrapping_add(1);
        self.id.set(id);
        let mut packet = packet.to_vec();
        packet[..2].copy_from_slice(&id.to_be_bytes());
        if self.socket.send(&packet).is_err() {
            return Ok(None);
        }
        let mut buffer = [0; 8192];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.recv(&mut buffer) {
                Ok(n) if buffer[..n].starts_with(&id.to_be_bytes()) => {
                    return Ok(Some(Message::decode(&buffer[..n])));
                }
                Ok(_) => {}
                // Refused or timed out: the caller retries in both cases.
                Err(_) => return Ok(None),
            }
        }
    }
}
