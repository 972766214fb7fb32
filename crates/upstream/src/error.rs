//! Errors of an exchange, in the words of Go's network library, which operators search for.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::Network;
use crate::tsig::TsigError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The network failed.
    Net { op: Op, network: Network, from: Option<SocketAddr>, to: SocketAddr, cause: Cause },
    /// The upstream closed the connection instead of answering.
    Closed,
    /// The TLS handshake did not end in time.
    Handshake,
    /// This side rejected the TLS handshake.
    Tls(String),
    /// The upstream rejected the TLS handshake with an alert.
    Alert(String),
    /// HTTP failed, or the response is not a DNS message.
    Http { text: String, timeout: bool },
    /// The reply has the id of the query and another question. The caller answers its client FORMERR.
    WrongQuestion,
    /// The reply matches the query but cannot be decoded.
    Malformed,
    /// A message is larger than the session accepts.
    TooLarge { size: u16, limit: u16 },
    /// The signature of a message is not accepted, here or by the peer.
    Tsig(TsigError),
    /// The packet to be sent is not a query with one question.
    InvalidQuery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Dial,
    Read,
    Write,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Timeout,
    /// The system call and its error.
    System(&'static str, String),
}

impl Cause {
    pub(crate) fn system(call: &'static str, error: &io::Error) -> Cause {
        match error.kind() {
            io::ErrorKind::TimedOut if error.raw_os_error().is_none() => Cause::Timeout,
            _ => Cause::System(call, golang::system_error(error)),
        }
    }
}

impl Error {
    /// The network and the local address, if there was a connection.
    pub fn connection(&self) -> Option<(Network, SocketAddr)> {
        match self {
            Error::Net { op: Op::Read | Op::Write, network, from: Some(from), .. } => Some((*network, *from)),
            _ => None,
        }
    }

    /// Whether a timeout caused it.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Error::Net { cause: Cause::Timeout, .. } | Error::Handshake | Error::Http { timeout: true, .. }
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Net { op, network, from, to, cause } => {
                let op = match op {
                    Op::Dial => "dial",
                    Op::Read => "read",
                    Op::Write => "write",
                };
                write!(f, "{op} {network} ")?;
                if let Some(from) = from {
                    write!(f, "{from}->")?;
                }
                write!(f, "{to}: ")?;
                match cause {
                    Cause::Timeout => f.write_str("i/o timeout"),
                    Cause::System(call, text) => write!(f, "{call}: {text}"),
                }
            }
            Error::Closed => f.write_str("EOF"),
            Error::Handshake => f.write_str("context deadline exceeded"),
            Error::Tls(text) => write!(f, "tls: {text}"),
            Error::Alert(text) => write!(f, "remote error: tls: {text}"),
            Error::Http { text, .. } => f.write_str(text),
            Error::WrongQuestion => f.write_str("the reply has another question than the query"),
            Error::Malformed => f.write_str("dns: malformed reply"),
            Error::TooLarge { size, limit } => {
                write!(f, "dns: a message of {size} octets exceeds the limit of {limit}")
            }
            Error::Tsig(error) => error.fmt(f),
            Error::InvalidQuery => f.write_str("proxy: invalid request"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_go() {
        let to: SocketAddr = ([127, 0, 0, 1], 53).into();
        let from = Some(SocketAddr::from(([127, 0, 0, 1], 40000)));
        let refused = io::Error::from_raw_os_error(111);
        let net = |op, network, from, cause| Error::Net { op, network, from, to, cause };
        let cases = [
            (
                net(Op::Read, Network::Udp, from, Cause::Timeout),
                "read udp 127.0.0.1:40000->127.0.0.1:53: i/o timeout",
            ),
            (
                net(Op::Read, Network::Udp, from, Cause::system("read", &refused)),
                "read udp 127.0.0.1:40000->127.0.0.1:53: read: connection refused",
            ),
            (
                net(Op::Dial, Network::Tcp, None, Cause::system("connect", &refused)),
                "dial tcp 127.0.0.1:53: connect: connection refused",
            ),
            (net(Op::Dial, Network::Tcp, None, Cause::Timeout), "dial tcp 127.0.0.1:53: i/o timeout"),
            (Error::Closed, "EOF"),
            (Error::Handshake, "context deadline exceeded"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
