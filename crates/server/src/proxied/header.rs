//! The header of the PROXY protocol, versions 1 and 2, as it stands in front of a query. Bytes in, facts out.
//!
//! ```text
//! 1: PROXY TCP4 192.0.2.7 192.0.2.1 40000 53\r\n
//! 2: signature (12) | version, command (1) | family, transport (1) | length (2) | addresses | TLVs
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const SIGNATURE_1: &[u8] = b"PROXY";
const SIGNATURE_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest line of version 1, with its end.
const LONGEST_LINE: usize = 107;
/// Signature, command, family and length of version 2.
const FIXED: usize = 16;
/// The most that may follow them. Proxies send a few dozen octets; the length field could say 65,535.
const LONGEST: usize = 4096;

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// What stands at the head of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'p> {
    /// No header.
    Nothing,
    /// Too few bytes to tell, all of them as at the head of a header.
    Unsigned,
    /// A header that goes on behind the last byte.
    Partial,
    Header(Header<'p>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'p> {
    pub version: u8,
    /// The proxy speaks for itself, as in health checks.
    pub local: bool,
    /// It is about datagrams.
    pub datagram: bool,
    /// The two ends; none in headers without IP addresses.
    pub source: Option<SocketAddr>,
    pub destination: Option<SocketAddr>,
    pub tlvs: &'p [u8],
    /// Octets of the whole header.
    pub len: usize,
}

impl Header<'_> {
    /// The client the proxy speaks for.
    pub fn client(&self) -> Option<SocketAddr> {
        self.source.filter(|_| !self.local)
    }

    /// The address that client has asked.
    pub fn asked(&self) -> Option<SocketAddr> {
        self.destination.filter(|_| !self.local)
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
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

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::LineTooLong => "proxyproto: version 1 header must be 107 bytes or less",
            Malformed::LineEnd => "proxyproto: version 1 header is invalid, must end with \\r\\n",
            Malformed::Line => "proxyproto: can't read version 1 header",
            Malformed::Family => "proxyproto: can't read address family or protocol",
            Malformed::Address => "proxyproto: invalid address",
            Malformed::Port => "proxyproto: invalid port number",
            Malformed::Command => "proxyproto: unsupported proxy protocol version and command",
            Malformed::Length => "proxyproto: invalid length",
            Malformed::Short => "proxyproto: the packet ends inside the header",
            Malformed::Version1 => "unsupported Proxy Protocol version 1 (only v2 supported for UDP)",
            Malformed::NotUdp => "PROXY Protocol header is not UDP type",
            Malformed::Rejected => "connection rejected by Proxy Protocol connection policy",
        })
    }
}

/// Looks for a header at the head of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Found<'_>, Malformed> {
    match (signature(bytes, SIGNATURE_1), signature(bytes, SIGNATURE_2)) {
        (Signature::Whole, _) => line(bytes),
        (_, Signature::Whole) => binary(bytes),
        (Signature::Begun, _) | (_, Signature::Begun) => Ok(Found::Unsigned),
        (Signature::Other, Signature::Other) => Ok(Found::Nothing),
    }
}

enum Signature {
    Whole,
    Begun,
    Other,
}

fn signature(bytes: &[u8], wanted: &[u8]) -> Signature {
    if bytes.starts_with(wanted) {
        Signature::Whole
    } else if wanted.starts_with(bytes) {
        Signature::Begun
    } else {
        Signature::Other
    }
}

/// Version 1.
fn line(bytes: &[u8]) -> Result<Found<'_>, Malformed> {
    let head = bytes.get(..LONGEST_LINE).unwrap_or(bytes);
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        return if head.len() == LONGEST_LINE { Err(Malformed::LineTooLong) } else { Ok(Found::Partial) };
    };
    let line = bytes[..end].strip_suffix(b"\r").ok_or(Malformed::LineEnd)?;
    let nobody = Header {
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
        return Err(Malformed::Line);
    }
    let is_v4 = match words.next() {
        Some(b"TCP4") => true,
        Some(b"TCP6") => false,
        // Whatever else the line says is to be passed over.
        Some(b"UNKNOWN") => return Ok(Found::Header(nobody)),
        _ => return Err(Malformed::Family),
    };
    let (Some(source), Some(destination), Some(from), Some(to), None) =
        (words.next(), words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Malformed::Family);
    };
    let (source, destination) = (address(source, is_v4)?, address(destination, is_v4)?);
    let (from, to) = (port(from)?, port(to)?);
    Ok(Found::Header(Header {
        local: false,
        source: Some(SocketAddr::new(source, from)),
        destination: Some(SocketAddr::new(destination, to)),
        ..nobody
    }))
}

fn address(word: &[u8], is_v4: bool) -> Result<IpAddr, Malformed> {
    let text = str::from_utf8(word).map_err(|_| Malformed::Address)?;
    let parsed = if is_v4 {
        text.parse().map(|ip: Ipv4Addr| IpAddr::V4(ip))
    } else {
        text.parse().map(|ip: Ipv6Addr| IpAddr::V6(ip).to_canonical())
    };
    parsed.map_err(|_| Malformed::Address)
}

/// Digits, no sign, no zero in front.
fn port(word: &[u8]) -> Result<u16, Malformed> {
    let plain = word.iter().all(u8::is_ascii_digit) && (word.len() == 1 || !word.starts_with(b"0"));
    let text = str::from_utf8(word).ok().filter(|_| plain);
    text.and_then(|text| text.parse().ok()).ok_or(Malformed::Port)
}

/// Version 2.
fn binary(bytes: &[u8]) -> Result<Found<'_>, Malformed> {
    let rest = &bytes[SIGNATURE_2.len()..];
    let local = match rest.first() {
        None => return Ok(Found::Partial),
        Some(&LOCAL) => true,
        Some(&PROXY) => false,
        Some(_) => return Err(Malformed::Command),
    };
    let Some(&family) = rest.get(1) else { return Ok(Found::Partial) };
    let addresses = match family {
        // For a proxy that speaks for somebody, there must be somebody.
        0x00 if local => 0,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        // Two names of local sockets, of which we make nothing.
        0x31 | 0x32 => 216,
        _ => return Err(Malformed::Family),
    };
    let Some(length) = rest.get(2..4) else { return Ok(Found::Partial) };
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let fits = length >= addresses;
    // What a proxy says of itself is passed over, so it may have any form.
    if length > LONGEST || !(fits || local) {
        return Err(Malformed::Length);
    }
    let len = FIXED + length;
    let Some(body) = bytes.get(FIXED..len) else { return Ok(Found::Partial) };
    let (ends, tlvs) = if fits { body.split_at(addresses) } else { (&[][..], &[][..]) };
    let (source, destination) = match ends {
        [s @ .., _, _, _, _] if s.len() == 8 => (v4(&ends[..4], &ends[8..10]), v4(&ends[4..8], &ends[10..])),
        [s @ .., _, _, _, _] if s.len() == 32 => {
            (v6(&ends[..16], &ends[32..34]), v6(&ends[16..32], &ends[34..]))
        }
        _ => (None, None),
    };
    let datagram = family & 0x0f == 2;
    Ok(Found::Header(Header { version: 2, local, datagram, source, destination, tlvs, len }))
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

/// A type and its value, and what follows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'t> {
    pub kind: u8,
    pub value: &'t [u8],
    pub rest: &'t [u8],
}

/// The first TLV; None at the end, and where one is cut.
pub fn next_tlv(tlvs: &[u8]) -> Option<Tlv<'_>> {
    let (&[kind, high, low], rest) = tlvs.split_first_chunk::<3>()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
    Some(Tlv { kind, value, rest })
}

/// Whether the TLVs end where the last one of them does.
pub(crate) fn tlvs_are_whole(mut tlvs: &[u8]) -> bool {
    while let Some(tlv) = next_tlv(tlvs) {
        tlvs = tlv.rest;
    }
    tlvs.is_empty()
}

#[cfg(test)]
mod tests;
