//! A blocking DNS client that returns replies as bytes, unchecked.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::{Context, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    Udp,
    Tcp,
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Reply(Vec<u8>),
    NoAnswer(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    TimedOut,
    /// TCP: the server closed the connection.
    Closed,
    /// Nothing listens there.
    Refused,
}

impl Outcome {
    pub fn reply(&self) -> Option<&[u8]> {
        match self {
            Self::Reply(bytes) => Some(bytes),
            Self::NoAnswer(_) => None,
        }
    }
}

/// Sends one query over UDP or TCP.
pub fn query(server: SocketAddr, transport: Transport, query: &[u8], timeout: Duration) -> Result<Outcome> {
    match transport {
        Transport::Udp => udp(server, query, timeout, 0),
        Transport::Tcp => tcp(server, query, timeout),
    }
}

/// Sends a query over UDP, and up to `retries` more times when no packet arrives within `timeout`. The first
/// packet from the server is the reply, whatever it holds.
pub fn udp(server: SocketAddr, query: &[u8], timeout: Duration, retries: usize) -> Result<Outcome> {
    let socket = UdpSocket::bind(any_port(server))?;
    socket.connect(server)?;
    let mut outcome = Outcome::NoAnswer(Failure::TimedOut);
    for _ in 0..=retries {
        outcome = match socket.send(query).and_then(|_| {
            socket.set_read_timeout(Some(timeout))?;
            let mut buffer = vec![0; 65535];
            let n = socket.recv(&mut buffer)?;
            buffer.truncate(n);
            Ok(buffer)
        }) {
            Ok(reply) => return Ok(Outcome::Reply(reply)),
            Err(e) => Outcome::NoAnswer(failure(&e)),
        };
    }
    Ok(outcome)
}

/// Sends a query over a new TCP connection and returns the first message.
pub fn tcp(server: SocketAddr, query: &[u8], timeout: Duration) -> Result<Outcome> {
    let deadline = Instant::now() + timeout;
    let mut stream = match TcpStream::connect_timeout(&server, timeout) {
        Ok(stream) => stream,
        Err(e) => return Ok(Outcome::NoAnswer(failure(&e))),
    };
    if let Err(e) = send_framed(&mut stream, query) {
        return Ok(Outcome::NoAnswer(failure(&e)));
    }
    Ok(receive_framed(&mut stream, deadline))
}

/// Sends all queries over one TCP connection without waiting between them. Returns the replies in order of
/// arrival, as many as arrive before the timeout or the server's close.
pub fn pipeline(server: SocketAddr, queries: &[Vec<u8>], timeout: Duration) -> Result<Vec<Vec<u8>>> {
    let deadline = Instant::now() + timeout;
    let mut stream =
        TcpStream::connect_timeout(&server, timeout).context(format!("connecting to {server}"))?;
    let mut bytes = Vec::new();
    for query in queries {
        bytes.extend(framed(query));
    }
    // A server may stop reading while we do not read its replies: sending must not wait for it here.
    let mut sender = stream.try_clone()?;
    let sending = std::thread::spawn(move || sender.write_all(&bytes));
    let mut replies = Vec::new();
    while replies.len() < queries.len() {
        match receive_framed(&mut stream, deadline) {
            Outcome::Reply(reply) => replies.push(reply),
            Outcome::NoAnswer(_) => break,
        }
    }
    // Wakes the sender if it blocks; queries it could not send have no reply anyway.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    let _ = sending.join();
    Ok(replies)
}

/// Sends a query to two servers at the same time **from the same port**: some answers contain the
/// client's address (whoami) or depend on it. `from` is the source address, if it matters.
pub fn query_both(
    servers: [SocketAddr; 2],
    from: Option<IpAddr>,
    transport: Transport,
    query: &[u8],
    timeout: Duration,
) -> Result<[Outcome; 2]> {
    let local = from.map_or_else(|| any_port(servers[0]), |ip| SocketAddr::new(ip, 0));
    match transport {
        Transport::Udp => udp_both(servers, local, query, timeout),
        Transport::Tcp => tcp_both(servers, local, query, timeout),
    }
}

fn udp_both(
    servers: [SocketAddr; 2],
    local: SocketAddr,
    query: &[u8],
    timeout: Duration,
) -> Result<[Outcome; 2]> {
    let socket = UdpSocket::bind(local)?;
    let deadline = Instant::now() + timeout;
    for server in servers {
        socket.send_to(query, server).context(format!("sending to {server}"))?;
    }
    let mut outcomes = [const { Outcome::NoAnswer(Failure::TimedOut) }; 2];
    let mut buffer = vec![0; 65535];
    while outcomes.iter().any(|o| o.reply().is_none()) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv_from(&mut buffer) {
            Ok((n, from)) => {
                // The first packet counts; a second one of the same server is ignored.
                if let Some(i) = servers.iter().position(|s| *s == from)
                    && outcomes[i].reply().is_none()
                {
                    outcomes[i] = Outcome::Reply(buffer[..n].to_vec());
                }
            }
            Err(e) if failure(&e) == Failure::TimedOut => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(outcomes)
}

/// Minimum time to read a reply that should have arrived already.
const MIN_READ_TIME: Duration = Duration::from_millis(100);

fn tcp_both(
    servers: [SocketAddr; 2],
    local: SocketAddr,
    query: &[u8],
    timeout: Duration,
) -> Result<[Outcome; 2]> {
    let deadline = Instant::now() + timeout;
    let mut streams = connect_both(servers, local, timeout)?;
    // Both get the query before either is read from, so that they work concurrently.
    for stream in &mut streams {
        if let Ok(open) = stream
            && let Err(e) = send_framed(open, query)
        {
            *stream = Err(failure(&e));
        }
    }
    Ok(streams.map(|stream| match stream {
        // A silent first server must not time out the second, whose reply has arrived meanwhile.
        Ok(mut stream) => receive_framed(&mut stream, deadline.max(Instant::now() + MIN_READ_TIME)),
        Err(failure) => Outcome::NoAnswer(failure),
    }))
}

type Connection = std::result::Result<TcpStream, Failure>;

/// Two connections from one local port. A port may be unusable towards one of the two servers while an
/// earlier connection lingers, so several ports are tried.
fn connect_both(servers: [SocketAddr; 2], from: SocketAddr, timeout: Duration) -> Result<[Connection; 2]> {
    let mut tries = 10;
    'port: loop {
        let mut local = from;
        let mut streams = [const { Err(Failure::Refused) }; 2];
        for (stream, server) in streams.iter_mut().zip(servers) {
            let socket = Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_reuse_address(true)?;
            let connected = socket
                .bind(&local.into())
                .and_then(|()| socket.local_addr())
                .map(|addr| local = addr.as_socket().unwrap_or(local))
                .and_then(|()| socket.connect_timeout(&server.into(), timeout));
            *stream = match connected {
                Ok(()) => Ok(socket.into()),
                Err(e)
                    if matches!(e.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable)
                        && tries > 0 =>
                {
                    tries -= 1;
                    continue 'port;
                }
                Err(e) if e.kind() == ErrorKind::AddrInUse => return Err(e.into()),
                Err(e) => Err(failure(&e)),
            };
        }
        return Ok(streams);
    }
}

fn any_port(towards: SocketAddr) -> SocketAddr {
    match towards {
        SocketAddr::V4(v4) if v4.ip().is_loopback() => (Ipv4Addr::LOCALHOST, 0).into(),
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// The message behind its two-octet length. One longer than the length can say is cut.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    let mut bytes = Vec::with_capacity(message.len() + 2);
    bytes.extend(length.to_be_bytes());
    bytes.extend(&message[..usize::from(length)]);
    bytes
}

fn send_framed(stream: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&framed(message))
}

fn receive_framed(stream: &mut TcpStream, deadline: Instant) -> Outcome {
    let mut exactly = |buffer: &mut [u8]| -> std::io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut buffer[filled..])? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => filled += n,
            }
        }
        Ok(())
    };
    let mut length = [0; 2];
    let read = exactly(&mut length).and_then(|()| {
        let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
        exactly(&mut message).map(|()| message)
    });
    match read {
        Ok(message) => Outcome::Reply(message),
        Err(e) => Outcome::NoAnswer(failure(&e)),
    }
}

fn failure(e: &std::io::Error) -> Failure {
    match e.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::TimedOut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    const SHORT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(10);

    /// Answers `count` packets with the port they came from, after ignoring `ignored` of them.
    fn udp_server(ignored: usize, count: usize) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = socket.local_addr().unwrap();
        thread::spawn(move || {
            for i in 0..ignored + count {
                let (_, from) = socket.recv_from(&mut [0; 512]).unwrap();
                if i >= ignored {
                    socket.send_to(&from.port().to_be_bytes(), from).unwrap();
                }
            }
        });
        addr
    }

    /// Takes one connection, reads `reads` messages and answers each with the client's port.
    fn tcp_server(reads: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, from) = listener.accept().unwrap();
            for _ in 0..reads {
                receive_framed(&mut stream, Instant::now() + LONG).reply().unwrap();
                send_framed(&mut stream, &from.port().to_be_bytes()).unwrap();
            }
        });
        addr
    }

    #[test]
    fn udp_retries_and_failures() {
        assert!(udp(udp_server(1, 1), b"q", SHORT, 1).unwrap().reply().is_some());
        assert_eq!(udp(udp_server(1, 0), b"q", SHORT, 0).unwrap(), Outcome::NoAnswer(Failure::TimedOut));
        let nobody = crate::ports::free_addr().unwrap();
        assert_eq!(udp(nobody, b"q", LONG, 0).unwrap(), Outcome::NoAnswer(Failure::Refused));
        assert_eq!(tcp(nobody, b"q", LONG).unwrap(), Outcome::NoAnswer(Failure::Refused));
    }

    #[test]
    fn tcp_reply_close_and_pipeline() {
        assert!(tcp(tcp_server(1), b"q", LONG).unwrap().reply().is_some());
        assert_eq!(tcp(tcp_server(0), b"q", LONG).unwrap(), Outcome::NoAnswer(Failure::Closed));
        let queries = vec![b"q".to_vec(); 5];
        assert_eq!(pipeline(tcp_server(5), &queries, LONG).unwrap().len(), 5);
        assert_eq!(pipeline(tcp_server(3), &queries, LONG).unwrap().len(), 3);
    }

    #[test]
    fn both_see_the_same_port() {
        let [a, b] =
            query_both([udp_server(0, 1), udp_server(0, 1)], None, Transport::Udp, b"q", LONG).unwrap();
        assert!(a.reply().is_some() && a == b);
        let [a, b] = query_both([tcp_server(1), tcp_server(1)], None, Transport::Tcp, b"q", LONG).unwrap();
        assert!(a.reply().is_some() && a == b);
        let [a, b] =
            query_both([udp_server(0, 1), udp_server(1, 0)], None, Transport::Udp, b"q", SHORT).unwrap();
        assert!(a.reply().is_some());
        assert_eq!(b, Outcome::NoAnswer(Failure::TimedOut));
    }
}
