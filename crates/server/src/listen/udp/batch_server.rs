//! The UDP receive loop: receives a batch, answers it, sends the replies.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use net::{Reactor, RecvBatch, ReplyTo, SendBatch, UdpSocket};

use super::deferred::{DeferredQuery, FinishedQuery};
use super::parked::ParkedQueries;
use super::{ServedSocket, TASK};
use crate::listen::permit::Permit;
use crate::walk::exchange::{self, PacketResult};
use crate::walk::{Progress, Walk};
use crate::{Block, Client, Service, Transport, proxy_protocol};

/// Packets per system call.
const BATCH: usize = 32;
/// Smallest batch worth prefetching for: fewer queries wait too little for each other's memory.
const PREFETCH_MIN: usize = 4;
/// The largest query accepted; larger ones are truncated and fail to parse.
const QUERY_BYTES: usize = 4096;
/// Walks kept for reuse by queries that have to wait.
const MAX_SPARE: usize = 64;

/// A worker's buffers, and the walk it reuses for one query after the other.
pub(super) struct BatchServer<'h> {
    reactor: &'h Reactor,
    incoming: RecvBatch,
    outgoing: SendBatch,
    walk: Box<Walk>,
    /// When the last query of the batch ended, if a plugin measured it: the next one begins then.
    clock: Option<Instant>,
    pub(super) parked: ParkedQueries<FinishedQuery>,
    /// ParkedQueries queries that have finished; kept for its capacity.
    done: Vec<FinishedQuery>,
    /// Walks and reply buffers of queries that waited, for reuse.
    spare: Vec<(Box<Walk>, Vec<u8>)>,
}

impl BatchServer<'_> {
    pub(super) fn new(reactor: &Reactor, parked: ParkedQueries<FinishedQuery>) -> BatchServer<'_> {
        BatchServer {
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

    /// Answers the packets queued on a socket, at most `rounds` batches. True if the queue is empty.
    pub(super) fn answer(&mut self, served: &mut ServedSocket, rounds: usize) -> bool {
        for _ in 0..rounds {
            let count = match self.incoming.recv(&served.socket) {
                Ok(0) => return true,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                // The kernel reports errors of earlier replies here, such as an unreachable client; they are ignored.
                Err(_) => return false,
            };
            // Loaded for this batch only, so that an old service is dropped soon after it is replaced.
            let service = served.endpoint.service.load();
            if count >= PREFETCH_MIN {
                supervise::step("prefetch", || service.prefetch((0..count).map(|i| self.incoming.bytes(i))));
            }
            self.clock = None;
            let mut next = 0;
            // One guard for the batch unless something panics; a panic costs its packet, and the rest is answered.
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

    /// Sends the batch.
    fn send(&mut self, socket: &Arc<UdpSocket>, service: &Service) {
        match &service.backlog {
            None => {
                self.outgoing.send(socket);
            }
            Some(backlog) => {
                let report = self.outgoing.try_send(socket, |bytes, to| backlog.enqueue(socket, bytes, to));
                backlog.count_lost(report.failed);
            }
        }
    }

    fn answer_one(&mut self, i: usize, served: &mut ServedSocket, service: &Arc<Service>) {
        let packet = self.incoming.packet(i);
        let remote = packet.remote();
        let local = match packet.local() {
            Some(ip) => SocketAddr::new(ip, served.endpoint.bound.port()),
            None => served.endpoint.bound,
        };
        let mut client = Client { remote, local, transport: Transport::Udp };
        let mut query = packet.bytes;
        if let Some(proxy_protocol) = &service.proxy_protocol {
            let now = Instant::now();
            match proxy_protocol.unwrap(packet.bytes, remote, now, &mut served.sessions) {
                Ok(Some(unwrapped)) => {
                    client.remote = unwrapped.client.unwrap_or(remote);
                    self.walk.set_proxy_tlvs(unwrapped.tlvs);
                    query = unwrapped.payload;
                }
                Ok(None) => return,
                Err(why) => return proxy_protocol::warn(remote, why),
            }
        } else {
            self.walk.set_proxy_tlvs(&[]);
        }
        let out = self.outgoing.buffer();
        let result = exchange::answer(service, &mut self.walk, client, query, self.clock, out);
        self.clock = self.walk.state.ended;
        match result {
            PacketResult::Reply => self.outgoing.commit(&packet.reply_to()),
            PacketResult::Nothing => {}
            PacketResult::Unfinished(progress, block) => match Permit::take() {
                Some(permit) => {
                    let to = packet.reply_to();
                    let query = self.defer(block, service, served, to);
                    self.wait(query, progress, permit);
                }
                None => {
                    let refused = exchange::refuse_wait(service, &mut self.walk, progress, &block, out);
                    if matches!(refused, PacketResult::Reply) {
                        self.outgoing.commit(&packet.reply_to());
                    }
                }
            },
        }
    }

    /// Detaches the query with its walk; the worker gets another walk for the next query.
    fn defer(
        &mut self,
        block: Arc<Block>,
        service: &Arc<Service>,
        served: &ServedSocket,
        to: ReplyTo,
    ) -> DeferredQuery {
        let (walk, out) = self.spare.pop().unwrap_or_default();
        let mut walk = std::mem::replace(&mut self.walk, walk);
        // The worker's next reply needs the capacity of its earlier ones; a waiting query may never need it.
        walk.reply.move_buffers_to(&mut self.walk.reply);
        DeferredQuery { walk, block, service: service.clone(), socket: served.socket.clone(), to, out }
    }

    fn wait(&mut self, query: DeferredQuery, progress: Progress, permit: Permit) {
        let finished = self.parked.start(self.reactor, Box::pin(query.finish(progress, permit)));
        // It finished without waiting: its reply is still part of the batch.
        if let Some(finished) = finished {
            self.reply(finished);
        }
    }

    /// Resumes the queries that were woken. Their replies are sent in batches as well.
    pub(super) fn resume_woken(&mut self) {
        if !self.parked.is_woken() {
            return;
        }
        let mut batch: Option<Arc<UdpSocket>> = None;
        let mut done = std::mem::take(&mut self.done);
        self.parked.poll_woken(self.reactor, &mut done);
        for finished in done.drain(..) {
            let socket = &finished.query.socket;
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

    /// Adds a reply to the batch, which is for its socket and has room.
    fn reply(&mut self, mut finished: FinishedQuery) {
        match finished.result {
            PacketResult::Reply if finished.query.service.backlog.is_none() => {
                std::mem::swap(self.outgoing.buffer(), &mut finished.query.out);
                self.outgoing.commit(&finished.query.to);
                self.recycle(finished.query);
            }
            _ => finished.deliver(),
        }
    }

    /// Keeps the walk and the buffer of a query for the next one that has to wait.
    fn recycle(&mut self, query: DeferredQuery) {
        if self.spare.len() < MAX_SPARE {
            let DeferredQuery { mut walk, out, .. } = query;
            walk.clear_slots();
            self.spare.push((walk, out));
        }
    }
}
