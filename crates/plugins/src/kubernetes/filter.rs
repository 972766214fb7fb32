//! Selects the ports and endpoints of a Service that a query name refers to.

use cluster::object::{Endpoint, EndpointSlice, Port};
use smallvec::SmallVec;

use super::endpoint_name::{EndpointLabel, EndpointName};
use super::request::Part;

/// The conditions a query name sets on ports and endpoints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter<'q> {
    /// Empty matches any port.
    port: &'q [u8],
    protocol: &'q [u8],
    endpoints: Endpoints<'q>,
    /// Source cluster of an endpoint in a cluster set; None matches any.
    cluster: Option<&'q [u8]>,
    pub zone: Option<Zone<'q>>,
}

/// Whether the name is that of a Service or of an endpoint.
#[derive(Clone, Copy, Debug)]
enum Endpoints<'q> {
    OfService,
    /// A wildcard.
    Any,
    Named(EndpointLabel<'q>),
}

/// A topology zone, as labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone<'q> {
    labels: &'q [u8],
    /// Falls back to all endpoints if the zone has none.
    pub prefer: bool,
}

impl<'q> Filter<'q> {
    /// `wildcards`: the labels `*` and `any` match everything.
    pub fn new(part: Part<'q>, wildcards: bool) -> Self {
        let any_if_wildcard = |label: &'q [u8]| if wildcards && is_wildcard(label) { b"" } else { label };
        let named = |label: &'q [u8]| {
            if wildcards && is_wildcard(label) {
                Endpoints::Any
            } else {
                Endpoints::Named(EndpointLabel::new(label))
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
            Part::Port { port, protocol } => {
                (filter.port, filter.protocol) = (any_if_wildcard(port), any_if_wildcard(protocol))
            }
            Part::ClusterEndpoint { endpoint, cluster } => {
                filter.endpoints = named(endpoint);
                filter.cluster = Some(cluster).filter(|cluster| !(wildcards && is_wildcard(cluster)));
            }
            Part::Zone { labels, prefer } => filter.zone = Some(Zone { labels, prefer }),
        }
        filter
    }

    pub fn names_endpoint(&self) -> bool {
        !matches!(self.endpoints, Endpoints::OfService)
    }

    pub fn matches_all_ports(&self) -> bool {
        self.port.is_empty() && self.protocol.is_empty()
    }

    /// Whether the name is the Service's own, without port, endpoint or topology zone.
    pub fn is_service_alone(&self) -> bool {
        self.matches_all_ports() && !self.names_endpoint() && self.zone.is_none()
    }

    pub fn matches_any_port(&self, ports: &[Port]) -> bool {
        self.matches_all_ports() || ports.iter().any(|port| self.matches_port(port))
    }

    fn matches_port(&self, port: &Port) -> bool {
        let matches =
            |label: &[u8], text: &str| label.is_empty() || label.eq_ignore_ascii_case(text.as_bytes());
        matches(self.port, &port.name) && matches(self.protocol, &port.protocol)
    }

    /// The numbers of the matching ports. A Service without ports yields one None, which has no SRV record but counts
    /// for the weight.
    pub fn ports<'p>(&self, ports: &'p [Port]) -> impl Iterator<Item = Option<u16>> + use<'p, '_, 'q> {
        let none = (ports.is_empty() && self.matches_all_ports()).then_some(None);
        none.into_iter().chain(ports.iter().filter(|port| self.matches_port(port)).map(|port| port.number))
    }

    /// Whether an endpoint of the slice can match; `in_set`: the slice belongs to a ServiceImport.
    pub fn matches_slice(&self, slice: &EndpointSlice, in_set: bool) -> bool {
        let cluster_fits = || {
            let of = slice.imported.as_ref().map_or("", |imported| &imported.cluster);
            self.cluster.is_none_or(|cluster| of.as_bytes().eq_ignore_ascii_case(cluster))
        };
        self.matches_any_port(&slice.ports) && (!in_set || !self.names_endpoint() || cluster_fits())
    }

    pub fn matches_endpoint(&self, endpoint: Endpoint<'_>, pod_names: bool, any_zone: bool) -> bool {
        let named = match &self.endpoints {
            Endpoints::OfService | Endpoints::Any => true,
            Endpoints::Named(label) => label.matches(EndpointName::of(endpoint, pod_names)),
        };
        let in_zone = |zone: Zone<'_>| endpoint.zone().is_some_and(|of| zone.matches(of));
        named && (any_zone || self.zone.is_none_or(in_zone))
    }
}

/// The ports that match a filter, computed once for all endpoints of a slice.
pub(super) struct SelectedPorts<'f, 'q, 'p> {
    filter: &'f Filter<'q>,
    ports: &'p [Port],
    numbers: SmallVec<[Option<u16>; 8]>,
}

impl<'f, 'q, 'p> SelectedPorts<'f, 'q, 'p> {
    pub fn new(filter: &'f Filter<'q>) -> Self {
        Self { filter, ports: &[], numbers: filter.ports(&[]).collect() }
    }

    /// As [`Filter::ports`].
    pub fn of(&mut self, ports: &'p [Port]) -> &[Option<u16>] {
        if !std::ptr::eq(self.ports, ports) {
            self.ports = ports;
            self.numbers.clear();
            self.numbers.extend(self.filter.ports(ports));
        }
        &self.numbers
    }
}

impl Zone<'_> {
    /// Whether the labels, joined by dots, equal the text. A label with a dot inside never does.
    fn matches(self, text: &str) -> bool {
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

/// `*` and `any`, as in CoreDNS up to 1.8.
pub(super) fn is_wildcard(label: &[u8]) -> bool {
    matches!(label, b"*" | b"any")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topology_zones() {
        for (labels, text, expected) in [
            (&b"\x01a"[..], "a", true),
            (b"\x01a\x01b", "a.b", true),
            (b"\x03a.b", "a.b", false),
            (b"\x01a", "a.b", false),
            (b"\x01a\x01b", "a", false),
            (b"\x01a", "", false),
        ] {
            assert_eq!(Zone { labels, prefer: false }.matches(text), expected, "{labels:?} {text}");
        }
    }
}
