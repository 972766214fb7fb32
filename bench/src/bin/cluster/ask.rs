//! One who asks a server over UDP, again and again from one socket.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use testkit::error::{Context, Result};
use testkit::message::Message;

pub struct Asker {
    socket: UdpSocket,
    id: Cell<u16>,
}

impl Asker {
    pub fn new(server: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(server).context(server)?;
        Ok(Self { socket, id: Cell::new(0) })
    }

    /// The answer to this packet; none if it does not come in time, or nobody listens there.
    pub fn ask(&self, packet: &[u8], patience: Duration) -> Result<Option<Message>> {
        let deadline = Instant::now() + patience;
        // An answer that is late must not be taken for that to the next question.
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
                // Refused or not in time: it is the same to one who asks again.
                Err(_) => return Ok(None),
            }
        }
    }
}
