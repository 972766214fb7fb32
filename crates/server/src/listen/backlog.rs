//! Replies that did not fit into a socket's send buffer, on addresses where they are queued instead of waited for.
//!
//! ```text
//! worker ──reply, no room──→ ┌ newest ┐ ──→ drain: newest first, every millisecond while there is room
//! query that waited ───────→ │   …    │
//!                            └ oldest ┘ ──→ lost and counted, beyond CAPACITY
//! ```
//!
//! The newest are sent first: their clients still wait, those of the oldest have retried by now.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Counter;
use net::{ReplyTo, UdpSocket};

use crate::process::runtime;

/// Maximum number of queued replies per address.
const CAPACITY: usize = 1024;
/// The interval between attempts to send.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// The queued replies of one address.
pub(crate) struct Backlog {
    replies: Mutex<VecDeque<QueuedReply>>,
    full: AtomicBool,
    draining: AtomicBool,
    lost: Arc<Counter>,
}

struct QueuedReply {
    bytes: Vec<u8>,
    to: ReplyTo,
    socket: Arc<UdpSocket>,
}

impl Backlog {
    pub fn new(lost: Arc<Counter>) -> Backlog {
        Backlog {
            replies: Mutex::default(),
            full: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            lost,
        }
    }

    /// Whether one more reply would evict another.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Counts replies that never reached the wire.
    pub fn count_lost(&self, replies: usize) {
        self.lost.add(replies as u64);
    }

    /// Sends a reply at once, or queues it.
    pub fn send(self: &Arc<Backlog>, socket: &Arc<UdpSocket>, bytes: &[u8], to: &ReplyTo) {
        match socket.try_send_to(bytes, to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.enqueue(socket, bytes, to),
            Err(_) => self.count_lost(1),
        }
    }

    /// Queues a reply that did not fit into the send buffer.
    pub fn enqueue(self: &Arc<Backlog>, socket: &Arc<UdpSocket>, bytes: &[u8], to: &ReplyTo) {
        self.push(QueuedReply { bytes: bytes.to_vec(), to: *to, socket: socket.clone() });
        if !self.draining.swap(true, Ordering::AcqRel) {
            let backlog = self.clone();
            supervise::spawn(runtime::handle(), "backlog", move || drain(backlog.clone()));
        }
    }

    fn push(&self, reply: QueuedReply) {
        let mut replies = self.replies();
        if replies.len() == CAPACITY {
            replies.pop_front();
            self.count_lost(1);
        }
        replies.push_back(reply);
        self.full.store(replies.len() == CAPACITY, Ordering::Relaxed);
    }

    fn pop(&self) -> Option<QueuedReply> {
        let mut replies = self.replies();
        let newest = replies.pop_back();
        self.full.store(replies.len() == CAPACITY, Ordering::Relaxed);
        newest
    }

    /// Sends the newest first while `send` has room. True if nothing is left.
    fn flush(&self, mut send: impl FnMut(&QueuedReply) -> io::Result<()>) -> bool {
        while let Some(reply) = self.pop() {
            match send(&reply) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.push(reply);
                    return false;
                }
                Err(_) => self.count_lost(1),
            }
        }
        true
    }

    fn replies(&self) -> MutexGuard<'_, VecDeque<QueuedReply>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the queued replies until none is left.
async fn drain(backlog: Arc<Backlog>) {
    loop {
        supervise::fail_point("backlog");
        tokio::time::sleep(RETRY_INTERVAL).await;
        if !backlog.flush(|reply| reply.socket.try_send_to(&reply.bytes, &reply.to)) {
            continue;
        }
        backlog.draining.store(false, Ordering::Release);
        // A reply queued between the flush and the line above found `draining` set and started no drain.
        if backlog.replies().is_empty() || backlog.draining.swap(true, Ordering::AcqRel) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics::Family;
    use net::{Epoll, Events, RecvBatch, UdpOptions};
    use wire::{Name, NameBuf, Query, Rcode, Rtype};

    use super::*;
    use crate::plugin::offers::Offers;
    use crate::{
        Block, BlockSettings, Client, Exchange, ExchangeResult, Plugin, Service, Step, Transport, Visit,
    };

    /// A socket, a client, and the address for replies to it.
    fn exchange() -> (Arc<UdpSocket>, std::net::UdpSocket, ReplyTo) {
        let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = UdpSocket::bind(any, &UdpOptions::default()).expect("a socket");
        let client = std::net::UdpSocket::bind(any).expect("a client");
        client.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
        client.send_to(b"query", socket.local_addr()).expect("sent");
        let epoll = Epoll::new().expect("an epoll");
        epoll.add(&socket, 0).expect("added");
        epoll.wait(&mut Events::with_capacity(1), Some(Duration::from_secs(5))).expect("arrived");
        let mut batch = RecvBatch::new(1, 512);
        assert_eq!(batch.recv(&socket).expect("received"), 1);
        let to = batch.packet(0).reply_to();
        (Arc::new(socket), client, to)
    }

    #[test]
    fn newest_first_and_the_oldest_are_lost() {
        let (socket, _client, to) = exchange();
        let lost = Arc::new(Counter::new());
        let backlog = Backlog::new(lost.clone());
        let reply =
            |number: usize| QueuedReply { bytes: number.to_be_bytes().to_vec(), to, socket: socket.clone() };
        for number in 0..CAPACITY {
            assert!(!backlog.is_full());
            backlog.push(reply(number));
        }
        assert!(backlog.is_full());
        for number in CAPACITY..CAPACITY + 3 {
            backlog.push(reply(number));
        }
        assert_eq!(lost.get(), 3);
        // Room for two, then for one that the kernel refuses, then for all.
        let mut sent: Vec<Vec<u8>> = Vec::new();
        let mut room = 2;
        let none = || io::Error::from(io::ErrorKind::WouldBlock);
        assert!(!backlog.flush(|reply| {
            if room == 0 {
                return Err(none());
            }
            room -= 1;
            sent.push(reply.bytes.clone());
            Ok(())
        }));
        assert_eq!(sent, [CAPACITY + 2, CAPACITY + 1].map(|number| number.to_be_bytes().to_vec()));
        assert!(!backlog.is_full());
        let mut tries = 0;
        assert!(backlog.flush(|_| {
            tries += 1;
            if tries == 1 { Err(io::Error::from(io::ErrorKind::PermissionDenied)) } else { Ok(()) }
        }));
        assert_eq!((tries, lost.get()), (CAPACITY - 2, 4));
    }

    #[test]
    fn queued_replies_are_sent_without_further_calls() {
        let (socket, client, to) = exchange();
        let backlog = Arc::new(Backlog::new(Arc::default()));
        for round in 0..3u8 {
            backlog.enqueue(&socket, &[round], &to);
            let mut buffer = [0; 16];
            assert_eq!(client.recv(&mut buffer).expect("a reply"), 1);
            assert_eq!(buffer[0], round);
        }
        backlog.send(&socket, b"now", &to);
        let mut buffer = [0; 16];
        assert_eq!(client.recv(&mut buffer).expect("a reply"), 3);
    }

    /// Drops queries while the backlog is full, as `shed` does, and refuses the rest.
    struct DropWhenFull;

    impl Plugin for DropWhenFull {
        fn name(&self) -> &'static str {
            "drop_when_full"
        }

        fn query(&self, visit: &mut Visit<'_>) -> Step {
            if visit.is_backlog_full() { Step::Drop } else { Step::fail(Rcode::REFUSED) }
        }
    }

    #[test]
    fn plugins_see_a_full_backlog() {
        let (socket, _client, to) = exchange();
        let lost = Arc::new(Family::<Counter>::new(&["server", "reason"]));
        let settings = BlockSettings { lost_replies: Some(lost.clone()), ..BlockSettings::default() };
        let block = Arc::new(Block::new(vec![Arc::new(DropWhenFull)], Offers::default(), settings));
        let service = Arc::new(Service::new("dns://:53".into(), vec![(NameBuf::root(), block)]));
        let client = Client { remote: to.remote(), local: socket.local_addr(), transport: Transport::Udp };
        let packet = Query::ask(Name::ROOT, Rtype::A).to_packet();
        let mut exchange = Exchange::new();
        let mut ask = || exchange.answer(&service, client, &packet, &mut Vec::new());
        assert_eq!(ask(), ExchangeResult::Reply);
        let backlog = service.backlog.as_ref().expect("the block wants one");
        for _ in 0..=CAPACITY {
            backlog.push(QueuedReply { bytes: Vec::new(), to, socket: socket.clone() });
        }
        assert_eq!(ask(), ExchangeResult::NoReply);
        assert_eq!(lost.with(&["dns://:53", "response"]).get(), 1);
        backlog.flush(|_| Ok(()));
        assert_eq!(ask(), ExchangeResult::Reply);
    }
}
