//! The transports of queries: a scheme of zone keys, and how its listeners are bound. Adding one is a file with a
//! `bind` function and a line here.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use corefile::Scheme;

use super::dns;
use super::endpoint::Endpoint;
use super::udp::Workers;
use crate::{Address, Service};

/// Every transport that is served.
static TRANSPORTS: &[TransportSpec] = &[TransportSpec { scheme: Scheme::Dns, bind: dns::bind }];

/// One transport.
pub(crate) struct TransportSpec {
    scheme: Scheme,
    /// Binds all sockets of an address; nothing is served yet.
    pub bind: fn(&Address, &BindOptions<'_>) -> io::Result<Bound>,
}

/// What the number and the settings of sockets may depend on.
pub(crate) struct BindOptions<'a> {
    /// The number of UDP workers.
    pub workers: usize,
    pub service: &'a Service,
}

/// Bound sockets, and the address they are bound to: it differs from the configured one for port 0 and without IPv6.
pub(crate) struct Bound {
    pub addr: SocketAddr,
    pub acceptor: Box<dyn Acceptor>,
}

/// The bound sockets of an endpoint.
pub(crate) trait Acceptor {
    /// Starts to serve. Connections are accepted until the endpoint closes.
    fn serve(self: Box<Self>, endpoint: &Arc<Endpoint>, workers: &Workers);
}

/// The transport of a scheme, if it is served.
pub(crate) fn find(scheme: Scheme) -> Option<&'static TransportSpec> {
    TRANSPORTS.iter().find(|transport| transport.scheme == scheme)
}
