//! Parser of the PROXY protocol header, versions 1 and 2.
//!
//! ```text
//! 1: PROXY TCP4 192.0.2.7 192.0.2.1 40000 53\r\n
//! 2: signature (12) | version, command (1) | family, transport (1) | length (2) | addresses | TLVs
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const SIGNATURE_1: &[u8] = b"PROXY";
const SIGNATURE_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest line of version 1, with its line end.
const MAX_LINE: usize = 107;
/// Signature, command, family and length of version 2.
const FIXED_LEN: usize = 16;
/// The maximum length of the rest. Proxies send a few dozen octets; the length field allows 65,535.
const MAX_BODY: usize = 4096;

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// The result of parsing the start of a packet or connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<'p> {
    /// No header.
    Nothing,
    /// A proper prefix of a signature: more octets are needed to tell.
    Unsigned,
    /// A header that is not complete yet.
    Partial,
    Header(Header<'p>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'p> {
    pub version: u8,
    /// The proxy's own connection, as in health checks: there is no client.
    pub local: bool,
    /// The header announces a UDP client.
    pub datagram: bool,
    /// The client's address; None in headers without IP addresses, as is `destination`.
    pub source: Option<SocketAddr>,
    pub destination: Option<SocketAddr>,
    pub tlvs: &'p [u8],
    /// The length of the whole header, in octets.
    pub len: usize,
}

impl Header<'_> {
    /// The client that the proxy announces.
    pub fn client(&self) -> Option<SocketAddr> {
        self.source.filter(|_| !self.local)
    }

    /// The address to which that client sent its query.
    pub fn client_destination(&self) -> Option<SocketAddr> {
        self.destination.filter(|_| !self.local)
    }
}

/// Why a packet or connection is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    LineTooLong,
    LineEnd,
    Line,
    Family,
    Address,
    Port,
    Command,
    Length,
    Short,
    Version1,
    NotUdp,
    Rejected,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeaderError::LineTooLong => "proxyproto: version 1 header must be 107 bytes or less",
            HeaderError::LineEnd => "proxyproto: version 1 header is invalid, must end with \\r\\n",
            HeaderError::Line => "proxyproto: can't read version 1 header",
            HeaderError::Family => "proxyproto: can't read address family or protocol",
            HeaderError::Address => "proxyproto: invalid address",
            HeaderError::Port => "proxyproto: invalid port number",
            HeaderError::Command => "proxyproto: unsupported proxy protocol version and command",
            HeaderError::Length => "proxyproto: invalid length",
            HeaderError::Short => "proxyproto: the packet ends inside the header",
            HeaderError::Version1 => "unsupported Proxy Protocol version 1 (only v2 supported for UDP)",
            HeaderError::NotUdp => "PROXY Protocol header is not UDP type",
            HeaderError::Rejected => "connection rejected by Proxy Protocol connection policy",
        })
    }
}

/// Parses the header at the start of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Parsed<'_>, HeaderError> {
    match (signature(bytes, SIGNATURE_1), signature(bytes, SIGNATURE_2)) {
        (Signature::Complete, _) => line(bytes),
        (_, Signature::Complete) => binary(bytes),
        (Signature::Prefix, _) | (_, Signature::Prefix) => Ok(Parsed::Unsigned),
        (Signature::Other, Signature::Other) => Ok(Parsed::Nothing),
    }
}

enum Signature {
    Complete,
    Prefix,
    Other,
}

fn signature(bytes: &[u8], wanted: &[u8]) -> Signature {
    if bytes.starts_with(wanted) {
        Signature::Complete
    } else if wanted.starts_with(bytes) {
        Signature::Prefix
    } else {
        Signature::Other
    }
}

/// Version 1.
fn line(bytes: &[u8]) -> Result<Parsed<'_>, HeaderError> {
    let head = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        return if head.len() == MAX_LINE { Err(HeaderError::LineTooLong) } else { Ok(Parsed::Partial) };
    };
    let line = bytes[..end].strip_suffix(b"\r").ok_or(HeaderError::LineEnd)?;
    let without_client = Header {
        version: 1,
        local: true,
        datagram: false,
        source: None,
        destination: None,
        tlvs: &[],
        len: end + 1,
    };
    let mut words = line.split(|byte| *byte == b' ');
    if words.next() != Some(SIGNATURE_1) {
        return Err(HeaderError::Line);
    }
    let is_v4 = match words.next() {
        Some(b"TCP4") => true,
        Some(b"TCP6") => false,
        // The rest of the line is to be ignored.
        Some(b"UNKNOWN") => return Ok(Parsed::Header(without_client)),
        _ => return Err(HeaderError::Family),
    };
    let (Some(source), Some(destination), Some(from), Some(to), None) =
        (words.next(), words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeaderError::Family);
    };
    let (source, destination) = (address(source, is_v4)?, address(destination, is_v4)?);
    let (from, to) = (port(from)?, port(to)?);
    Ok(Parsed::Header(Header {
        local: false,
        source: Some(SocketAddr::new(source, from)),
        destination: Some(SocketAddr::new(destination, to)),
        ..without_client
    }))
}

fn address(word: &[u8], is_v4: bool) -> Result<IpAddr, HeaderError> {
    let text = str::from_utf8(word).map_err(|_| HeaderError::Address)?;
    let parsed = if is_v4 {
        text.parse().map(|ip: Ipv4Addr| IpAddr::V4(ip))
    } else {
        text.parse().map(|ip: Ipv6Addr| IpAddr::V6(ip).to_canonical())
    };
    parsed.map_err(|_| HeaderError::Address)
}

/// Digits without sign or leading zero.
fn port(word: &[u8]) -> Result<u16, HeaderError> {
    let plain = word.iter().all(u8::is_ascii_digit) && (word.len() == 1 || !word.starts_with(b"0"));
    let text = str::from_utf8(word).ok().filter(|_| plain);
    text.and_then(|text| text.parse().ok()).ok_or(HeaderError::Port)
}

/// Version 2.
fn binary(bytes: &[u8]) -> Result<Parsed<'_>, HeaderError> {
    let rest = &bytes[SIGNATURE_2.len()..];
    let local = match rest.first() {
        None => return Ok(Parsed::Partial),
        Some(&LOCAL) => true,
        Some(&PROXY) => false,
        Some(_) => return Err(HeaderError::Command),
    };
    let Some(&family) = rest.get(1) else { return Ok(Parsed::Partial) };
    let addresses = match family {
        // With the command PROXY there must be a client.
        0x00 if local => 0,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        // Two UNIX socket paths, which are ignored.
        0x31 | 0x32 => 216,
        _ => return Err(HeaderError::Family),
    };
    let Some(length) = rest.get(2..4) else { return Ok(Parsed::Partial) };
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let fits = length >= addresses;
    // With the command LOCAL the addresses are ignored, so they may have any form.
    if length > MAX_BODY || !(fits || local) {
        return Err(HeaderError::Length);
    }
    let len = FIXED_LEN + length;
    let Some(body) = bytes.get(FIXED_LEN..len) else { return Ok(Parsed::Partial) };
    let (ends, tlvs) = if fits { body.split_at(addresses) } else { (&[][..], &[][..]) };
    let (source, destination) = match ends {
        [s @ .., _, _, _, _] if s.len() == 8 => (v4(&ends[..4], &ends[8..10]), v4(&ends[4..8], &ends[10..])),
        [s @ .., _, _, _, _] if s.len() == 32 => {
            (v6(&ends[..16], &ends[32..34]), v6(&ends[16..32], &ends[34..]))
        }
        _ => (None, None),
    };
    let datagram = family & 0x0f == 2;
    Ok(Parsed::Header(Header { version: 2, local, datagram, source, destination, tlvs, len }))
}

fn v4(ip: &[u8], port: &[u8]) -> Option<SocketAddr> {
    let ip: [u8; 4] = ip.try_into().ok()?;
    Some(SocketAddr::new(ip.into(), u16::from_be_bytes(port.try_into().ok()?)))
}

/// An IPv4 address in IPv6 form is an IPv4 address.
fn v6(ip: &[u8], port: &[u8]) -> Option<SocketAddr> {
    let ip: [u8; 16] = ip.try_into().ok()?;
    Some(SocketAddr::new(IpAddr::from(ip).to_canonical(), u16::from_be_bytes(port.try_into().ok()?)))
}

/// A type-length-value field, and the octets after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'t> {
    pub kind: u8,
    pub value: &'t [u8],
    pub rest: &'t [u8],
}

/// The first TLV; None at the end, or if it is truncated.
pub fn next_tlv(tlvs: &[u8]) -> Option<Tlv<'_>> {
    let (&[kind, high, low], rest) = tlvs.split_first_chunk::<3>()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
    Some(Tlv { kind, value, rest })
}

/// Whether no TLV is truncated.
pub(crate) fn tlvs_are_whole(mut tlvs: &[u8]) -> bool {
    while let Some(tlv) = next_tlv(tlvs) {
        tlvs = tlv.rest;
    }
    tlvs.is_empty()
}

#[cfg(test)]
mod tests;
