//! What goes out and comes in on the sockets of one thread.

use std::io;
use std::time::Instant;

use net::RecvBatch;
use rustix::io::Errno;

use super::exchanges::{End, Exchanges};
use super::id;
use super::slots::Key;
use super::sockets::Sockets;

/// Answers taken with one system call.
const BATCH: usize = 16;
/// The largest reply taken here; a client that takes larger ones is served in the other way.
pub(super) const LARGEST: usize = 4096;
/// So many full batches on one socket are no answers: it never has as many queries under way.
const FLOOD: usize = 8;
/// Id, flags and counts.
const HEADER: usize = 12;

pub(super) struct Traffic {
    pub sockets: Sockets,
    pub exchanges: Exchanges,
    incoming: RecvBatch,
    /// Sockets with something in their outbox.
    pub unsent: Vec<Key>,
}

impl Traffic {
    pub fn new() -> Traffic {
        Traffic {
            sockets: Sockets::default(),
            exchanges: Exchanges::default(),
            incoming: RecvBatch::new(BATCH, LARGEST + 1),
            unsent: Vec::new(),
        }
    }

    /// Reads a socket empty. An error concerns all that is under way on it, but for those whose answers are there.
    pub fn receive(&mut self, place: u32) {
        let Traffic { sockets, exchanges, incoming, .. } = self;
        let Some(key) = sockets.at(place) else { return };
        let now = Instant::now();
        let mut failed = None;
        let mut full = 0;
        while let Some(socket) = sockets.get(key) {
            match incoming.recv(&socket.socket) {
                Ok(count) => {
                    for bytes in (0..count).map(|i| incoming.bytes(i)).filter(|bytes| is_reply(bytes)) {
                        // Under an id of nobody: too late, or from somebody who guesses.
                        let Some(exchange) = id(bytes).and_then(|id| socket.land(id, now)) else { continue };
                        exchanges.end(exchange, End::Packet(bytes.to_vec()));
                    }
                    if count < BATCH {
                        break;
                    }
                    full += 1;
                    // Whoever sends as fast as this reads would keep the thread from everything else.
                    if full == FLOOD {
                        failed = Some(io::ErrorKind::ConnectionReset.into());
                        break;
                    }
                }
                Err(error) if failed.is_none() => failed = Some(error),
                Err(_) => break,
            }
        }
        match failed {
            Some(error) => self.strand(key, &error),
            None => self.sockets.rest(key, now),
        }
    }

    /// The peer cannot be reached by this socket. What has not left by it yet goes another way.
    fn strand(&mut self, key: Key, error: &io::Error) {
        if let Some(socket) = self.sockets.get(key) {
            let unsent = std::mem::take(&mut socket.unsent);
            for exchange in socket.strand() {
                let is_unsent = unsent.contains(&exchange);
                self.exchanges.end(exchange, if is_unsent { End::NoRoom } else { End::NotRead(same(error)) });
            }
        }
        self.sockets.close(key);
    }

    /// Sends what has gathered.
    pub fn flush(&mut self) {
        while let Some(key) = self.unsent.pop() {
            self.sockets.next_turn(key);
            let Some(socket) = self.sockets.get(key) else { continue };
            let others_sent = socket.has_sent();
            let (mut stranded, mut refused, mut left) = (None, Vec::new(), socket.unsent.len());
            socket.outbox.send(&socket.socket, |i, error| {
                // What the network says about an earlier query comes back with the next call.
                if !is_of_this(&error) && (others_sent || i > 0) {
                    (stranded, left) = (Some(error), i);
                    return false;
                }
                refused.push((socket.unsent[i], error));
                true
            });
            socket.unsent.drain(..left);
            for (exchange, error) in refused {
                let no_room = error.kind() == io::ErrorKind::WouldBlock;
                self.exchanges.end(exchange, if no_room { End::NoRoom } else { End::NotSent(error) });
                self.leave(exchange, key, Instant::now());
            }
            if let Some(error) = stranded {
                self.strand(key, &error);
            }
        }
    }

    /// Gives up what took too long. Says when there is more to do.
    pub fn tend(&mut self) -> Option<Instant> {
        let now = Instant::now();
        while let Some((exchange, socket)) = self.exchanges.overdue(now) {
            self.exchanges.end(exchange, End::TimedOut);
            self.leave(exchange, socket, now);
        }
        let sweep = self.sockets.sweep(now);
        self.exchanges.deadline().into_iter().chain(sweep).min()
    }

    /// An exchange ends without an answer: should that still come, it must not meet another query.
    pub fn leave(&mut self, exchange: Key, socket: Key, now: Instant) {
        if let Some(socket) = self.sockets.get(socket) {
            socket.forget(exchange);
        }
        self.sockets.retire(socket, now);
    }
}

fn is_reply(packet: &[u8]) -> bool {
    packet.len() >= HEADER && packet[2] & 0x80 != 0
}

/// Whether an error of sending can only be about what was to be sent, and not what the network said of an earlier one.
fn is_of_this(error: &io::Error) -> bool {
    let own = [Errno::AGAIN, Errno::INVAL, Errno::MSGSIZE, Errno::NOBUFS, Errno::NOMEM, Errno::PERM];
    Errno::from_io_error(error).is_none_or(|code| own.contains(&code))
}

/// The same error for somebody else.
fn same(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}
