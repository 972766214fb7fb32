//! Generates queries with PROXY protocol headers, valid and invalid.

use testkit::random::Random;
use wire::{NameBuf, Query, Rtype};

/// The header of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    None,
    Line,
    WrongLine,
    Binary,
    Local,
    Unix,
    WrongBinary,
    Session,
    Noise,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub udp: bool,
    pub header: Kind,
    /// Datagrams, or the pieces of a stream.
    pub packets: Vec<Vec<u8>>,
}

impl Case {
    pub fn generate(random: &mut Random, number: usize, udp: bool) -> Case {
        let header = *random.weighted(&[
            (2, Kind::None),
            (if udp { 2 } else { 5 }, Kind::Line),
            (if udp { 1 } else { 5 }, Kind::WrongLine),
            (8, Kind::Binary),
            (2, Kind::Local),
            (1, Kind::Unix),
            (5, Kind::WrongBinary),
            (if udp { 5 } else { 0 }, Kind::Session),
            (1, Kind::Noise),
        ]);
        let family = if random.chance(0.85) == udp { "udp" } else { "tcp" };
        let datagram = family == "udp";
        let bytes = match header {
            Kind::None => Vec::new(),
            Kind::Line => line(random),
            Kind::WrongLine => wrong_line(random),
            Kind::Binary | Kind::Session => binary(random, 0x21, datagram),
            Kind::Local => local(random, datagram),
            Kind::Unix => framed(0x21, 0x31 + u8::from(udp), &random.bytes(216)),
            Kind::WrongBinary => wrong_binary(random, datagram),
            Kind::Noise => noise(random),
        };
        // The name encodes the kind, for `check` and `normal`. An invalid header may be valid by chance.
        let header = match (header, bytes.get(13)) {
            (Kind::WrongBinary, Some(0x31 | 0x32)) => Kind::Unix,
            _ => header,
        };
        let over = match (udp, header, bytes.get(13)) {
            (_, Kind::Unix, _) => "unix.",
            (false, Kind::Binary | Kind::WrongBinary, Some(0x12 | 0x22)) => "over-tcp.",
            _ => "",
        };
        let query = query(&format!("{over}q{number}.example.org"), number);
        let framed = if udp { query } else { [&(query.len() as u16).to_be_bytes()[..], &query].concat() };
        let packets = match header {
            // The header alone, then queries without it.
            Kind::Session => vec![bytes, framed.clone(), framed],
            Kind::Binary if random.chance(0.05) => vec![bytes],
            _ => vec![[bytes, framed].concat()],
        };
        Case { udp, header, packets }
    }

    /// The answers without the intended difference: CoreDNS takes the transport from the header.
    pub fn normal(&self, answers: &[String]) -> Vec<String> {
        let over_tcp = |answer: &String| answer.replace("_udp.over-tcp.", "_tcp.over-tcp.");
        answers.iter().map(over_tcp).collect()
    }
}

fn query(name: &str, number: usize) -> Vec<u8> {
    let name = NameBuf::parse(name).expect("a name");
    let mut query = Query::ask(name.as_name(), Rtype::A);
    query.id = number as u16;
    query.to_packet()
}

fn ip4(random: &mut Random) -> String {
    let bytes = random.bytes(4);
    format!("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3])
}

fn ip6(random: &mut Random) -> String {
    match random.below(4) {
        0 => "::1".into(),
        1 => format!("::ffff:{}", ip4(random)),
        2 => format!("2001:db8::{:x}", random.u16()),
        _ => format!("fe80::{:x}:{:x}", random.u16(), random.u16()),
    }
}

fn line(random: &mut Random) -> Vec<u8> {
    let (from, to) = (random.u16(), random.u16());
    let line = match random.below(5) {
        0 => "PROXY UNKNOWN\r\n".into(),
        1 => "PROXY UNKNOWN ffff::1 ::1 99999 x\r\n".into(),
        2 => format!("PROXY TCP6 {} {} {from} {to}\r\n", ip6(random), ip6(random)),
        _ => format!("PROXY TCP4 {} {} {from} {to}\r\n", ip4(random), ip4(random)),
    };
    line.into_bytes()
}

fn wrong_line(random: &mut Random) -> Vec<u8> {
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(random.between(85, 100)));
    let lines = [
        "PROXY TCP4 192.0.2.7 192.0.2.1 1 2\n",
        "PROXY  TCP4 192.0.2.7 192.0.2.1 1 2\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 1 2 \r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 1\r\n",
        "PROXY TCP4 192.0.2.07 192.0.2.1 1 2\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.256 1 2\r\n",
        "PROXY TCP4 2001:db8::1 ::1 1 2\r\n",
        "PROXY TCP6 192.0.2.7 192.0.2.1 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
        "PROXY TCP6 1:2:3:4:5:6:7:: ::1 1 2\r\n",
        "PROXY TCP6 1:2:3:4:5:6:7:8:: ::1 1 2\r\n",
        "PROXY TCP6 ::1.2.3.4 ::1 1 2\r\n",
        "PROXY TCP6 ::00001 ::1 1 2\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 01 2\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 +1 2\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 65536 2\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 0 0\r\n",
        "PROXY UDP4 192.0.2.7 192.0.2.1 1 2\r\n",
        "PROXY tcp4 192.0.2.7 192.0.2.1 1 2\r\n",
        "PROXYTCP4 192.0.2.7 192.0.2.1 1 2\r\n",
        "PROXY\r\n",
        "PROXY \r\n",
        "PROXY UNKNOWN \r\n",
        "PROXY UNKNOWNX\r\n",
        &long,
    ];
    random.pick(&lines).as_bytes().to_vec()
}

/// A header of version 2 with the right length.
fn framed(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[command, family], &length, body].concat()
}

fn tlvs(random: &mut Random) -> Vec<u8> {
    let mut tlvs = Vec::new();
    for _ in 0..random.below(4) {
        let value = {
            let len = random.below(12);
            random.bytes(len)
        };
        tlvs.push(*random.pick(&[1, 2, 3, 4, 5, 0x20, 0x30, 0xe0, 0xea]));
        tlvs.extend((value.len() as u16).to_be_bytes());
        tlvs.extend(value);
    }
    if random.chance(0.1) {
        // A TLV that exceeds the header.
        tlvs.extend([1, 0, 9, 7]);
    }
    tlvs
}

fn binary(random: &mut Random, command: u8, datagram: bool) -> Vec<u8> {
    let transport = 1 + u8::from(datagram);
    let (family, mut body) = match random.below(4) {
        0 => (0x20, random.bytes(36)),
        1 => {
            let mapped = [&[0; 10][..], &[0xff, 0xff], &random.bytes(4)].concat();
            (0x20, [mapped.clone(), mapped, random.bytes(4)].concat())
        }
        _ => (0x10, random.bytes(12)),
    };
    body.extend(tlvs(random));
    framed(command, family | transport, &body)
}

/// The LOCAL command in all its forms.
fn local(random: &mut Random, datagram: bool) -> Vec<u8> {
    match random.below(4) {
        0 => framed(0x20, 0x00, &[]),
        1 => framed(0x20, 0x00, &tlvs(random)),
        2 => framed(0x20, 0x11 + u8::from(datagram), &random.bytes(5)),
        _ => binary(random, 0x20, datagram),
    }
}

fn wrong_binary(random: &mut Random, datagram: bool) -> Vec<u8> {
    let mut bytes = binary(random, 0x21, datagram);
    match random.below(6) {
        0 => bytes[12] = random.byte(),
        1 => bytes[13] = random.byte(),
        // The length is too large or too small.
        2 => bytes[15] = bytes[15].wrapping_add(random.byte() % 16).wrapping_sub(8),
        3 => bytes[14] = 16,
        4 => bytes.truncate(random.between(1, 27)),
        _ => {
            let at = random.below(12);
            bytes[at] ^= 1 << random.below(8);
        }
    }
    bytes
}

/// Truncated headers, and other bytes.
fn noise(random: &mut Random) -> Vec<u8> {
    random.pick(&["P", "PROX", "PROXZ", "\r", "\r\n\r\n\0\r\nQUIT", "\r\n\r\n\0"]).as_bytes().to_vec()
}
