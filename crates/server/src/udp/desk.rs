//! A worker at its desk: one batch of packets in, one batch of replies out.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use net::{Reactor, RecvBatch, ReplyTo, SendBatch, UdpSocket};

use super::later::{Finished, Later};
use super::parked::Parked;
use super::{Served, TASK};
use crate::exchange::{self, Handled};
use crate::permit::Permit;
use crate::walk::{Pending, Walk};
use crate::{Block, Client, Service, Transport, proxied};

/// Packets per system call.
const BATCH: usize = 32;
/// Fewer packets do not wait for each other's memory long enough to look ahead.
const SEVERAL: usize = 4;
/// The largest query taken; larger ones are cut and fail to parse.
const QUERY_BYTES: usize = 4096;
/// Walks kept for queries that have to wait.
const SPARE: usize = 64;

/// A worker's buffers and the walk it uses for one query after the other.
pub(super) struct Desk<'h> {
    reactor: &'h Reactor,
    incoming: RecvBatch,
    outgoing: SendBatch,
    walk: Box<Walk>,
    /// When the last query of the batch ended, if a plugin measured it: the next one begins then.
    clock: Option<Instant>,
    pub(super) parked: Parked<Finished>,
    /// Queries that waited and have ended; kept for its room.
    done: Vec<Finished>,
    /// Of queries that waited, with room for a reply.
    spare: Vec<(Box<Walk>, Vec<u8>)>,
}

impl Desk<'_> {
    pub(super) fn new(reactor: &Reactor, parked: Parked<Finished>) -> Desk<'_> {
        Desk {
            reactor,
            incoming: RecvBatch::new(BATCH, QUERY_BYTES),
            outgoing: SendBatch::new(BATCH),
            walk: Box::new(Walk::new()),
            clock: None,
            parked,
            done: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Answers what is on a socket, at most so many batches. True if nothing was left.
    pub(super) fn answer(&mut self, served: &mut Served, rounds: usize) -> bool {
        for _ in 0..rounds {
            let count = match self.incoming.recv(&served.socket) {
                Ok(0) => return true,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                // Errors of earlier replies, such as an unreachable peer, come back here and mean nothing.
                Err(_) => return false,
            };
            // The service is held for this batch only, so that an old one goes as soon as it is replaced.
            let service = served.endpoint.service.load();
            if count >= SEVERAL {
                supervise::step("prefetch", || service.foresee((0..count).map(|i| self.incoming.bytes(i))));
            }
            self.clock = None;
            let mut next = 0;
            // One guard for the batch as long as nothing happens; a panic costs its packet, and the rest goes on.
            while next < count {
                supervise::step(TASK, || {
                    while next < count {
                        next += 1;
                        self.answer_one(next - 1, served, &service);
                    }
                });
            }
            self.send(&served.socket, &service);
            if count < BATCH {
                return true;
            }
        }
        false
    }

    /// Has the batch leave.
    fn send(&mut self, socket: &Arc<UdpSocket>, service: &Service) {
        match &service.backlog {
            None => {
                self.outgoing.send(socket);
            }
            Some(backlog) => {
                let report = self.outgoing.try_send(socket, |bytes, to| backlog.keep(socket, bytes, to));
                backlog.lose(report.failed);
            }
        }
    }

    fn answer_one(&mut self, i: usize, served: &mut Served, service: &Arc<Service>) {
        let packet = self.incoming.packet(i);
        let remote = packet.remote();
        let local = match packet.local() {
            Some(ip) => SocketAddr::new(ip, served.endpoint.bound.port()),
            None => served.endpoint.bound,
        };
        let mut client = Client { remote, local, transport: Transport::Udp };
        let mut query = packet.bytes;
        if let Some(proxied) = &service.proxied {
            let now = Instant::now();
            match proxied.unwrap(packet.bytes, remote, now, &mut served.sessions) {
                Ok(Some(unwrapped)) => {
                    client.remote = unwrapped.client.unwrap_or(remote);
                    self.walk.announce(unwrapped.tlvs);
                    query = unwrapped.payload;
                }
                Ok(None) => return,
                Err(why) => return proxied::warn(remote, why),
            }
        } else {
            self.walk.announce(&[]);
        }
        let out = self.outgoing.buffer();
        let handled = exchange::answer(service, &mut self.walk, client, query, self.clock, out);
        self.clock = self.walk.trail.ended;
        match handled {
            Handled::Reply => self.outgoing.commit(&packet.reply_to()),
            Handled::Nothing => {}
            Handled::Waiting(pending, block) => match Permit::take() {
                Some(permit) => {
                    let to = packet.reply_to();
                    let later = self.put_aside(block, service, served, to);
                    self.wait(later, pending, permit);
                }
                None => {
                    let refused = exchange::refuse_wait(service, &mut self.walk, pending, &block, out);
                    if matches!(refused, Handled::Reply) {
                        self.outgoing.commit(&packet.reply_to());
                    }
                }
            },
            Handled::Streaming(messages, block) => {
                let to = packet.reply_to();
                let mut later = self.put_aside(block, service, served, to);
                later.stream(messages);
                self.spare(later);
            }
        }
    }

    /// Takes the query away with its walk, and another walk for the next one.
    fn put_aside(
        &mut self,
        block: Arc<Block>,
        service: &Arc<Service>,
        served: &Served,
        to: ReplyTo,
    ) -> Later {
        let (walk, out) = self.spare.pop().unwrap_or_default();
        let mut walk = std::mem::replace(&mut self.walk, walk);
        // The worker's next reply needs the room that its last ones took; one that waits may never need it.
        walk.reply.move_buffers_to(&mut self.walk.reply);
        Later { walk, block, service: service.clone(), socket: served.socket.clone(), to, out }
    }

    fn wait(&mut self, later: Later, pending: Pending, permit: Permit) {
        let finished = self.parked.start(self.reactor, Box::pin(later.finish(pending, permit)));
        // Nothing to wait for after all: it is still part of the batch.
        if let Some(finished) = finished {
            self.reply(finished);
        }
    }

    /// Takes up the queries that were woken. Their replies leave in batches as well.
    pub(super) fn go_on(&mut self) {
        if !self.parked.is_woken() {
            return;
        }
        let mut batch: Option<Arc<UdpSocket>> = None;
        let mut done = std::mem::take(&mut self.done);
        self.parked.take_turn(self.reactor, &mut done);
        for finished in done.drain(..) {
            let socket = &finished.later.socket;
            let same = batch.as_ref().is_some_and(|batch| Arc::ptr_eq(batch, socket));
            if let Some(batch) = batch.as_ref().filter(|_| !same || self.outgoing.is_full()) {
                self.outgoing.send(batch);
            }
            if !same {
                batch = Some(socket.clone());
            }
            supervise::step(TASK, || self.reply(finished));
        }
        self.done = done;
        if let Some(batch) = &batch {
            self.outgoing.send(batch);
        }
    }

    /// Puts a reply into the batch, which is for its socket and has room.
    fn reply(&mut self, mut finished: Finished) {
        match finished.handled {
            Handled::Reply if finished.later.service.backlog.is_none() => {
                std::mem::swap(self.outgoing.buffer(), &mut finished.later.out);
                self.outgoing.commit(&finished.later.to);
                self.spare(finished.later);
            }
            _ => finished.deliver(),
        }
    }

    /// Keeps what a query leaves behind for the next one that has to wait.
    fn spare(&mut self, later: Later) {
        if self.spare.len() < SPARE {
            let Later { mut walk, out, .. } = later;
            walk.let_go();
            self.spare.push((walk, out));
        }
    }
}
