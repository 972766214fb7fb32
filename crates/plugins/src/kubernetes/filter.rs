//! Which ports and endpoints of a Service a name asks for.

use cluster::object::{Endpoint, EndpointSlice, Port};
use smallvec::SmallVec;

use super::endpoint_name::{EndpointName, Wanted};
use super::request::Part;

/// What to take of a Service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter<'q> {
    /// Empty: any.
    port: &'q [u8],
    protocol: &'q [u8],
    endpoints: Endpoints<'q>,
    /// Of an endpoint in a cluster set; None is any.
    cluster: Option<&'q [u8]>,
    pub zone: Option<Zone<'q>>,
}

/// Whether the name is a Service's or an endpoint's.
#[derive(Clone, Copy, Debug)]
enum Endpoints<'q> {
    OfService,
    /// Any endpoint, by a wildcard.
    Any,
    Named(Wanted<'q>),
}

/// A topology zone, as labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone<'q> {
    labels: &'q [u8],
    /// All endpoints if the zone has none.
    pub prefer: bool,
}

impl<'q> Filter<'q> {
    /// `wildcards`: the labels `*` and `any` stand for everything.
    pub fn new(part: Part<'q>, wildcards: bool) -> Self {
        let open = |label: &'q [u8]| if wildcards && is_wildcard(label) { b"" } else { label };
        let named = |label: &'q [u8]| {
            if wildcards && is_wildcard(label) {
                Endpoints::Any
            } else {
                Endpoints::Named(Wanted::new(label))
            }
        };
        let mut filter = Self {
            port: b"",
            protocol: b"",
            endpoints: Endpoints::OfService,
            cluster: Some(b""),
            zone: None,
        };
        match part {
            Part::All => {}
            Part::Endpoint(endpoint) => filter.endpoints = named(endpoint),
            Part::Port { port, protocol } => (filter.port, filter.protocol) = (open(port), open(protocol)),
            Part::Member { endpoint, cluster } => {
                filter.endpoints = named(endpoint);
                filter.cluster = Some(cluster).filter(|cluster| !(wildcards && is_wildcard(cluster)));
            }
            Part::Zone { labels, prefer } => filter.zone = Some(Zone { labels, prefer }),
        }
        filter
    }

    pub fn asks_endpoint(&self) -> bool {
        !matches!(self.endpoints, Endpoints::OfService)
    }

    pub fn takes_all_ports(&self) -> bool {
        self.port.is_empty() && self.protocol.is_empty()
    }

    /// Nothing but the Service itself is asked for.
    pub fn is_bare(&self) -> bool {
        self.takes_all_ports() && !self.asks_endpoint() && self.zone.is_none()
    }

    pub fn takes_any(&self, ports: &[Port]) -> bool {
        self.takes_all_ports() || ports.iter().any(|port| self.takes(port))
    }

    fn takes(&self, port: &Port) -> bool {
        let fits =
            |wanted: &[u8], text: &str| wanted.is_empty() || wanted.eq_ignore_ascii_case(text.as_bytes());
        fits(self.port, &port.name) && fits(self.protocol, &port.protocol)
    }

    /// The numbers of the ports that are asked for. Where none are declared there is one without a number, which
    /// has no SRV record, but counts.
    pub fn ports<'p>(&self, ports: &'p [Port]) -> impl Iterator<Item = Option<u16>> + use<'p, '_, 'q> {
        let none = (ports.is_empty() && self.takes_all_ports()).then_some(None);
        none.into_iter().chain(ports.iter().filter(|port| self.takes(port)).map(|port| port.number))
    }

    /// Whether an endpoint of the slice may be meant; `in_set` if the slice is a cluster set's.
    pub fn takes_slice(&self, slice: &EndpointSlice, in_set: bool) -> bool {
        let cluster_fits = || {
            let of = slice.imported.as_ref().map_or("", |imported| &imported.cluster);
            self.cluster.is_none_or(|cluster| of.as_bytes().eq_ignore_ascii_case(cluster))
        };
        self.takes_any(&slice.ports) && (!in_set || !self.asks_endpoint() || cluster_fits())
    }

    pub fn takes_endpoint(&self, endpoint: Endpoint<'_>, pod_names: bool, any_zone: bool) -> bool {
        let named = match &self.endpoints {
            Endpoints::OfService | Endpoints::Any => true,
            Endpoints::Named(wanted) => wanted.is(EndpointName::of(endpoint, pod_names)),
        };
        let in_zone = |zone: Zone<'_>| endpoint.zone().is_some_and(|of| zone.is(of));
        named && (any_zone || self.zone.is_none_or(in_zone))
    }
}

/// The ports that a filter takes, found once for all endpoints of a slice.
pub(super) struct Chosen<'f, 'q, 'p> {
    filter: &'f Filter<'q>,
    of: &'p [Port],
    numbers: SmallVec<[Option<u16>; 8]>,
}

impl<'f, 'q, 'p> Chosen<'f, 'q, 'p> {
    pub fn new(filter: &'f Filter<'q>) -> Self {
        Self { filter, of: &[], numbers: filter.ports(&[]).collect() }
    }

    /// As [`Filter::ports`].
    pub fn of(&mut self, ports: &'p [Port]) -> &[Option<u16>] {
        if !std::ptr::eq(self.of, ports) {
            self.of = ports;
            self.numbers.clear();
            self.numbers.extend(self.filter.ports(ports));
        }
        &self.numbers
    }
}

impl Zone<'_> {
    /// Whether the labels, with dots between them, are this text. A dot inside a label is no dot between labels.
    fn is(self, text: &str) -> bool {
        let mut rest = self.labels;
        let mut pieces = text.as_bytes().split(|byte| *byte == b'.');
        while let Some((len, tail)) = rest.split_first() {
            let Some((label, tail)) = tail.split_at_checked(usize::from(*len)) else { return false };
            if pieces.next() != Some(label) {
                return false;
            }
            rest = tail;
        }
        pieces.next().is_none()
    }
}

/// `*` and `any`, as CoreDNS had them until 1.8.
pub(super) fn is_wildcard(label: &[u8]) -> bool {
    matches!(label, b"*" | b"any")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topology_zones() {
        for (labels, text, is) in [
            (&b"\x01a"[..], "a", true),
            (b"\x01a\x01b", "a.b", true),
            (b"\x03a.b", "a.b", false),
            (b"\x01a", "a.b", false),
            (b"\x01a\x01b", "a", false),
            (b"\x01a", "", false),
        ] {
            assert_eq!(Zone { labels, prefer: false }.is(text), is, "{labels:?} {text}");
        }
    }
}
