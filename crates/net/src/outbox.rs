//! Datagrams to the peer of a connected socket, in batches.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// Datagrams that wait to be sent, one behind the other in one piece of memory, which is kept.
pub struct Outbox {
    bytes: Vec<u8>,
    /// Where each ends.
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

    /// Sends all with as few system calls as it takes and empties the box. `refused` is told which one the kernel
    /// did not take and why, and whether to go on with the next.
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
        let (here, there) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        here.connect(there.local_addr().unwrap()).unwrap();
        (here, there)
    }

    #[test]
    fn all_leave_in_order_and_the_box_is_empty() {
        let (here, there) = pair();
        let mut outbox = Outbox::default();
        for round in [vec!["a"], vec!["one", "", "three"], vec![]] {
            round.iter().for_each(|text| outbox.push(text.as_bytes()));
            assert_eq!(outbox.len(), round.len());
            outbox.send(&here, |i, error| panic!("{i}: {error}"));
            assert!(outbox.is_empty());
            let mut buffer = [0; 16];
            for text in round {
                let len = there.recv(&mut buffer).unwrap();
                assert_eq!(&buffer[..len], text.as_bytes());
            }
        }
    }

    #[test]
    fn one_that_is_refused_holds_up_no_other() {
        let (here, there) = pair();
        let mut outbox = Outbox::default();
        let too_long = vec![0; 70_000];
        for datagram in [&b"first"[..], &too_long, b"third"] {
            outbox.push(datagram);
        }
        let mut refused = Vec::new();
        outbox.send(&here, |i, _| {
            refused.push(i);
            true
        });
        assert_eq!(refused, [1]);
        let mut buffer = [0; 16];
        for text in ["first", "third"] {
            let len = there.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..len], text.as_bytes());
        }
    }
}
