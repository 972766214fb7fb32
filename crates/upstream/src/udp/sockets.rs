//! The sockets to the upstreams, and the choice of one for the next query.
//!
//! A few queries share a socket, so that they are sent and received in batches. Forging an answer stays hard: every query
//! has a random id of 65,536, every socket a random port chosen by the kernel, and a socket is replaced after `max_uses`
//! queries, or when one of them ended with anything but a good answer.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use net::Outbox;

use super::UdpState;
use super::slots::{Key, Slots};
use crate::dial::Endpoint;
use crate::error::Cause;
use crate::pool::Limits;
use crate::{Error, Network};

/// Opens a socket: connected, so that the kernel drops packets from elsewhere and reports ICMP errors; bound to port 0,
/// so that the kernel chooses a random source port.
pub(super) fn open(endpoint: &Endpoint) -> Result<UdpSocket, Error> {
    let any = match endpoint.addr {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let failed =
        |call| move |error: io::Error| endpoint.dial_error(Network::Udp, Cause::system(call, &error));
    let socket = UdpSocket::bind((endpoint.source.unwrap_or(any), 0)).map_err(failed("bind"))?;
    // By default Linux reports closed ports only, and a query to an unreachable network would run into its timeout.
    // Where the option is not available, it does.
    let _ = net::report_icmp_errors(&socket, endpoint.addr);
    socket.connect(endpoint.addr).map_err(failed("connect"))?;
    socket.set_nonblocking(true).map_err(failed("socket"))?;
    Ok(socket)
}

/// One upstream, as seen from this thread.
pub(super) struct Peer {
    state: Weak<UdpState>,
    limits: Limits,
    /// Sockets with capacity, the one that was unused longest first, so that ports rotate.
    available: VecDeque<Key>,
    /// The socket of the current batch.
    current: Option<Key>,
    /// When to close sockets that have been idle for too long.
    sweep: Option<Instant>,
}

pub(super) struct Socket {
    pub socket: UdpSocket,
    pub local: Option<SocketAddr>,
    pub outbox: Outbox,
    /// The exchanges whose queries are in the outbox, in its order.
    pub unsent: Vec<Key>,
    /// The ids in flight and their exchanges.
    in_flight: Vec<(u16, Key)>,
    peer: Key,
    created: Instant,
    used: Instant,
    uses: u32,
    /// No further query uses this socket.
    retired: bool,
    /// In the peer's list of available sockets.
    listed: bool,
    /// Counted as idle in the shared state.
    counted: bool,
}

pub(super) struct Sockets {
    peers: Slots<Peer>,
    all: Slots<Socket>,
    max_in_flight: usize,
}

impl Socket {
    /// Adds a query to the outbox.
    pub fn enqueue(&mut self, id: u16, exchange: Key, packet: &[u8]) {
        self.in_flight.push((id, exchange));
        self.unsent.push(exchange);
        self.outbox.push(packet);
        self.uses += 1;
    }

    /// Removes and returns the exchange with this id.
    pub fn take_exchange(&mut self, id: u16, now: Instant) -> Option<Key> {
        let index = self.in_flight.iter().position(|(other, _)| *other == id)?;
        self.used = now;
        Some(self.in_flight.swap_remove(index).1)
    }

    pub fn remove_exchange(&mut self, exchange: Key) {
        self.in_flight.retain(|(_, other)| *other != exchange);
    }

    /// Removes and returns all exchanges in flight.
    pub fn drain_exchanges(&mut self) -> impl Iterator<Item = Key> {
        self.in_flight.drain(..).map(|(_, exchange)| exchange)
    }

    /// Whether a query was sent whose reply is missing.
    pub fn has_sent(&self) -> bool {
        // An exchange abandoned before it was sent is only in `unsent`.
        self.in_flight.iter().any(|(_, exchange)| !self.unsent.contains(exchange))
    }

    /// No further query uses this socket; it is closed after those in flight.
    pub fn retire(&mut self) {
        self.retired = true;
    }

    fn is_good(&self, limits: &Limits, now: Instant) -> bool {
        let since = |then| now.saturating_duration_since(then);
        !self.retired
            && self.uses < limits.max_uses
            && (!self.in_flight.is_empty() || since(self.used) <= limits.expire)
            && limits.max_age.is_none_or(|most| since(self.created) <= most)
    }

    fn has_id(&self, id: u16) -> bool {
        self.in_flight.iter().any(|(other, _)| *other == id)
    }

    /// Removes the socket from the shared count of idle ones, before it is used or closed.
    fn uncount_idle(&mut self, state: &Weak<UdpState>) {
        if std::mem::take(&mut self.counted)
            && let Some(state) = state.upgrade()
        {
            state.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Peer {
    /// Whether one more socket may be idle; if so, counts it.
    fn may_keep_idle(&self, counted: &mut bool) -> bool {
        let Some(state) = self.state.upgrade().filter(|state| !state.is_stopped()) else { return false };
        if self.limits.max_idle == 0 || *counted {
            return true;
        }
        *counted = state.idle.fetch_add(1, Ordering::Relaxed) < self.limits.max_idle;
        if !*counted {
            state.idle.fetch_sub(1, Ordering::Relaxed);
        }
        *counted
    }

    /// The interval between sweeps.
    fn sweep_interval(&self) -> Duration {
        self.limits.expire.clamp(Duration::from_millis(10), Duration::from_secs(10))
    }
}

impl Sockets {
    pub fn new(max_in_flight: usize) -> Sockets {
        Sockets { peers: Slots::default(), all: Slots::default(), max_in_flight }
    }

    /// The peer of an upstream; new ones are added, and those of dropped upstreams removed.
    pub fn peer(&mut self, state: &Arc<UdpState>, limits: &Limits) -> Key {
        if let Some(known) = self.peers.find(|peer| peer.state.as_ptr() == Arc::as_ptr(state)) {
            return known;
        }
        let gone = |peer: &Peer| peer.sweep.is_none() && peer.state.strong_count() == 0;
        while let Some(gone) = self.peers.find(gone) {
            self.peers.remove(gone);
        }
        self.peers.insert(Peer {
            state: Arc::downgrade(state),
            limits: *limits,
            available: VecDeque::new(),
            current: None,
            sweep: None,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&mut Socket> {
        self.all.get(key)
    }

    /// The key of the socket at this index.
    pub fn at(&self, index: u32) -> Option<Key> {
        self.all.key_at(index)
    }

    /// The socket for a query with this id: that of the current batch, or else the one that was unused longest.
    pub fn choose(&mut self, peer: Key, id: u16, now: Instant) -> Option<Key> {
        let Sockets { peers, all, max_in_flight } = self;
        let has_capacity = |socket: &Socket| socket.in_flight.len() < *max_in_flight;
        let peer = peers.get(peer)?;
        let Peer { limits, current, available, state, .. } = peer;
        if let Some(current) = *current
            && let Some(socket) = all.get(current)
            && has_capacity(socket)
            && !socket.has_id(id)
            && socket.is_good(limits, now)
        {
            socket.uncount_idle(state);
            return Some(current);
        }
        for _ in 0..available.len() {
            let key = available.pop_front()?;
            let Some(socket) = all.get(key) else { continue };
            socket.listed = false;
            if !socket.is_good(limits, now) {
                socket.retired = true;
                socket.uncount_idle(state);
                if socket.in_flight.is_empty() {
                    all.remove(key);
                }
            } else if has_capacity(socket) {
                socket.listed = true;
                available.push_back(key);
                if !socket.has_id(id) {
                    *current = Some(key);
                    socket.uncount_idle(state);
                    return Some(key);
                }
            }
        }
        None
    }

    /// Adds a new socket.
    pub fn add(&mut self, peer: Key, socket: UdpSocket, now: Instant) -> Key {
        let key = self.all.insert(Socket {
            local: socket.local_addr().ok(),
            socket,
            outbox: Outbox::default(),
            unsent: Vec::new(),
            in_flight: Vec::with_capacity(self.max_in_flight),
            peer,
            created: now,
            used: now,
            uses: 0,
            retired: false,
            listed: true,
            counted: false,
        });
        if let Some(peer) = self.peers.get(peer) {
            peer.available.push_back(key);
            peer.current = Some(key);
            let interval = peer.sweep_interval();
            peer.sweep.get_or_insert(now + interval);
        }
        key
    }

    pub fn close(&mut self, key: Key) {
        let Some(mut socket) = self.all.remove(key) else { return };
        if let Some(peer) = self.peers.get(socket.peer) {
            socket.uncount_idle(&peer.state);
        }
    }

    /// Retires a socket: no further query uses it.
    pub fn retire(&mut self, key: Key, now: Instant) {
        if let Some(socket) = self.all.get(key) {
            socket.retire();
            self.release(key, now);
        }
    }

    /// Called when an exchange on this socket has ended: makes the socket available again, or closes it.
    pub fn release(&mut self, key: Key, now: Instant) {
        let Sockets { peers, all, .. } = self;
        let Some(socket) = all.get(key) else { return };
        let idle = socket.in_flight.is_empty();
        if let Some(peer) = peers.get(socket.peer)
            && socket.is_good(&peer.limits, now)
            && (!idle || peer.may_keep_idle(&mut socket.counted))
        {
            if !std::mem::replace(&mut socket.listed, true) {
                peer.available.push_back(key);
                let interval = peer.sweep_interval();
                peer.sweep.get_or_insert(now + interval);
            }
        } else if idle {
            self.close(key);
        }
    }

    /// Ends the batch on this socket; the next batch uses the next socket.
    pub fn end_batch(&mut self, key: Key) {
        let Some(peer) = self.all.get(key).map(|socket| socket.peer) else { return };
        if let Some(peer) = self.peers.get(peer) {
            peer.current = None;
        }
    }

    /// Closes sockets that have been idle for too long, or whose upstream was stopped or dropped. Returns the time of the
    /// next sweep.
    pub fn sweep(&mut self, now: Instant) -> Option<Instant> {
        let Sockets { peers, all, .. } = self;
        let mut next = None;
        for peer in peers.iter_mut() {
            let Some(due) = peer.sweep else { continue };
            if due <= now {
                let Peer { state, limits, available, .. } = peer;
                let wanted = state.upgrade().is_some_and(|state| !state.is_stopped());
                available.retain(|key| {
                    let Some(socket) = all.get(*key) else { return false };
                    let keep = !socket.in_flight.is_empty() || wanted && socket.is_good(limits, now);
                    if !keep && let Some(mut socket) = all.remove(*key) {
                        socket.uncount_idle(state);
                    }
                    keep
                });
                // Full sockets return to the list, and retired ones are closed after their last query.
                peer.sweep = (!peer.available.is_empty()).then(|| now + peer.sweep_interval());
            }
            next = next.into_iter().chain(peer.sweep).min();
        }
        next
    }
}
