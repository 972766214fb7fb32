//! Listening TCP sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::udp::set_v6only;

/// Connections the kernel queues until they are accepted; it limits this to `net.core.somaxconn`.
const BACKLOG: i32 = 1024;

/// Opens a non-blocking listener. As with UDP, several may share an address, and `[::]` also accepts IPv4.
pub fn listen_tcp(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    // A restarted server must not wait for old connections to leave TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    set_v6only(&socket, addr)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
