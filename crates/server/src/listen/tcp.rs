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

use crate::listen::endpoint::Endpoint;
use crate::listen::permit::Permit;
use crate::listen::proxy_protocol::header::{self, Parsed};
use crate::walk::Walk;
use crate::walk::exchange::{self, PacketResult};
use crate::{Block, Client, Messages, ProxyPolicy, Service, Timeouts, Transport, log};

/// Maximum number of open connections in the whole process; further ones are closed at once.
const MAX_CONNECTIONS: usize = 20_000;
/// Replies of one connection that may be queued for its writer before reading stops.
const QUEUED_REPLIES: usize = 64;

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// The number of open connections.
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
                let Some(permit) = ConnectionPermit::take() else { continue };
                let served = connection(stream, remote, endpoint.clone(), permit);
                tokio::spawn(supervise::step_async("tcp-connection", served));
            }
            Err(error) => {
                // Out of file descriptors, most likely; open connections may end meanwhile.
                log::warning(
                    None,
                    format_args!("{}: accepting a TCP connection failed: {error}", endpoint.address),
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// One connection counted against the limit, until dropped.
struct ConnectionPermit(());

impl ConnectionPermit {
    fn take() -> Option<ConnectionPermit> {
        if CONNECTIONS.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS {
            CONNECTIONS.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        Some(ConnectionPermit(()))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        CONNECTIONS.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn connection(
    stream: TcpStream,
    remote: SocketAddr,
    endpoint: Arc<Endpoint>,
    permit: ConnectionPermit,
) {
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().unwrap_or(endpoint.bound);
    let mut client = Client { remote: unmapped(remote), local: unmapped(local), transport: Transport::Tcp };
    let (mut reader, writer) = stream.into_split();
    let mut inbox = Vec::with_capacity(1024);
    let Some(proxy_tlvs) = read_proxy_header(&mut reader, &mut inbox, &mut client, &endpoint).await else {
        return;
    };
    let (replies, queue) = mpsc::channel(QUEUED_REPLIES);
    let writing = tokio::spawn(write(writer, queue, endpoint.service.load().timeouts.write));
    read(reader, inbox, client, &proxy_tlvs, &endpoint, replies).await;
    // The queue ends when the last waiting query has sent its reply.
    let _ = writing.await;
    drop(permit);
}

/// Reads the PROXY protocol header of a connection, if the address uses that protocol, and sets the client to the one it
/// announces. Returns its TLVs; None if the connection must not be served.
async fn read_proxy_header(
    reader: &mut OwnedReadHalf,
    inbox: &mut Vec<u8>,
    client: &mut Client,
    endpoint: &Endpoint,
) -> Option<Vec<u8>> {
    let service = endpoint.service.load_full();
    let Some(proxy_protocol) = &service.proxy_protocol else { return Some(Vec::new()) };
    let policy = (proxy_protocol.policy)(client.remote.ip());
    if policy == ProxyPolicy::Skip {
        return Some(Vec::new());
    }
    let deadline = Instant::now() + service.timeouts.read;
    let mut closing = endpoint.closing.subscribe();
    loop {
        match header::parse(inbox).ok()? {
            Parsed::Nothing => return Some(Vec::new()),
            Parsed::Header(_) if policy == ProxyPolicy::Reject => return None,
            Parsed::Header(header) => {
                let mut proxy_tlvs = Vec::new();
                if policy == ProxyPolicy::Use {
                    client.remote = header.client().unwrap_or(client.remote);
                    client.local = header.client_destination().unwrap_or(client.local);
                    proxy_tlvs.extend_from_slice(proxy_protocol.tlvs_of(&header));
                }
                let len = header.len;
                inbox.drain(..len);
                return Some(proxy_tlvs);
            }
            Parsed::Unsigned | Parsed::Partial => {}
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

/// Reads queries until the client closes, times out, or has used up its queries.
async fn read(
    mut reader: OwnedReadHalf,
    mut inbox: Vec<u8>,
    client: Client,
    proxy_tlvs: &[u8],
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
        let limit = if served == 0 { read } else { idle };
        let received = tokio::select! {
            biased;
            // Queries that have arrived are answered, no more are read.
            _ = closing.wait_for(|closing| *closing) => Ok(message_len(&inbox)),
            received = timeout(limit, read_message(&mut reader, &mut inbox)) => received,
        };
        let len = match received {
            Ok(Some(len)) => len,
            Ok(None) => return,
            // A client that waits for replies is not idle.
            Err(_) if inbox.is_empty() && replies.strong_count() > 1 => continue,
            Err(_) => return,
        };
        served += 1;
        let service = endpoint.service.load_full();
        let mut out = Vec::with_capacity(512);
        walk.set_proxy_tlvs(proxy_tlvs);
        let result = exchange::answer(&service, &mut walk, client, &inbox[2..2 + len], None, &mut out);
        inbox.drain(..2 + len);
        match result {
            PacketResult::Reply => {
                if replies.send(out).await.is_err() {
                    return;
                }
            }
            PacketResult::Nothing => {}
            PacketResult::Waiting(pending, block) => match Permit::take() {
                Some(permit) => {
                    let mut walk = std::mem::take(&mut walk);
                    let replies = replies.clone();
                    tokio::spawn(async move {
                        let mut out = Vec::with_capacity(512);
                        match exchange::complete(&service, &mut walk, pending, &block, &mut out).await {
                            PacketResult::Reply => {
                                let _ = replies.send(out).await;
                            }
                            PacketResult::Streaming(messages, _) => {
                                stream(messages, &mut walk, &block, &service, &replies).await;
                            }
                            PacketResult::Nothing | PacketResult::Waiting(..) => {}
                        }
                        drop(permit);
                    });
                }
                None => {
                    let refused = exchange::refuse_wait(&service, &mut walk, pending, &block, &mut out);
                    if matches!(refused, PacketResult::Reply) && replies.send(out).await.is_err() {
                        return;
                    }
                }
            },
            PacketResult::Streaming(messages, block) => {
                stream(messages, &mut walk, &block, &service, &replies).await
            }
        }
    }
}

/// Sends a series of messages, as fast as the client reads them.
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

/// Waits until `inbox` starts with a length and a whole message and returns the length; None when the client closed the
/// connection. Octets read so far stay in `inbox` if the future is dropped.
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

/// The length of the message at the start of `inbox`, if it is complete.
fn message_len(inbox: &[u8]) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes(*inbox.first_chunk::<2>()?));
    (inbox.len() >= 2 + len).then_some(len)
}

/// Writes replies as they arrive, all queued ones with one write.
async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>, limit: Duration) {
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
        if !matches!(timeout(limit, writer.write_all(&frames)).await, Ok(Ok(()))) {
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
