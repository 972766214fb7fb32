//! The sockets to the peers, and which of them takes the next query.
//!
//! A few queries share a socket, so that they leave and come back in batches. What makes a forged answer hard to place
//! stays: every query has an id of its own out of all 65,536, every socket a port drawn by the kernel, and a socket is
//! replaced after so many queries, or when anything but a good answer ended one of them.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use net::Outbox;

use super::Gate;
use super::slots::{Key, Slots};
use crate::pool::Limits;

/// Queries under way on one socket. So many answers of the largest size fit into its receive buffer.
pub(super) const SHARED: usize = 16;

/// One upstream as this thread knows it.
pub(super) struct Peer {
    gate: Weak<Gate>,
    limits: Limits,
    /// Sockets with room, the one that waited longest first, so that ports take turns.
    open: VecDeque<Key>,
    /// The socket of the batch that gathers now.
    current: Option<Key>,
    /// When to look for sockets that have been idle for too long.
    sweep: Option<Instant>,
}

pub(super) struct Socket {
    pub socket: UdpSocket,
    pub local: Option<SocketAddr>,
    pub outbox: Outbox,
    /// Whose queries are in the outbox, in its order.
    pub unsent: Vec<Key>,
    /// The ids under way, and whose they are.
    under_way: Vec<(u16, Key)>,
    peer: Key,
    created: Instant,
    used: Instant,
    uses: u32,
    /// No further query goes this way.
    retired: bool,
    /// Among the peer's open ones.
    listed: bool,
    /// Counted as idle at the gate.
    counted: bool,
}

#[derive(Default)]
pub(super) struct Sockets {
    peers: Slots<Peer>,
    all: Slots<Socket>,
}

impl Socket {
    /// One more query goes this way.
    pub fn load(&mut self, id: u16, exchange: Key, packet: &[u8]) {
        self.under_way.push((id, exchange));
        self.unsent.push(exchange);
        self.outbox.push(packet);
        self.uses += 1;
    }

    /// Whose id this is; it is free again.
    pub fn land(&mut self, id: u16, now: Instant) -> Option<Key> {
        let place = self.under_way.iter().position(|(other, _)| *other == id)?;
        self.used = now;
        Some(self.under_way.swap_remove(place).1)
    }

    pub fn forget(&mut self, exchange: Key) {
        self.under_way.retain(|(_, other)| *other != exchange);
    }

    /// All that is under way.
    pub fn strand(&mut self) -> impl Iterator<Item = Key> {
        self.under_way.drain(..).map(|(_, exchange)| exchange)
    }

    /// Whether a query left this way, and nothing came back yet.
    pub fn has_sent(&self) -> bool {
        // One that was given up before it left is in the second alone.
        self.under_way.iter().any(|(_, exchange)| !self.unsent.contains(exchange))
    }

    fn has_room(&self) -> bool {
        self.under_way.len() < SHARED
    }

    fn is_good(&self, limits: &Limits, now: Instant) -> bool {
        let since = |then| now.saturating_duration_since(then);
        !self.retired
            && self.uses < limits.max_uses
            && (!self.under_way.is_empty() || since(self.used) <= limits.expire)
            && limits.max_age.is_none_or(|most| since(self.created) <= most)
    }

    fn knows(&self, id: u16) -> bool {
        self.under_way.iter().any(|(other, _)| *other == id)
    }

    /// Leaves the count of idle ones, or closed would leave it wrong.
    fn uncount(&mut self, gate: &Weak<Gate>) {
        if std::mem::take(&mut self.counted)
            && let Some(gate) = gate.upgrade()
        {
            gate.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Peer {
    /// Whether one more socket may be idle; if so, it is counted.
    fn keeps(&self, counted: &mut bool) -> bool {
        let Some(gate) = self.gate.upgrade().filter(|gate| !gate.is_stopped()) else { return false };
        if self.limits.max_idle == 0 || *counted {
            return true;
        }
        *counted = gate.idle.fetch_add(1, Ordering::Relaxed) < self.limits.max_idle;
        if !*counted {
            gate.idle.fetch_sub(1, Ordering::Relaxed);
        }
        *counted
    }

    /// How often to look for idle sockets.
    fn pause(&self) -> Duration {
        self.limits.expire.clamp(Duration::from_millis(10), Duration::from_secs(10))
    }
}

impl Sockets {
    /// The upstream as this thread knows it.
    pub fn peer(&mut self, gate: &Arc<Gate>, limits: &Limits) -> Key {
        if let Some(known) = self.peers.find(|peer| peer.gate.as_ptr() == Arc::as_ptr(gate)) {
            return known;
        }
        let gone = |peer: &Peer| peer.sweep.is_none() && peer.gate.strong_count() == 0;
        while let Some(gone) = self.peers.find(gone) {
            self.peers.remove(gone);
        }
        self.peers.insert(Peer {
            gate: Arc::downgrade(gate),
            limits: *limits,
            open: VecDeque::new(),
            current: None,
            sweep: None,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&mut Socket> {
        self.all.get(key)
    }

    /// The key of the socket in this place.
    pub fn at(&self, index: u32) -> Option<Key> {
        self.all.key_at(index)
    }

    /// The socket for a query with this id: that of the batch that gathers, or else the one that waited longest.
    pub fn choose(&mut self, peer: Key, id: u16, now: Instant) -> Option<Key> {
        let Sockets { peers, all } = self;
        let peer = peers.get(peer)?;
        let Peer { limits, current, open, gate, .. } = peer;
        if let Some(current) = *current
            && let Some(socket) = all.get(current)
            && socket.has_room()
            && !socket.knows(id)
            && socket.is_good(limits, now)
        {
            socket.uncount(gate);
            return Some(current);
        }
        for _ in 0..open.len() {
            let key = open.pop_front()?;
            let Some(socket) = all.get(key) else { continue };
            socket.listed = false;
            if !socket.is_good(limits, now) {
                socket.retired = true;
                socket.uncount(gate);
                if socket.under_way.is_empty() {
                    all.remove(key);
                }
            } else if socket.has_room() {
                socket.listed = true;
                open.push_back(key);
                if !socket.knows(id) {
                    *current = Some(key);
                    socket.uncount(gate);
                    return Some(key);
                }
            }
        }
        None
    }

    /// Takes a new socket in.
    pub fn add(&mut self, peer: Key, socket: UdpSocket, now: Instant) -> Key {
        let key = self.all.insert(Socket {
            local: socket.local_addr().ok(),
            socket,
            outbox: Outbox::default(),
            unsent: Vec::new(),
            under_way: Vec::with_capacity(SHARED),
            peer,
            created: now,
            used: now,
            uses: 0,
            retired: false,
            listed: true,
            counted: false,
        });
        if let Some(peer) = self.peers.get(peer) {
            peer.open.push_back(key);
            peer.current = Some(key);
            let pause = peer.pause();
            peer.sweep.get_or_insert(now + pause);
        }
        key
    }

    pub fn close(&mut self, key: Key) {
        let Some(mut socket) = self.all.remove(key) else { return };
        if let Some(peer) = self.peers.get(socket.peer) {
            socket.uncount(&peer.gate);
        }
    }

    /// No further query goes this way.
    pub fn retire(&mut self, key: Key, now: Instant) {
        if let Some(socket) = self.all.get(key) {
            socket.retired = true;
            self.rest(key, now);
        }
    }

    /// Something on this socket has ended: it has room again, or is idle, or is not wanted any more.
    pub fn rest(&mut self, key: Key, now: Instant) {
        let Sockets { peers, all } = self;
        let Some(socket) = all.get(key) else { return };
        let idle = socket.under_way.is_empty();
        if let Some(peer) = peers.get(socket.peer)
            && socket.is_good(&peer.limits, now)
            && (!idle || peer.keeps(&mut socket.counted))
        {
            if !std::mem::replace(&mut socket.listed, true) {
                peer.open.push_back(key);
                let pause = peer.pause();
                peer.sweep.get_or_insert(now + pause);
            }
        } else if idle {
            self.close(key);
        }
    }

    /// The batch is away; the next one takes the next socket.
    pub fn next_turn(&mut self, key: Key) {
        let Some(peer) = self.all.get(key).map(|socket| socket.peer) else { return };
        if let Some(peer) = self.peers.get(peer) {
            peer.current = None;
        }
    }

    /// Closes what has been idle for too long, or is idle and its upstream gone. Says when to look again.
    pub fn sweep(&mut self, now: Instant) -> Option<Instant> {
        let Sockets { peers, all } = self;
        let mut next = None;
        for peer in peers.iter_mut() {
            let Some(due) = peer.sweep else { continue };
            if due <= now {
                let Peer { gate, limits, open, .. } = peer;
                let wanted = gate.upgrade().is_some_and(|gate| !gate.is_stopped());
                open.retain(|key| {
                    let Some(socket) = all.get(*key) else { return false };
                    let stays = !socket.under_way.is_empty() || wanted && socket.is_good(limits, now);
                    if !stays && let Some(mut socket) = all.remove(*key) {
                        socket.uncount(gate);
                    }
                    stays
                });
                // Those that are full come back to the list, and retired ones end with their last query.
                peer.sweep = (!peer.open.is_empty()).then(|| now + peer.pause());
            }
            next = next.into_iter().chain(peer.sweep).min();
        }
        next
    }
}
