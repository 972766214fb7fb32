//! The label of an endpoint: its host name, else (with `endpoint_pod_names`) its pod's name, else its address with
//! dashes.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use cluster::object::Endpoint;

/// The name of an endpoint; equal values have equal labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EndpointName<'s> {
    Text(&'s str),
    Address(IpAddr),
    /// An address that the API object has in a non-canonical form.
    NonCanonical(&'s str),
}

impl<'s> EndpointName<'s> {
    pub fn of(endpoint: Endpoint<'s>, pod_names: bool) -> Self {
        let pod = || endpoint.pod().filter(|_| pod_names);
        match (endpoint.hostname().or_else(pod), endpoint.spelling()) {
            (Some(text), _) => dashed_address(text.as_bytes()).map_or(Self::Text(text), Self::Address),
            (None, Some(spelling)) => Self::NonCanonical(spelling),
            (None, None) => Self::Address(endpoint.address),
        }
    }

    /// None if it is too long for a label.
    pub fn label(self) -> Option<Label> {
        let mut label = Label { len: 0, bytes: [0; MAX_LEN] };
        match self {
            Self::Text(text) => label.push(text.as_bytes())?,
            Self::NonCanonical(text) => {
                label.push(text.as_bytes())?;
                label.dash();
            }
            Self::Address(address) => label = Label::dashed(address),
        }
        Some(label)
    }
}

/// The endpoint label of a query, prepared for comparison with many endpoints.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndpointLabel<'q> {
    label: &'q [u8],
    /// The address that the label encodes.
    address: Option<IpAddr>,
}

impl<'q> EndpointLabel<'q> {
    pub fn new(label: &'q [u8]) -> Self {
        Self { label, address: dashed_address(label) }
    }

    pub fn matches(&self, name: EndpointName<'_>) -> bool {
        match name {
            // A label with a dot inside never equals a name of several labels.
            EndpointName::Text(text) => {
                text.as_bytes().eq_ignore_ascii_case(self.label) && !self.label.contains(&b'.')
            }
            EndpointName::Address(address) => self.address == Some(address),
            EndpointName::NonCanonical(_) => {
                name.label().is_some_and(|label| label.as_bytes().eq_ignore_ascii_case(self.label))
            }
        }
    }
}

/// The maximum length of a label.
const MAX_LEN: usize = 63;

/// A label, stored inline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    len: u8,
    bytes: [u8; MAX_LEN],
}

impl Label {
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// `10-0-0-1`, `fd00--1`; a label must not end with a dash, so `fd00::` is `fd00--0`.
    fn dashed(address: IpAddr) -> Self {
        if let IpAddr::V4(address) = address {
            return Self::dashed_v4(address);
        }
        let mut bytes = [0; MAX_LEN];
        let mut rest = &mut bytes[..];
        // Every address fits into a label.
        let _ = write!(rest, "{address}");
        let len = MAX_LEN - rest.len();
        let mut label = Self { len: len as u8, bytes };
        label.dash();
        label
    }

    /// Without the formatter, which is slow: a reply may have hundreds of these.
    fn dashed_v4(address: Ipv4Addr) -> Self {
        let mut label = Self { len: 0, bytes: [0; MAX_LEN] };
        let mut put = |byte| {
            label.bytes[usize::from(label.len)] = byte;
            label.len += 1;
        };
        for (place, octet) in address.octets().into_iter().enumerate() {
            if place > 0 {
                put(b'-');
            }
            if octet >= 100 {
                put(b'0' + octet / 100);
            }
            if octet >= 10 {
                put(b'0' + octet / 10 % 10);
            }
            put(b'0' + octet % 10);
        }
        label
    }

    fn push(&mut self, text: &[u8]) -> Option<()> {
        self.bytes.get_mut(..text.len())?.copy_from_slice(text);
        self.len = text.len() as u8;
        Some(())
    }

    /// Replaces dots or colons by dashes.
    fn dash(&mut self) {
        let len = usize::from(self.len);
        let text = &mut self.bytes[..len];
        let separator = if text.contains(&b'.') { b'.' } else { b':' };
        text.iter_mut().filter(|byte| **byte == separator).for_each(|byte| *byte = b'-');
        if separator == b':' && text.ends_with(b"-") && len < MAX_LEN {
            self.bytes[len] = b'0';
            self.len += 1;
        }
    }
}

/// The address that a label encodes, in exactly the form of [`Label::dashed`].
fn dashed_address(label: &[u8]) -> Option<IpAddr> {
    // Cheap test first: most labels are not addresses.
    if !label.first().is_some_and(|byte| byte.is_ascii_hexdigit() || *byte == b'-') {
        return None;
    }
    let address = undashed(label)?;
    (Label::dashed(address).as_bytes() == label).then_some(address)
}

/// Parses an address with dashes for dots or colons: exactly three dashes, none doubled, is IPv4.
pub(super) fn undashed(label: &[u8]) -> Option<IpAddr> {
    let dashes = label.iter().filter(|byte| **byte == b'-').count();
    let doubled = label.windows(2).any(|pair| pair == b"--");
    let separator = if dashes == 3 && !doubled { b'.' } else { b':' };
    let mut text = [0; MAX_LEN];
    let text = text.get_mut(..label.len())?;
    for (to, from) in text.iter_mut().zip(label) {
        *to = match from {
            b'-' => separator,
            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => *from,
            _ => return None,
        };
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use cluster::object::Details;

    use super::*;

    fn details(hostname: Option<&str>, pod: Option<&str>, spelling: Option<&str>) -> Details {
        let text = |text: Option<&str>| text.map(Into::into);
        Details { spelling: text(spelling), hostname: text(hostname), pod: text(pod), zone: None }
    }

    #[test]
    fn labels_of_endpoints() {
        for (hostname, pod, address, spelling, plain, by_pod) in [
            (Some("web-0"), Some("p"), "10.0.0.1", None, "web-0", "web-0"),
            (None, Some("p"), "10.0.0.1", None, "10-0-0-1", "p"),
            (None, None, "10.0.0.1", None, "10-0-0-1", "10-0-0-1"),
            (None, None, "fd00::1", None, "fd00--1", "fd00--1"),
            (None, None, "fd00::", None, "fd00--0", "fd00--0"),
            (None, None, "fd00::1", Some("FD00:0::1"), "FD00-0--1", "FD00-0--1"),
            (None, None, "fd00::", Some("fd00:0::"), "fd00-0--0", "fd00-0--0"),
            (Some("10-0-0-9"), None, "10.0.0.1", None, "10-0-0-9", "10-0-0-9"),
        ] {
            let details = details(hostname, pod, spelling);
            let endpoint = Endpoint::new(address.parse().unwrap(), Some(&details));
            for (pod_names, expected) in [(false, plain), (true, by_pod)] {
                let name = EndpointName::of(endpoint, pod_names);
                let label = name.label().unwrap();
                assert_eq!(std::str::from_utf8(label.as_bytes()), Ok(expected), "{endpoint:?}");
                assert!(
                    EndpointLabel::new(expected.to_ascii_lowercase().as_bytes()).matches(name),
                    "{endpoint:?}"
                );
                assert!(
                    !EndpointLabel::new(b"other").matches(name)
                        && !EndpointLabel::new(b"10-0-0-8").matches(name)
                );
            }
        }
        assert!(EndpointName::Text(&"x".repeat(64)).label().is_none());
    }

    #[test]
    fn every_octet() {
        for octet in 0..=255 {
            let address = Ipv4Addr::new(octet, 255 - octet, 10, octet);
            let label = Label::dashed(address.into());
            assert_eq!(label.as_bytes(), address.to_string().replace('.', "-").as_bytes());
        }
    }

    /// Only the canonical form is a name.
    #[test]
    fn addresses_of_labels() {
        for (label, address) in [
            ("10-0-0-1", Some("10.0.0.1")),
            ("fd00--1", Some("fd00::1")),
            ("fd00--0", Some("fd00::")),
            ("fd00-0-0-0-0-0-0-1", None),
            ("10-0-0", None),
            ("10-0-0-01", None),
            ("web", None),
            ("", None),
            ("10.0.0.1", None),
        ] {
            assert_eq!(
                dashed_address(label.as_bytes()),
                address.map(|text| text.parse().unwrap()),
                "{label}"
            );
        }
        assert_eq!(undashed(b"fd00-0-0-0-0-0-0-1"), Some("fd00::1".parse().unwrap()));
    }
}
