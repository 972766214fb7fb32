//! Replies that found no room in a socket's send buffer, on addresses where they are kept and not waited for.
//!
//! ```text
//! worker ──reply, no room──→ ┌ newest ┐ ──→ drain: newest first, every millisecond while there is room
//! query that waited ───────→ │   …    │
//!                            └ oldest ┘ ──→ lost and counted, when one more than DEPTH comes
//! ```
//!
//! The newest go first: their clients are still there, those of the oldest have asked again by now.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Counter;
use net::{ReplyTo, UdpSocket};

use crate::runtime;

/// How many replies are kept for one address.
const DEPTH: usize = 1024;
/// How long the kernel gets to make room before the next attempt.
const PAUSE: Duration = Duration::from_millis(1);

/// The replies of one address that wait for room.
pub(crate) struct Backlog {
    replies: Mutex<VecDeque<Kept>>,
    full: AtomicBool,
    draining: AtomicBool,
    lost: Arc<Counter>,
}

struct Kept {
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

    /// Whether one more reply would push another out.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Counts replies that never reached the wire.
    pub fn lose(&self, replies: usize) {
        self.lost.add(replies as u64);
    }

    /// Sends a reply at once, or keeps it.
    pub fn send(self: &Arc<Backlog>, socket: &Arc<UdpSocket>, bytes: &[u8], to: &ReplyTo) {
        match socket.try_send_to(bytes, to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.keep(socket, bytes, to),
            Err(_) => self.lose(1),
        }
    }

    /// Keeps a reply for which there was no room.
    pub fn keep(self: &Arc<Backlog>, socket: &Arc<UdpSocket>, bytes: &[u8], to: &ReplyTo) {
        self.push(Kept { bytes: bytes.to_vec(), to: *to, socket: socket.clone() });
        if !self.draining.swap(true, Ordering::AcqRel) {
            let backlog = self.clone();
            supervise::spawn(runtime::handle(), "backlog", move || drain(backlog.clone()));
        }
    }

    fn push(&self, kept: Kept) {
        let mut replies = self.replies();
        if replies.len() == DEPTH {
            replies.pop_front();
            self.lose(1);
        }
        replies.push_back(kept);
        self.full.store(replies.len() == DEPTH, Ordering::Relaxed);
    }

    fn pop(&self) -> Option<Kept> {
        let mut replies = self.replies();
        let newest = replies.pop_back();
        self.full.store(replies.len() == DEPTH, Ordering::Relaxed);
        newest
    }

    /// Sends the newest while `send` finds room. True if nothing is left.
    fn flush(&self, mut send: impl FnMut(&Kept) -> io::Result<()>) -> bool {
        while let Some(kept) = self.pop() {
            match send(&kept) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.push(kept);
                    return false;
                }
                Err(_) => self.lose(1),
            }
        }
        true
    }

    fn replies(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what is kept, until nothing is.
async fn drain(backlog: Arc<Backlog>) {
    loop {
        supervise::fail_point("backlog");
        tokio::time::sleep(PAUSE).await;
        if !backlog.flush(|kept| kept.socket.try_send_to(&kept.bytes, &kept.to)) {
            continue;
        }
        backlog.draining.store(false, Ordering::Release);
        // Whoever came between the last look and the line above saw a drain that is ending.
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
    use crate::{Block, BlockSettings, Client, Exchange, Plugin, Replied, Service, Step, Transport, Visit};

    /// A socket and the way back to a client.
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
        let kept = |number: usize| Kept { bytes: number.to_be_bytes().to_vec(), to, socket: socket.clone() };
        for number in 0..DEPTH {
            assert!(!backlog.is_full());
            backlog.push(kept(number));
        }
        assert!(backlog.is_full());
        for number in DEPTH..DEPTH + 3 {
            backlog.push(kept(number));
        }
        assert_eq!(lost.get(), 3);
        // Room for two, then for one that the kernel refuses, then for all.
        let mut sent: Vec<Vec<u8>> = Vec::new();
        let mut room = 2;
        let none = || io::Error::from(io::ErrorKind::WouldBlock);
        assert!(!backlog.flush(|kept| {
            if room == 0 {
                return Err(none());
            }
            room -= 1;
            sent.push(kept.bytes.clone());
            Ok(())
        }));
        assert_eq!(sent, [DEPTH + 2, DEPTH + 1].map(|number| number.to_be_bytes().to_vec()));
        assert!(!backlog.is_full());
        let mut tries = 0;
        assert!(backlog.flush(|_| {
            tries += 1;
            if tries == 1 { Err(io::Error::from(io::ErrorKind::PermissionDenied)) } else { Ok(()) }
        }));
        assert_eq!((tries, lost.get()), (DEPTH - 2, 4));
    }

    #[test]
    fn what_is_kept_leaves_by_itself() {
        let (socket, client, to) = exchange();
        let backlog = Arc::new(Backlog::new(Arc::default()));
        for round in 0..3u8 {
            backlog.keep(&socket, &[round], &to);
            let mut buffer = [0; 16];
            assert_eq!(client.recv(&mut buffer).expect("a reply"), 1);
            assert_eq!(buffer[0], round);
        }
        backlog.send(&socket, b"now", &to);
        let mut buffer = [0; 16];
        assert_eq!(client.recv(&mut buffer).expect("a reply"), 3);
    }

    /// Drops what comes while replies pile up, as `shed` does, and refuses the rest.
    struct Shy;

    impl Plugin for Shy {
        fn name(&self) -> &'static str {
            "shy"
        }

        fn query(&self, visit: &mut Visit<'_>) -> Step {
            if visit.replies_pile_up() { Step::Drop } else { Step::fail(Rcode::REFUSED) }
        }
    }

    #[test]
    fn plugins_see_that_replies_pile_up() {
        let (socket, _client, to) = exchange();
        let lost = Arc::new(Family::<Counter>::new(&["server", "reason"]));
        let settings = BlockSettings { lost_replies: Some(lost.clone()), ..BlockSettings::default() };
        let block = Arc::new(Block::new(vec![Arc::new(Shy)], settings));
        let service = Arc::new(Service::new("dns://:53".into(), vec![(NameBuf::root(), block)]));
        let client = Client { remote: to.remote(), local: socket.local_addr(), transport: Transport::Udp };
        let packet = Query::ask(Name::ROOT, Rtype::A).to_packet();
        let mut exchange = Exchange::new();
        let mut ask = || exchange.answer(&service, client, &packet, &mut Vec::new());
        assert_eq!(ask(), Replied::Yes);
        let backlog = service.backlog.as_ref().expect("the block wants one");
        for _ in 0..=DEPTH {
            backlog.push(Kept { bytes: Vec::new(), to, socket: socket.clone() });
        }
        assert_eq!(ask(), Replied::No);
        assert_eq!(lost.with(&["dns://:53", "response"]).get(), 1);
        backlog.flush(|_| Ok(()));
        assert_eq!(ask(), Replied::Yes);
    }
}
