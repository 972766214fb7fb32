//! One query over one connected UDP socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::{Cause, Error, Op};
use crate::policy::{self, AcceptedAnswer, Question};
use crate::{Answer, Network};

/// A socket is replaced after this many queries, so that guessing its port is not worthwhile.
pub(crate) const MAX_USES: u32 = 100;

/// Opens a socket: connected, so that the kernel drops packets from elsewhere and reports ICMP errors; bound to port 0,
/// so that the kernel chooses a random source port.
pub(crate) fn open(to: SocketAddr, source: Option<IpAddr>) -> Result<std::net::UdpSocket, Error> {
    let any = match to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let failed = |call| move |error: io::Error| dial_error(to, source, call, &error);
    let socket = std::net::UdpSocket::bind((source.unwrap_or(any), 0)).map_err(failed("bind"))?;
    // By default Linux reports closed ports only, and a query to an unreachable network would run into its timeout.
    // Where the option is not available, it does.
    let _ = net::report_icmp_errors(&socket, to);
    socket.connect(to).map_err(failed("connect"))?;
    socket.set_nonblocking(true).map_err(failed("socket"))?;
    Ok(socket)
}

/// The same for tokio.
pub(crate) fn open_async(to: SocketAddr, source: Option<IpAddr>) -> Result<UdpSocket, Error> {
    UdpSocket::from_std(open(to, source)?).map_err(|error| dial_error(to, source, "socket", &error))
}

pub(crate) fn dial_error(
    to: SocketAddr,
    source: Option<IpAddr>,
    call: &'static str,
    error: &io::Error,
) -> Error {
    Error::Net {
        op: Op::Dial,
        network: Network::Udp,
        from: source.map(|source| SocketAddr::new(source, 0)),
        to,
        cause: Cause::system(call, error),
    }
}

/// Sends the question and waits for a matching reply. Packets with another id are skipped: they are late or forged.
pub(crate) async fn exchange(
    socket: &UdpSocket,
    to: SocketAddr,
    question: &Question<'_>,
    size: u16,
    write_timeout: Duration,
    read_timeout: Duration,
) -> Result<AcceptedAnswer, Error> {
    let local = socket.local_addr().ok();
    let failed = |op, cause| Error::Net { op, network: Network::Udp, from: local, to, cause };
    match timeout(write_timeout, socket.send(question.packet())).await {
        Err(_) => return Err(failed(Op::Write, Cause::Timeout)),
        Ok(Err(error)) => return Err(failed(Op::Write, Cause::system("write", &error))),
        Ok(Ok(_)) => {}
    }
    let deadline = Instant::now() + read_timeout;
    let size = policy::datagram_limit(size);
    // One octet more than the limit, to recognize a packet that was truncated on receipt.
    let mut message = Vec::with_capacity(size + 1);
    loop {
        message.clear();
        match timeout_at(deadline, socket.recv_buf(&mut message)).await {
            Err(_) => return Err(failed(Op::Read, Cause::Timeout)),
            Ok(Err(error)) => return Err(failed(Op::Read, Cause::system("read", &error))),
            Ok(Ok(_)) => {}
        }
        let answer = Answer { message: std::mem::take(&mut message), network: Network::Udp, local };
        if let Some(reply) = policy::check(question, answer, size) {
            return reply;
        }
    }
}
