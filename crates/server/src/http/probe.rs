//! Asking our own HTTP endpoints, as `health` does to see how long it takes.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Sends a GET and reads the whole answer; blocks. `:8080` is asked on localhost.
pub fn probe(addr: &str, path: &str, patience: Duration) -> io::Result<Duration> {
    let start = Instant::now();
    let target = if addr.starts_with(':') { format!("localhost{addr}") } else { addr.to_owned() };
    let mut last = io::Error::other("no address found");
    for socket_addr in target.to_socket_addrs()? {
        match TcpStream::connect_timeout(&socket_addr, patience) {
            Ok(stream) => return ask(stream, &target, path, patience).map(|()| start.elapsed()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn ask(mut stream: TcpStream, host: &str, path: &str, patience: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(1 << 20).read_to_end(&mut answer)?;
    if answer.starts_with(b"HTTP/1.1 ") { Ok(()) } else { Err(io::Error::other("not an HTTP answer")) }
}
