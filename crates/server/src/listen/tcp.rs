//! TCP: connections with pipelining and replies in the order they are ready (RFC 7766).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::listen::endpoint::Endpoint;
use crate::listen::outbox::Outbox;
use crate::listen::permit::Permit;
use crate::listen::proxy_protocol::header::{self, Parsed};
use crate::walk::exchange::{self, PacketResult};
use crate::walk::stream::{Next, Stream};
use crate::walk::{Progress, Walk};
use crate::{Block, Client, Messages, Part, ProxyPolicy, Service, Timeouts, Transport, log};

/// Maximum number of open connections in the whole process; further ones are closed at once.
const MAX_CONNECTIONS: usize = 20_000;

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
    if let Some(proxy_tlvs) = read_proxy_header(&mut reader, &mut inbox, &mut client, &endpoint).await {
        serve(reader, inbox, writer, client, &proxy_tlvs, &endpoint).await;
    }
    drop(permit);
}

/// Serves the messages of one connection, each after its length in two octets, over any stream of octets. `inbox` has
/// the octets already read.
pub(super) async fn serve(
    reader: impl AsyncRead + Unpin,
    inbox: Vec<u8>,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    client: Client,
    proxy_tlvs: &[u8],
    endpoint: &Arc<Endpoint>,
) {
    let (outbox, writing) = Outbox::start(writer, endpoint.service.load().timeouts.write);
    read(reader, inbox, client, proxy_tlvs, endpoint, outbox).await;
    // The queue ends when the last waiting query has sent its reply.
    let _ = writing.await;
}

/// Reads the PROXY protocol header of a connection, if the address uses that protocol, and sets the client to the one it
/// announces. Returns its TLVs; None if the connection must not be served.
async fn read_proxy_header(
    reader: &mut (impl AsyncRead + Unpin),
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
    mut reader: impl AsyncRead + Unpin,
    mut inbox: Vec<u8>,
    client: Client,
    proxy_tlvs: &[u8],
    endpoint: &Arc<Endpoint>,
    outbox: Outbox,
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
            () = outbox.closed() => return,
            // Queries that have arrived are answered, no more are read.
            _ = closing.wait_for(|closing| *closing) => Ok(message_len(&inbox)),
            received = timeout(limit, read_message(&mut reader, &mut inbox)) => received,
        };
        let len = match received {
            Ok(Some(len)) => len,
            Ok(None) => return,
            // A client that waits for replies is not idle.
            Err(_) if inbox.is_empty() && outbox.has_other_senders() => continue,
            Err(_) => return,
        };
        served += 1;
        let service = endpoint.service.load_full();
        let mut out = Vec::with_capacity(512);
        walk.set_proxy_tlvs(proxy_tlvs);
        let mut result = exchange::answer(&service, &mut walk, client, &inbox[2..2 + len], None, &mut out);
        inbox.drain(..2 + len);
        if let PacketResult::Unfinished(progress, block) = result {
            result = match Permit::take() {
                Some(permit) => {
                    let query = TcpQuery { walk: std::mem::take(&mut walk), block, service, _permit: permit };
                    tokio::spawn(query.finish(progress, outbox.clone()));
                    PacketResult::Nothing
                }
                None => exchange::refuse_wait(&service, &mut walk, progress, &block, &mut out),
            };
        }
        if matches!(result, PacketResult::Reply) && outbox.send(out).await.is_err() {
            return;
        }
    }
}

/// A query that waits or streams, with its walk.
struct TcpQuery {
    walk: Box<Walk>,
    block: Arc<Block>,
    service: Arc<Service>,
    _permit: Permit,
}

impl TcpQuery {
    async fn finish(mut self, progress: Progress, outbox: Outbox) {
        let TcpQuery { walk, block, service, .. } = &mut self;
        let mut out = Vec::with_capacity(512);
        match exchange::complete(service, walk, progress, block, &mut out).await {
            PacketResult::Unfinished(Progress::Streaming(messages), _) => {
                self.stream(messages, &outbox).await
            }
            PacketResult::Reply => _ = outbox.send(out).await,
            PacketResult::Nothing | PacketResult::Unfinished(..) => {}
        }
    }

    /// Sends a series of messages, each when the one before is written. If it fails in the middle, the connection is
    /// closed.
    async fn stream(&mut self, messages: Box<dyn Messages>, outbox: &Outbox) {
        let TcpQuery { walk, block, service, .. } = self;
        let mut stream = Stream::new(messages, walk);
        let _turn = outbox.stream_turn().await;
        loop {
            let mut out = Vec::new();
            match stream.next(walk, block, service, &mut out).await {
                Next::Message(part) => match outbox.write(out).await {
                    Ok(()) if part == Part::More => {}
                    Ok(()) => return,
                    Err(why) => return stream.abort(why, part, walk, block, service),
                },
                Next::Reply => {
                    let _ = outbox.send(out).await;
                    return;
                }
                Next::Failed => return outbox.close().await,
            }
        }
    }
}

/// Waits until `inbox` starts with a length and a whole message and returns the length; None when the client closed the
/// connection. Octets read so far stay in `inbox` if the future is dropped.
async fn read_message(reader: &mut (impl AsyncRead + Unpin), inbox: &mut Vec<u8>) -> Option<usize> {
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
