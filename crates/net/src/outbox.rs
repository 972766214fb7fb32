//! Sends datagrams to the peer of a connected socket in batches.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// Datagrams queued for sending, contiguous in one buffer that is reused.
pub struct Outbox {
    bytes: Vec<u8>,
    /// End of each datagram in `bytes`.
    ends: Vec<usize>,
    headers: sys::Outgoing,
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox { bytes: Vec::new(), ends: Vec::new(), headers: sys::Outgoing::new(0) }
    }
}

impl Outbox {
    pub fn push(&mut self, datagram: &[u8]) {
        self.bytes.extend_from_slice(datagram);
        self.ends.push(self.bytes.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sends all datagrams with as few system calls as possible and clears the queue. Calls `refused` with the index and the
    /// error of each that the kernel refused; it returns whether to continue with the next.
    pub fn send(&mut self, socket: impl AsFd, mut refused: impl FnMut(usize, io::Error) -> bool) {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let datagrams = starts.zip(&self.ends).map(|(start, &end)| sys::Reply {
            bytes: &self.bytes[start..end],
            peer: None,
            control: &[],
        });
        let mut prepared = self.headers.prepare(datagrams);
        let mut done = 0;
        while done < self.ends.len() {
            match prepared.send_from(done, socket.as_fd()) {
                Ok(sent) => done += sent.max(1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if !refused(done, error) {
                        break;
                    }
                    done += 1;
                }
            }
        }
        self.bytes.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let (socket, peer) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        socket.connect(peer.local_addr().unwrap()).unwrap();
        (socket, peer)
    }

    #[test]
    fn datagrams_are_sent_in_order_and_the_queue_is_empty() {
        let (socket, peer) = pair();
        let mut outbox = Outbox::default();
        for round in [vec!["a"], vec!["one", "", "three"], vec![]] {
            round.iter().for_each(|text| outbox.push(text.as_bytes()));
            assert_eq!(outbox.len(), round.len());
            outbox.send(&socket, |i, error| panic!("{i}: {error}"));
            assert!(outbox.is_empty());
            let mut buffer = [0; 16];
            for text in round {
                let len = peer.recv(&mut buffer).unwrap();
                assert_eq!(&buffer[..len], text.as_bytes());
            }
        }
    }

    #[test]
    fn a_refused_datagram_does_not_delay_others() {
        let (socket, peer) = pair();
        let mut outbox = Outbox::default();
        let too_long = vec![0; 70_000];
        for datagram in [&b"first"[..], &too_long, b"third"] {
            outbox.push(datagram);
        }
        let mut refused = Vec::new();
        outbox.send(&socket, |i, _| {
            refused.push(i);
            true
        });
        assert_eq!(refused, [1]);
        let mut buffer = [0; 16];
        for text in ["first", "third"] {
            let len = peer.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..len], text.as_bytes());
        }
    }
}
