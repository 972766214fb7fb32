//! Clients behind a proxy: the PROXY protocol says who they are, in front of a connection or of each datagram.
//!
//! ```text
//! UDP: packet ─┬─ policy of the sender ─→ header? ─→ who asks, and the query behind the header
//!              └─ sessions: a header alone counts for the packets that follow from the same sender
//! TCP: the header comes once, in front of the first query
//! ```

pub mod header;
pub(crate) mod sessions;
mod warn;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use header::{Found, Header, Malformed};
use sessions::{Session, Sessions};
pub(crate) use warn::warn;

/// What to do with the headers of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyPolicy {
    /// The client is who the header says.
    Use,
    /// The header is taken off; the client is who sent it.
    Ignore,
    /// Whoever sends a header is not served.
    Reject,
    /// There are no headers; what looks like one is part of the query.
    Skip,
}

/// How an address serves clients behind proxies.
#[derive(Clone)]
pub struct Proxied {
    pub policy: Arc<dyn Fn(IpAddr) -> ProxyPolicy + Send + Sync>,
    pub sessions: Option<SessionLimits>,
    /// Whether to keep what proxies say beside addresses.
    pub tlvs: bool,
}

/// How long a header counts for packets that have none, and for how many senders at once on one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    pub time: Duration,
    pub count: usize,
}

/// A packet without its header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unwrapped<'p> {
    /// None: whoever sent the packet.
    pub client: Option<SocketAddr>,
    pub tlvs: &'p [u8],
    pub payload: &'p [u8],
}

impl fmt::Debug for Proxied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxied")
            .field("sessions", &self.sessions)
            .field("tlvs", &self.tlvs)
            .finish_non_exhaustive()
    }
}

impl Proxied {
    /// What counts where an earlier block on the same address has said something too.
    pub(crate) fn after(mut self, before: Option<Proxied>) -> Proxied {
        if let Some(before) = before {
            self.sessions = self.sessions.or(before.sessions);
            self.tlvs |= before.tlvs;
        }
        self
    }

    /// Takes the header off a datagram. None: there is nothing to be answered.
    pub(crate) fn unwrap<'p>(
        &self,
        packet: &'p [u8],
        sender: SocketAddr,
        now: Instant,
        sessions: &'p mut Sessions,
    ) -> Result<Option<Unwrapped<'p>>, Malformed> {
        let plain = |client, tlvs| Ok(Some(Unwrapped { client, tlvs, payload: packet }));
        let policy = (self.policy)(sender.ip());
        if policy == ProxyPolicy::Skip {
            return plain(None, &[]);
        }
        let header = match header::parse(packet)? {
            Found::Header(header) => header,
            Found::Partial => return Err(Malformed::Short),
            Found::Nothing | Found::Unsigned => {
                let limits = self.sessions.filter(|_| policy == ProxyPolicy::Use);
                let known = limits.and_then(|limits| sessions.find(sender, now, limits));
                return known
                    .map_or_else(|| plain(None, &[]), |session| plain(Some(session.client), &session.tlvs));
            }
        };
        if header.version != 2 {
            return Err(Malformed::Version1);
        }
        if !header.datagram || header.source.is_none() {
            return Err(Malformed::NotUdp);
        }
        let payload = packet.get(header.len..).unwrap_or_default();
        match policy {
            ProxyPolicy::Reject => Err(Malformed::Rejected),
            ProxyPolicy::Use => {
                let tlvs = self.tlvs_of(&header);
                let client = header.client();
                if let (Some(client), Some(limits)) = (client, self.sessions) {
                    sessions.remember(sender, Session { client, tlvs: tlvs.into() }, now, limits);
                }
                if self.sessions.is_some() && payload.is_empty() {
                    return Ok(None);
                }
                Ok(Some(Unwrapped { client, tlvs, payload }))
            }
            ProxyPolicy::Ignore | ProxyPolicy::Skip => {
                Ok(Some(Unwrapped { client: None, tlvs: &[], payload }))
            }
        }
    }

    /// What the header says beside addresses, if that is wanted and can be read.
    pub(crate) fn tlvs_of<'h>(&self, header: &Header<'h>) -> &'h [u8] {
        if self.tlvs && header.client().is_some() && header::tlvs_are_whole(header.tlvs) {
            header.tlvs
        } else {
            &[]
        }
    }
}

#[cfg(test)]
mod tests;
