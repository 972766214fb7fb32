//! One dnstap message, encoded directly into its data frame: fields in the order of their numbers, as protobuf
//! libraries write them, with one allocation.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

/// `Message.Type` of dnstap.proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ClientQuery = 5,
    ClientResponse = 6,
    ForwarderQuery = 7,
    ForwarderResponse = 8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Udp = 1,
    Tcp = 2,
}

/// A query or a reply. Fields that are `None` are omitted.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub kind: Kind,
    pub protocol: Protocol,
    /// The client's.
    pub query_address: Option<SocketAddr>,
    /// The server's.
    pub response_address: Option<SocketAddr>,
    pub query_time: SystemTime,
    pub response_time: Option<SystemTime>,
    pub query_message: Option<&'a [u8]>,
    pub response_message: Option<&'a [u8]>,
}

/// `Dnstap.type`: the only defined payload.
const MESSAGE: u64 = 1;

/// The fields at the start of every message of one tap.
pub fn head(identity: &[u8], version: &[u8]) -> Vec<u8> {
    let mut head = Vec::with_capacity(identity.len() + version.len() + 4);
    Field::Bytes(1, identity).write(&mut head);
    Field::Bytes(2, version).write(&mut head);
    head
}

impl Record<'_> {
    /// The data frame: its length, then the payload.
    pub fn encode(&self, head: &[u8], extra: Option<&[u8]>) -> Vec<u8> {
        let extra = extra.map(|extra| Field::Bytes(3, extra));
        let kind = Field::Number(15, MESSAGE);
        let mut inside = 0;
        self.fields(|field| inside += field.len());
        let message = key_len(14) + encoded_len_varint(inside as u64) + inside;
        let payload = head.len() + extra.map_or(0, |extra| extra.len()) + message + kind.len();

        let mut frame = Vec::with_capacity(4 + payload);
        // Fits: a DNS message has at most 65535 octets.
        frame.extend_from_slice(&(payload as u32).to_be_bytes());
        frame.extend_from_slice(head);
        if let Some(extra) = extra {
            extra.write(&mut frame);
        }
        encode_key(14, WireType::LengthDelimited, &mut frame);
        encode_varint(inside as u64, &mut frame);
        self.fields(|field| field.write(&mut frame));
        kind.write(&mut frame);
        frame
    }

    fn fields(&self, mut each: impl FnMut(Field<'_>)) {
        each(Field::Number(1, self.kind as u64));
        let (mut v4, mut v6) = ([[0; 4]; 2], [[0; 16]; 2]);
        let addresses = [self.query_address, self.response_address];
        // Both addresses have the same family; the last one set decides, as in CoreDNS.
        if let Some(last) = addresses.iter().flatten().last() {
            each(Field::Number(2, if last.ip().to_canonical().is_ipv4() { 1 } else { 2 }));
        }
        each(Field::Number(3, self.protocol as u64));
        for (at, address) in addresses.iter().enumerate() {
            let Some(address) = address else { continue };
            let octets: &[u8] = match address.ip().to_canonical() {
                IpAddr::V4(ip) => {
                    v4[at] = ip.octets();
                    &v4[at]
                }
                IpAddr::V6(ip) => {
                    v6[at] = ip.octets();
                    &v6[at]
                }
            };
            each(Field::Bytes(4 + at as u32, octets));
        }
        for (at, address) in addresses.iter().enumerate() {
            if let Some(address) = address {
                each(Field::Number(6 + at as u32, u64::from(address.port())));
            }
        }
        let (seconds, nanos) = since_epoch(self.query_time);
        each(Field::Number(8, seconds));
        each(Field::Fixed(9, nanos));
        if let Some(message) = self.query_message {
            each(Field::Bytes(10, message));
        }
        if let Some(time) = self.response_time {
            let (seconds, nanos) = since_epoch(time);
            each(Field::Number(12, seconds));
            each(Field::Fixed(13, nanos));
        }
        if let Some(message) = self.response_message {
            each(Field::Bytes(14, message));
        }
    }
}

fn since_epoch(time: SystemTime) -> (u64, u32) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    (since.as_secs(), since.subsec_nanos())
}

/// One field: its number and its value.
#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u32, u64),
    Fixed(u32, u32),
    Bytes(u32, &'a [u8]),
}

impl Field<'_> {
    fn len(self) -> usize {
        match self {
            Field::Number(tag, value) => key_len(tag) + encoded_len_varint(value),
            Field::Fixed(tag, _) => key_len(tag) + 4,
            Field::Bytes(tag, bytes) => key_len(tag) + encoded_len_varint(bytes.len() as u64) + bytes.len(),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Field::Number(tag, value) => {
                encode_key(tag, WireType::Varint, out);
                encode_varint(value, out);
            }
            Field::Fixed(tag, value) => {
                encode_key(tag, WireType::ThirtyTwoBit, out);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Field::Bytes(tag, bytes) => {
                encode_key(tag, WireType::LengthDelimited, out);
                encode_varint(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
        }
    }
}
