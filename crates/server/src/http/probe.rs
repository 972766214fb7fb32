//! Probes of the server's own HTTP endpoints: `health` measures how long they take.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Sends a GET, reads the whole answer and returns the time it took; blocks. `:8080` is probed on loopback.
pub fn probe(addr: &str, path: &str, timeout: Duration) -> io::Result<Duration> {
    let start = Instant::now();
    let host = if addr.starts_with(':') { format!("localhost{addr}") } else { addr.to_owned() };
    let mut last = io::Error::other("no address found");
    for target in targets(addr)? {
        match TcpStream::connect_timeout(&target, timeout) {
            Ok(stream) => return get(stream, &host, path, timeout).map(|()| start.elapsed()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The name localhost is not resolved: in a container without /etc/hosts that query would go to a DNS server, which may
/// be this one.
fn targets(addr: &str) -> io::Result<Vec<SocketAddr>> {
    match addr.strip_prefix(':').and_then(|port| port.parse().ok()) {
        Some(port) => Ok(vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]),
        None => Ok(addr.to_socket_addrs()?.collect()),
    }
}

fn get(mut stream: TcpStream, host: &str, path: &str, timeout: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(1 << 20).read_to_end(&mut answer)?;
    if answer.starts_with(b"HTTP/1.1 ") { Ok(()) } else { Err(io::Error::other("not an HTTP answer")) }
}
