//! OPT records of clients, usual and unusual.

use crate::mnemonic;
use crate::random::Random;

const NSID: u16 = 3;
const ECS: u16 = 8;
const EXPIRE: u16 = 9;
const COOKIE: u16 = 10;
const KEEPALIVE: u16 = 11;
const PADDING: u16 = 12;
const EDE: u16 = 15;

/// An OPT record and its description.
pub(super) fn opt(random: &mut Random) -> (Vec<u8>, String) {
    let size: u16 =
        *random.weighted(&[(5, 1232), (4, 4096), (2, 512), (1, 511), (1, 0), (1, 65535), (1, 1400)]);
    let version: u8 = if random.chance(0.04) { 1 } else { 0 };
    let mut flags: u16 = if random.chance(0.35) { 0x8000 } else { 0 };
    if random.chance(0.03) {
        // Reserved bits: servers must ignore and not echo them.
        flags |= random.between(1, 0x7fff) as u16;
    }
    let count = *random.weighted(&[(6, 0), (3, 1), (1, 2), (1, 3)]);
    let options: Vec<(u16, Vec<u8>)> = (0..count).map(|_| option(random)).collect();

    let words: Vec<String> = options
        .iter()
        .map(|(code, data)| format!("{}({})", mnemonic::of_option(*code), crate::message::hex(data)))
        .collect();
    let description = format!(
        "edns(size {size}{}{}{}{})",
        if version > 0 { format!(" version {version}") } else { String::new() },
        if flags & 0x8000 != 0 { " DO" } else { "" },
        if flags & 0x7fff != 0 { format!(" flags {flags:#x}") } else { String::new() },
        words.iter().map(|w| format!(" {w}")).collect::<String>(),
    );
    let mut data = Vec::new();
    for (code, value) in options {
        data.extend(code.to_be_bytes());
        data.extend((value.len() as u16).to_be_bytes());
        data.extend(value);
    }
    (record(size, version, flags, &data), description)
}

/// The bytes of an OPT record at the root.
pub(super) fn record(size: u16, version: u8, flags: u16, data: &[u8]) -> Vec<u8> {
    let mut wire = vec![0, 0, 41];
    wire.extend(size.to_be_bytes());
    wire.extend([0, version]);
    wire.extend(flags.to_be_bytes());
    wire.extend((data.len() as u16).to_be_bytes());
    wire.extend(data);
    wire
}

fn option(random: &mut Random) -> (u16, Vec<u8>) {
    match random.below(9) {
        0 => (NSID, Vec::new()),
        // A client's cookie is 8 octets; with the server's 16 to 40. Other lengths are FORMERR to those
        // that understand cookies.
        1 => {
            let n = *random.weighted(&[(5, 8), (2, 16), (1, 24), (1, 40), (1, 7)]);
            (COOKIE, random.bytes(n))
        }
        2 => (ECS, vec![0, 1, 24, 0, 10, random.byte(), random.byte()]),
        3 => (ECS, vec![0, 2, 32, 0, 0x20, 0x01, 0x0d, 0xb8]),
        4 => (EXPIRE, Vec::new()),
        5 => {
            let n = random.between(0, 64);
            (PADDING, vec![0; n])
        }
        6 => (KEEPALIVE, if random.chance(0.7) { Vec::new() } else { vec![0, 100] }),
        7 => (EDE, vec![0, 22, b'h', b'i']),
        _ => {
            let n = random.between(0, 20);
            (*random.pick(&[20, 100, 26946, 65001, 65535]), random.bytes(n))
        }
    }
}
