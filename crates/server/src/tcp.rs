//! TCP: connections with pipelining and replies in the order they are ready (RFC 7766).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::endpoint::Endpoint;
use crate::exchange::{self, Handled};
use crate::permit::Permit;
use crate::proxied::header::{self, Found};
use crate::walk::Walk;
use crate::{Block, Client, Messages, ProxyPolicy, Service, Timeouts, Transport, log};

/// Connections open at once in the whole process; one more is closed as it comes.
const MAX_CONNECTIONS: usize = 20_000;
/// Replies of one connection that may wait for its writer before reading stops.
const QUEUED_REPLIES: usize = 64;

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// Connections open now.
pub(crate) fn connections() -> usize {
    CONNECTIONS.load(Ordering::Acquire)
}

/// Accepts connections until the endpoint closes.
pub(crate) async fn accept(listener: Arc<TcpListener>, endpoint: Arc<Endpoint>) {
    let mut closing = endpoint.closing.subscribe();
    loop {
        supervise::fail_point("tcp-listener");
        let accepted = tokio::select! {
            _ = closing.wait_for(|closing| *closing) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, remote)) => {
                let Some(counted) = Counted::take() else { continue };
                let served = connection(stream, remote, endpoint.clone(), counted);
                tokio::spawn(supervise::step_async("tcp-connection", served));
            }
            Err(error) => {
                // Out of file descriptors, most likely; give the open connections time to end.
                log::warning(None, format_args!("accepting on {}: {error}", endpoint.address));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// One connection in the count.
struct Counted(());

impl Counted {
    fn take() -> Option<Counted> {
        if CONNECTIONS.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS {
            CONNECTIONS.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        Some(Counted(()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        CONNECTIONS.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn connection(stream: TcpStream, remote: SocketAddr, endpoint: Arc<Endpoint>, counted: Counted) {
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().unwrap_or(endpoint.bound);
    let mut client = Client { remote: unmapped(remote), local: unmapped(local), transport: Transport::Tcp };
    let (mut reader, writer) = stream.into_split();
    let mut inbox = Vec::with_capacity(1024);
    let Some(announced) = introduce(&mut reader, &mut inbox, &mut client, &endpoint).await else { return };
    let (replies, queue) = mpsc::channel(QUEUED_REPLIES);
    let writing = tokio::spawn(write(writer, queue, endpoint.service.load().timeouts.write));
    read(reader, inbox, client, &announced, &endpoint, replies).await;
    // The queue ends when the last waiting query has given its reply.
    let _ = writing.await;
    drop(counted);
}

/// Takes the header of a proxy off the head of a connection, if the address is for proxies, and has the client be who
/// it says. Gives what it says beside addresses; None: the connection is not to be served.
async fn introduce(
    reader: &mut OwnedReadHalf,
    inbox: &mut Vec<u8>,
    client: &mut Client,
    endpoint: &Endpoint,
) -> Option<Vec<u8>> {
    let service = endpoint.service.load_full();
    let Some(proxied) = &service.proxied else { return Some(Vec::new()) };
    let policy = (proxied.policy)(client.remote.ip());
    if policy == ProxyPolicy::Skip {
        return Some(Vec::new());
    }
    let deadline = Instant::now() + service.timeouts.read;
    let mut closing = endpoint.closing.subscribe();
    loop {
        match header::parse(inbox).ok()? {
            Found::Nothing => return Some(Vec::new()),
            Found::Header(_) if policy == ProxyPolicy::Reject => return None,
            Found::Header(found) => {
                let mut announced = Vec::new();
                if policy == ProxyPolicy::Use {
                    client.remote = found.client().unwrap_or(client.remote);
                    client.local = found.asked().unwrap_or(client.local);
                    announced.extend_from_slice(proxied.tlvs_of(&found));
                }
                let len = found.len;
                inbox.drain(..len);
                return Some(announced);
            }
            Found::Unsigned | Found::Partial => {}
        }
        let received = tokio::select! {
            _ = closing.wait_for(|closing| *closing) => return None,
            received = timeout_at(deadline, reader.read_buf(inbox)) => received,
        };
        if !matches!(received, Ok(Ok(1..))) {
            return None;
        }
    }
}

/// Reads queries until the peer is done, too slow, or has had its share.
async fn read(
    mut reader: OwnedReadHalf,
    mut inbox: Vec<u8>,
    client: Client,
    announced: &[u8],
    endpoint: &Arc<Endpoint>,
    replies: mpsc::Sender<Vec<u8>>,
) {
    let mut closing: watch::Receiver<bool> = endpoint.closing.subscribe();
    let mut walk = Box::new(Walk::new());
    let mut served: i64 = 0;
    loop {
        let Timeouts { read, idle, max_queries, .. } = endpoint.service.load().timeouts;
        if max_queries >= 0 && served >= max_queries {
            return;
        }
        let patience = if served == 0 { read } else { idle };
        let received = tokio::select! {
            biased;
            // What has arrived is answered, no more is read.
            _ = closing.wait_for(|closing| *closing) => Ok(message_len(&inbox)),
            received = timeout(patience, read_message(&mut reader, &mut inbox)) => received,
        };
        let len = match received {
            Ok(Some(len)) => len,
            Ok(None) => return,
            // A peer that waits for replies of ours is not idle.
            Err(_) if inbox.is_empty() && replies.strong_count() > 1 => continue,
            Err(_) => return,
        };
        served += 1;
        let service = endpoint.service.load_full();
        let mut out = Vec::with_capacity(512);
        walk.announce(announced);
        let handled = exchange::answer(&service, &mut walk, client, &inbox[2..2 + len], None, &mut out);
        inbox.drain(..2 + len);
        match handled {
            Handled::Reply => {
                if replies.send(out).await.is_err() {
                    return;
                }
            }
            Handled::Nothing => {}
            Handled::Waiting(pending, block) => match Permit::take() {
                Some(permit) => {
                    let mut walk = std::mem::take(&mut walk);
                    let replies = replies.clone();
                    tokio::spawn(async move {
                        let mut out = Vec::with_capacity(512);
                        match exchange::complete(&service, &mut walk, pending, &block, &mut out).await {
                            Handled::Reply => {
                                let _ = replies.send(out).await;
                            }
                            Handled::Streaming(messages, _) => {
                                stream(messages, &mut walk, &block, &service, &replies).await;
                            }
                            Handled::Nothing | Handled::Waiting(..) => {}
                        }
                        drop(permit);
                    });
                }
                None => {
                    let refused = exchange::refuse_wait(&service, &mut walk, pending, &block, &mut out);
                    if matches!(refused, Handled::Reply) && replies.send(out).await.is_err() {
                        return;
                    }
                }
            },
            Handled::Streaming(messages, block) => {
                stream(messages, &mut walk, &block, &service, &replies).await
            }
        }
    }
}

/// Sends a series of messages, as fast as the peer takes them.
async fn stream(
    mut messages: Box<dyn Messages>,
    walk: &mut Walk,
    block: &Arc<Block>,
    service: &Arc<Service>,
    replies: &mpsc::Sender<Vec<u8>>,
) {
    while walk.stream_next(messages.as_mut(), block, service) {
        let mut out = Vec::new();
        if walk.encode(Some(block), &mut out) && replies.send(out).await.is_err() {
            return;
        }
    }
}

/// Waits for a whole message behind its length at the head of `inbox` and gives its length; None when the peer
/// closed or broke off. What was read stays in `inbox` if the wait is given up.
async fn read_message(reader: &mut OwnedReadHalf, inbox: &mut Vec<u8>) -> Option<usize> {
    loop {
        if let Some(len) = message_len(inbox) {
            return Some(len);
        }
        if !matches!(reader.read_buf(inbox).await, Ok(1..)) {
            return None;
        }
    }
}

/// The length of the message at the head of `inbox`, if all of it is there.
fn message_len(inbox: &[u8]) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes(*inbox.first_chunk::<2>()?));
    (inbox.len() >= 2 + len).then_some(len)
}

/// Writes replies as they come, several in one go when they queue up.
async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>, patience: Duration) {
    let mut frames = Vec::with_capacity(4096);
    while let Some(first) = queue.recv().await {
        frames.clear();
        frame(&first, &mut frames);
        while frames.len() < 64 * 1024 {
            match queue.try_recv() {
                Ok(next) => frame(&next, &mut frames),
                Err(_) => break,
            }
        }
        if !matches!(timeout(patience, writer.write_all(&frames)).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

fn frame(message: &[u8], frames: &mut Vec<u8>) {
    frames.extend_from_slice(&(message.len() as u16).to_be_bytes());
    frames.extend_from_slice(message);
}

/// IPv4 clients of a dual-stack socket are IPv4 clients.
fn unmapped(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4),
        v4 => v4,
    };
    match (addr, ip) {
        (SocketAddr::V6(_), IpAddr::V4(_)) => SocketAddr::new(ip, addr.port()),
        _ => addr,
    }
}
