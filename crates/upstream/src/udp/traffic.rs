//! Sending and receiving on the sockets of one thread.

use std::io;
use std::time::Instant;

use net::RecvBatch;
use rustix::io::Errno;

use super::exchanges::{ExchangeEnd, Exchanges};
use super::slots::Key;
use super::sockets::Sockets;
use super::{Capacity, id};

/// Replies received with one system call.
const BATCH: usize = 16;
/// This many full batches on one socket are a flood: it never has as many queries in flight.
const MAX_FULL_BATCHES: usize = 8;
/// Id, flags and counts.
const HEADER: usize = 12;

pub(super) struct Traffic {
    pub sockets: Sockets,
    pub exchanges: Exchanges,
    incoming: RecvBatch,
    /// Sockets whose outbox is not empty.
    pub unsent: Vec<Key>,
}

impl Traffic {
    pub fn new(capacity: Capacity) -> Traffic {
        Traffic {
            sockets: Sockets::new(capacity.max_in_flight),
            exchanges: Exchanges::default(),
            // One octet more, to recognize a packet that was truncated on receipt.
            incoming: RecvBatch::new(BATCH, capacity.max_reply + 1),
            unsent: Vec::new(),
        }
    }

    /// Receives all replies of a socket. An error ends all exchanges on it that have no reply yet.
    pub fn receive(&mut self, index: u32) {
        let Traffic { sockets, exchanges, incoming, .. } = self;
        let Some(key) = sockets.at(index) else { return };
        let now = Instant::now();
        let mut failed = None;
        let mut full = 0;
        while let Some(socket) = sockets.get(key) {
            match incoming.recv(&socket.socket) {
                Ok(count) => {
                    for bytes in (0..count).map(|i| incoming.bytes(i)).filter(|bytes| is_reply(bytes)) {
                        // A reply with an unknown id is late or forged.
                        let Some(exchange) = id(bytes).and_then(|id| socket.take_exchange(id, now)) else {
                            continue;
                        };
                        exchanges.end(exchange, ExchangeEnd::Packet(bytes.to_vec()));
                    }
                    if count < BATCH {
                        break;
                    }
                    full += 1;
                    // A sender that is as fast as this loop would keep the thread from all other work.
                    if full == MAX_FULL_BATCHES {
                        failed = Some(io::ErrorKind::ConnectionReset.into());
                        break;
                    }
                }
                Err(error) if failed.is_none() => failed = Some(error),
                Err(_) => break,
            }
        }
        match failed {
            Some(error) => self.fail_all(key, &error),
            None => self.sockets.release(key, now),
        }
    }

    /// Closes a socket that cannot reach the upstream. Exchanges not sent yet end as `Unsent`, the others with the error.
    fn fail_all(&mut self, key: Key, error: &io::Error) {
        if let Some(socket) = self.sockets.get(key) {
            let unsent = std::mem::take(&mut socket.unsent);
            for exchange in socket.drain_exchanges() {
                let is_unsent = unsent.contains(&exchange);
                self.exchanges.end(
                    exchange,
                    if is_unsent { ExchangeEnd::Unsent } else { ExchangeEnd::ReadFailed(clone_error(error)) },
                );
            }
        }
        self.sockets.close(key);
    }

    /// Sends the outboxes of all sockets.
    pub fn flush(&mut self) {
        while let Some(key) = self.unsent.pop() {
            self.sockets.end_batch(key);
            let Some(socket) = self.sockets.get(key) else { continue };
            let others_sent = socket.has_sent();
            let (mut failed, mut refused, mut left) = (None, Vec::new(), socket.unsent.len());
            socket.outbox.send(&socket.socket, |i, error| {
                // The kernel reports a network error of an earlier query with the next system call.
                if !is_about_this_packet(&error) && (others_sent || i > 0) {
                    (failed, left) = (Some(error), i);
                    return false;
                }
                refused.push((socket.unsent[i], error));
                true
            });
            socket.unsent.drain(..left);
            for (exchange, error) in refused {
                let no_room = error.kind() == io::ErrorKind::WouldBlock;
                self.exchanges.end(
                    exchange,
                    if no_room { ExchangeEnd::Unsent } else { ExchangeEnd::SendFailed(error) },
                );
                self.discard(exchange, key, Instant::now());
            }
            if let Some(error) = failed {
                self.fail_all(key, &error);
            }
        }
    }

    /// Ends exchanges whose deadline has passed and closes idle sockets. Returns when to call it again.
    pub fn expire(&mut self) -> Option<Instant> {
        let now = Instant::now();
        while let Some((exchange, socket)) = self.exchanges.overdue(now) {
            self.exchanges.end(exchange, ExchangeEnd::TimedOut);
            self.discard(exchange, socket, now);
        }
        let sweep = self.sockets.sweep(now);
        self.exchanges.deadline().into_iter().chain(sweep).min()
    }

    /// Removes an exchange that ended without a reply and retires its socket: a late reply must not reach another query.
    pub fn discard(&mut self, exchange: Key, socket: Key, now: Instant) {
        if let Some(socket) = self.sockets.get(socket) {
            socket.remove_exchange(exchange);
        }
        self.sockets.retire(socket, now);
    }
}

fn is_reply(packet: &[u8]) -> bool {
    packet.len() >= HEADER && packet[2] & 0x80 != 0
}

/// Whether a send error can only concern the packet being sent, and not an earlier one.
fn is_about_this_packet(error: &io::Error) -> bool {
    let own = [Errno::AGAIN, Errno::INVAL, Errno::MSGSIZE, Errno::NOBUFS, Errno::NOMEM, Errno::PERM];
    Errno::from_io_error(error).is_none_or(|code| own.contains(&code))
}

/// A copy of an error.
fn clone_error(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}
