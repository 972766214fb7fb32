//! One query over one connected UDP socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::{Cause, Error, Op};
use crate::question::{Fit, Question};
use crate::upstream::Heard;
use crate::{Answer, Network};

/// A socket is replaced after this many queries, so that its port is not worth finding out.
pub(crate) const MAX_USES: u32 = 100;

/// Connected, so that the kernel drops what comes from elsewhere and reports refusals; bound to port 0, so that
/// it draws the source port at random.
pub(crate) fn open(to: SocketAddr, source: Option<IpAddr>) -> Result<std::net::UdpSocket, Error> {
    let any = match to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let failed = |call| move |error: io::Error| dial_error(to, source, call, &error);
    let socket = std::net::UdpSocket::bind((source.unwrap_or(any), 0)).map_err(failed("bind"))?;
    // On its own Linux reports closed ports only, and a query to a network that cannot be reached would wait for its
    // timeout. Where the option is not to be had, it does.
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

/// Sends the question and waits for what fits it. Packets under another id are skipped: they answer nobody, or
/// come from somebody who guesses.
pub(crate) async fn exchange(
    socket: &UdpSocket,
    to: SocketAddr,
    question: &Question<'_>,
    size: u16,
    write_timeout: Duration,
    read_timeout: Duration,
) -> Result<Heard, Error> {
    let local = socket.local_addr().ok();
    let failed = |op, cause| Error::Net { op, network: Network::Udp, from: local, to, cause };
    match timeout(write_timeout, socket.send(question.packet())).await {
        Err(_) => return Err(failed(Op::Write, Cause::Timeout)),
        Ok(Err(error)) => return Err(failed(Op::Write, Cause::system("write", &error))),
        Ok(Ok(_)) => {}
    }
    let deadline = Instant::now() + read_timeout;
    let size = room(size);
    // One octet more than fits tells a packet that was cut on arrival.
    let mut message = Vec::with_capacity(size + 1);
    loop {
        message.clear();
        match timeout_at(deadline, socket.recv_buf(&mut message)).await {
            Err(_) => return Err(failed(Op::Read, Cause::Timeout)),
            Ok(Err(error)) => return Err(failed(Op::Read, Cause::system("read", &error))),
            Ok(Ok(_)) => {}
        }
        if let Some(heard) = hear(&mut message, local, question, size) {
            return heard;
        }
    }
}

/// The octets of reply the client takes.
pub(crate) fn room(size: u16) -> usize {
    usize::from(size.max(512))
}

/// What a packet says; None if it does not belong to the question at all.
pub(crate) fn hear(
    message: &mut Vec<u8>,
    local: Option<SocketAddr>,
    question: &Question<'_>,
    size: usize,
) -> Option<Result<Heard, Error>> {
    let whole = message.len() <= size;
    let rcode = match question.judge(message, whole) {
        Fit::Stray => return None,
        Fit::WrongQuestion => return Some(Err(Error::WrongQuestion)),
        Fit::Answer(rcode) => rcode,
        Fit::Broken => question.cut(message),
    };
    question.restore(message);
    let answer = Answer { message: std::mem::take(message), network: Network::Udp, local };
    Some(Ok(Heard { answer, rcode }))
}
