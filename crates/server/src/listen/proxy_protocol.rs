//! The PROXY protocol: a proxy announces its client in a header before the connection or before each datagram.
//!
//! ```text
//! UDP: packet ─┬─ policy of the sender ─→ header? ─→ the client, and the query after the header
//!              └─ sessions: a header without a query applies to the packets that follow from the same sender
//! TCP: one header, before the first query
//! ```

pub mod header;
pub(crate) mod sessions;
mod warn;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use header::{Header, HeaderError, Parsed};
use sessions::{Session, Sessions};
pub(crate) use warn::warn;

/// The treatment of a sender's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyPolicy {
    /// The client is the one in the header.
    Use,
    /// The header is removed; the client is its sender.
    Ignore,
    /// A sender with a header is not served.
    Reject,
    /// Headers are not parsed; octets that look like one are part of the query.
    Skip,
}

/// The PROXY protocol settings of an address.
#[derive(Clone)]
pub struct ProxyProtocol {
    pub policy: Arc<dyn Fn(IpAddr) -> ProxyPolicy + Send + Sync>,
    pub sessions: Option<SessionLimits>,
    /// Whether to keep TLVs for metadata.
    pub tlvs: bool,
}

/// How long a header applies to packets without one, and the maximum number of sessions per socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    pub time: Duration,
    pub count: usize,
}

/// A packet without its header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnwrappedPacket<'p> {
    /// None if it is the sender of the packet.
    pub client: Option<SocketAddr>,
    pub tlvs: &'p [u8],
    pub payload: &'p [u8],
}

impl fmt::Debug for ProxyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyProtocol")
            .field("sessions", &self.sessions)
            .field("tlvs", &self.tlvs)
            .finish_non_exhaustive()
    }
}

impl ProxyProtocol {
    /// Merges the settings of an earlier block on the same address into these.
    pub(crate) fn after(mut self, before: Option<ProxyProtocol>) -> ProxyProtocol {
        if let Some(before) = before {
            self.sessions = self.sessions.or(before.sessions);
            self.tlvs |= before.tlvs;
        }
        self
    }

    /// Removes the header from a datagram. None if there is no query after it.
    pub(crate) fn unwrap<'p>(
        &self,
        packet: &'p [u8],
        sender: SocketAddr,
        now: Instant,
        sessions: &'p mut Sessions,
    ) -> Result<Option<UnwrappedPacket<'p>>, HeaderError> {
        let plain = |client, tlvs| Ok(Some(UnwrappedPacket { client, tlvs, payload: packet }));
        let policy = (self.policy)(sender.ip());
        if policy == ProxyPolicy::Skip {
            return plain(None, &[]);
        }
        let header = match header::parse(packet)? {
            Parsed::Header(header) => header,
            Parsed::Partial => return Err(HeaderError::Short),
            Parsed::Nothing | Parsed::Unsigned => {
                let limits = self.sessions.filter(|_| policy == ProxyPolicy::Use);
                let known = limits.and_then(|limits| sessions.find(sender, now, limits));
                return known
                    .map_or_else(|| plain(None, &[]), |session| plain(Some(session.client), &session.tlvs));
            }
        };
        if header.version != 2 {
            return Err(HeaderError::Version1);
        }
        if !header.datagram || header.source.is_none() {
            return Err(HeaderError::NotUdp);
        }
        let payload = packet.get(header.len..).unwrap_or_default();
        match policy {
            ProxyPolicy::Reject => Err(HeaderError::Rejected),
            ProxyPolicy::Use => {
                let tlvs = self.tlvs_of(&header);
                let client = header.client();
                if let (Some(client), Some(limits)) = (client, self.sessions) {
                    sessions.insert(sender, Session { client, tlvs: tlvs.into() }, now, limits);
                }
                if self.sessions.is_some() && payload.is_empty() {
                    return Ok(None);
                }
                Ok(Some(UnwrappedPacket { client, tlvs, payload }))
            }
            ProxyPolicy::Ignore | ProxyPolicy::Skip => {
                Ok(Some(UnwrappedPacket { client: None, tlvs: &[], payload }))
            }
        }
    }

    /// The header's TLVs, if they are kept and well-formed.
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
