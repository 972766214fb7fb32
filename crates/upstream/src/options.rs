//! The options of an upstream.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use wire::NameBuf;

use crate::dial::Endpoint;

/// The network of a query and of its [`crate::Answer`]; TLS and HTTPS are TCP.
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
    /// Plain DNS over the network that the caller chooses.
    Dns,
    Tls,
    Https,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DohMethod {
    Post,
    Get,
}

/// Health checks of an upstream that failed.
#[derive(Clone, Debug)]
pub struct Health {
    /// The time between two probes.
    pub interval: Duration,
    pub recursion_desired: bool,
    /// The probe queries its NS records; any answer counts.
    pub domain: NameBuf,
    /// Probe over TCP, for upstreams that are only queried over TCP.
    pub tcp: bool,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub scheme: Scheme,
    pub addr: SocketAddr,
    /// The plugin that owns the upstream: the label `proxy_name` of the metrics.
    pub proxy_name: &'static str,
    /// The name in the certificate; without one the certificate must contain the address.
    pub server_name: Option<String>,
    /// An idle socket is closed after this time.
    pub expire: Duration,
    /// A socket of this age is not used again.
    pub max_age: Option<Duration>,
    /// Maximum number of idle sockets per network; 0 is the built-in maximum.
    pub max_idle: usize,
    pub read_timeout: Duration,
    /// The source address of queries.
    pub source: Option<IpAddr>,
    /// For TLS and HTTPS; without one the system's roots are trusted.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    pub doh_method: DohMethod,
    pub health: Health,
    /// Send the name in random case and require the same in the reply (0x20), which makes forging harder.
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

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint { addr: self.addr, source: self.source }
    }
}
