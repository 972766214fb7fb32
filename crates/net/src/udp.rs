//! UDP sockets of workers: non-blocking, with SO_REUSEPORT and configured buffers.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
    set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force,
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::poll::poll_writable;
use crate::{ReplyTo, sys};

/// How long a reply may wait for space in the socket's send buffer before it is dropped.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_millis(50);

/// How to open a [`UdpSocket`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// Bytes of receive buffer; 0 is the kernel's default.
    pub recv_buffer: usize,
    /// Bytes of send buffer; 0 is the kernel's default.
    pub send_buffer: usize,
    /// Receive the address each datagram was sent to, and reply from it. Needed on a wildcard address, wasted on any
    /// other.
    pub pktinfo: bool,
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self { recv_buffer: 4 << 20, send_buffer: 4 << 20, pktinfo: false }
    }
}

/// A bound UDP socket.
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
    local: SocketAddr,
}

impl UdpSocket {
    /// Opens and binds. Any number of sockets may share one address; the kernel distributes clients over them.
    ///
    /// `[::]` also accepts IPv4; any other IPv6 address is for IPv6 only. Buffers are silently limited to the system's
    /// maximum.
    pub fn bind(addr: SocketAddr, options: &UdpOptions) -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(addr), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        socket.set_reuse_port(true)?;
        set_v6only(&socket, addr)?;
        set_buffers(&socket, options)?;
        let fd = socket.as_fd();
        if options.pktinfo {
            // On a dual-stack socket this one covers IPv4 too, with mapped addresses.
            match addr {
                SocketAddr::V4(_) => sys::enable(fd, libc::IPPROTO_IP, libc::IP_PKTINFO)?,
                SocketAddr::V6(_) => sys::enable(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)?,
            }
        }
        ignore_path_mtu(fd, addr);
        socket.bind(&addr.into())?;
        let local = bound_to(&socket)?;
        Ok(UdpSocket { fd: socket.into(), local })
    }

    /// The address it is bound to, with the port the kernel chose for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Sends one reply, from any thread. Waits up to 50 ms if the send buffer is full.
    pub fn send_to(&self, bytes: &[u8], to: &ReplyTo) -> io::Result<()> {
        let mut deadline = None;
        loop {
            match self.try_send_to(bytes, to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !wait_writable(self.as_fd(), &mut deadline) {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }

    /// Sends one reply, from any thread; fails with `WouldBlock` if the send buffer is full.
    pub fn try_send_to(&self, bytes: &[u8], to: &ReplyTo) -> io::Result<()> {
        let control = to.control();
        let reply = sys::Reply { bytes, peer: Some(to.peer()), control: control.as_slice() };
        loop {
            match sys::send_one(self.as_fd(), reply) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether binding the IPv6 wildcard failed because this machine has no IPv6, so that the IPv4 wildcard should be tried.
/// Not for other addresses: it is also true for one that is not local.
pub fn ipv6_unavailable(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::EPFNOSUPPORT | libc::EADDRNOTAVAIL)
    )
}

/// Makes every ICMP error about a packet to this address fail the socket's next call. By default only a closed port does,
/// and only on a connected socket.
pub fn report_icmp_errors(socket: impl AsFd, to: SocketAddr) -> io::Result<()> {
    match to {
        SocketAddr::V4(_) => sys::enable(socket.as_fd(), libc::IPPROTO_IP, libc::IP_RECVERR),
        SocketAddr::V6(_) => sys::enable(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    }
}

/// Waits until the socket is writable; false after the deadline. The first call sets the deadline and later ones share it,
/// so that one batch or reply waits [`SEND_TIMEOUT`] in total.
pub(crate) fn wait_writable(fd: BorrowedFd<'_>, deadline: &mut Option<Instant>) -> bool {
    let now = Instant::now();
    let deadline = *deadline.get_or_insert(now + SEND_TIMEOUT);
    match deadline.checked_duration_since(now) {
        Some(left) if !left.is_zero() => poll_writable(fd, left).is_ok(),
        _ => false,
    }
}

fn bound_to(socket: &Socket) -> io::Result<SocketAddr> {
    socket
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("local address of the socket is not an IP address"))
}

/// `[::]` accepts IPv4 too, whatever the sysctl `bindv6only` is; other IPv6 addresses never do.
pub(crate) fn set_v6only(socket: &Socket, addr: SocketAddr) -> io::Result<()> {
    match addr.ip() {
        IpAddr::V6(ip) => socket.set_only_v6(ip != Ipv6Addr::UNSPECIFIED),
        IpAddr::V4(_) => Ok(()),
    }
}

/// With CAP_NET_ADMIN any size is set; without it the kernel limits it to `net.core.{r,w}mem_max`.
fn set_buffers(socket: &Socket, options: &UdpOptions) -> io::Result<()> {
    let (recv, send) = (options.recv_buffer, options.send_buffer);
    if recv != 0 {
        set_socket_recv_buffer_size_force(socket, recv).or_else(|_| socket.set_recv_buffer_size(recv))?;
    }
    if send != 0 {
        set_socket_send_buffer_size_force(socket, send).or_else(|_| socket.set_send_buffer_size(send))?;
    }
    Ok(())
}

/// Forged ICMP can lower the path MTU and so fragment replies (RFC 8900 3.7); DNS servers ignore it and use the
/// interface's MTU. Errors are ignored: some sandboxed kernels lack the option, and it is not essential.
fn ignore_path_mtu(fd: BorrowedFd<'_>, addr: SocketAddr) {
    let _ = set_ip_mtu_discover(fd, Ipv4PathMtuDiscovery::OMIT);
    if addr.is_ipv6() {
        let _ = set_ipv6_mtu_discover(fd, Ipv6PathMtuDiscovery::OMIT);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn deadline_is_shared() {
        let (mut full, _other) = UnixStream::pair().unwrap();
        full.set_nonblocking(true).unwrap();
        let mut deadline = None;
        assert!(wait_writable(full.as_fd(), &mut deadline), "writable at once");
        while full.write(&[0; 4096]).is_ok() {}
        let (start, mut deadline) = (Instant::now(), None);
        while wait_writable(full.as_fd(), &mut deadline) {}
        assert!(start.elapsed() >= SEND_TIMEOUT);
    }

    #[test]
    fn options_reach_the_kernel() {
        let default = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::default()).unwrap();
        let kernels = UdpOptions { recv_buffer: 0, send_buffer: 0, pktinfo: false };
        let kernels = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &kernels).unwrap();
        let (default, kernels) = (socket2::SockRef::from(&default), socket2::SockRef::from(&kernels));
        // Without CAP_NET_ADMIN the system's maximum may be no more than its default.
        assert!(default.recv_buffer_size().unwrap() >= kernels.recv_buffer_size().unwrap());
        assert!(default.send_buffer_size().unwrap() >= kernels.send_buffer_size().unwrap());
        assert!(default.nonblocking().unwrap() && default.reuse_port().unwrap());
    }
}
