//! What can be said about an upstream.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use wire::NameBuf;

/// How a query travels, and what [`crate::Answer`] says it travelled by; TLS and HTTPS are TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    Udp,
    Tcp,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Network::Udp => "udp",
            Network::Tcp => "tcp",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain DNS over whatever network the query asks for.
    Dns,
    Tls,
    Https,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DohMethod {
    Post,
    Get,
}

/// How to find out whether an upstream that failed is back.
#[derive(Clone, Debug)]
pub struct Health {
    /// Between two probes.
    pub interval: Duration,
    pub recursion_desired: bool,
    /// Asked for its NS records; the answer does not matter.
    pub domain: NameBuf,
    /// Probe over TCP, for upstreams whose queries all go there.
    pub tcp: bool,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub scheme: Scheme,
    pub addr: SocketAddr,
    /// Who owns the upstream: the label `proxy_name` of the metrics.
    pub proxy_name: &'static str,
    /// The name in the certificate; without one it must be made out to the address.
    pub server_name: Option<String>,
    /// An idle socket is closed after this time.
    pub expire: Duration,
    /// A socket is closed at this age, busy or not.
    pub max_age: Option<Duration>,
    /// Idle sockets kept per network; 0 leaves it to the client's own bound.
    pub max_idle: usize,
    pub read_timeout: Duration,
    /// The address queries come from.
    pub source: Option<IpAddr>,
    /// For TLS and HTTPS; without one the system's roots are trusted.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    pub doh_method: DohMethod,
    pub health: Health,
    /// Spell the question in random case and insist on it in the reply (0x20): more for a forger to guess.
    pub mixed_case: bool,
}

impl Options {
    pub fn new(scheme: Scheme, addr: SocketAddr) -> Options {
        Options {
            scheme,
            addr,
            proxy_name: "forward",
            server_name: None,
            expire: Duration::from_secs(10),
            max_age: None,
            max_idle: 0,
            read_timeout: Duration::from_secs(2),
            source: None,
            tls: None,
            doh_method: DohMethod::Post,
            health: Health {
                interval: Duration::from_millis(500),
                recursion_desired: true,
                domain: NameBuf::root(),
                tcp: false,
            },
            mixed_case: false,
        }
    }
}
