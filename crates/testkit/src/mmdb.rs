//! Writes MaxMind databases from a table, so that tests need no external ones.
//!
//! A database is a search tree over the bits of addresses, sixteen zero octets, the data, a marker and the metadata
//! (<https://maxmind.github.io/MaxMind-DB/>). A node of the tree is two records, one for each value of the next bit: the
//! number of another node, the number of nodes for "no data", or more than that for an offset in the data.

use std::net::IpAddr;

const SEPARATOR: usize = 16;
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// A data value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Double(f64),
    Float(f32),
    Uint16(u16),
    Uint32(u32),
    Uint64(u64),
    Int32(i32),
    Bool(bool),
    Map(Vec<(String, Value)>),
    List(Vec<Value>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// A map of a record.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A database as a table.
#[derive(Clone, Debug)]
pub struct Database {
    pub database_type: String,
    /// 4, or 6 with the IPv4 addresses under `::/96`.
    pub ip_version: u16,
    /// Bits of a record of the tree: 24, 28 or 32.
    pub record_size: u16,
    /// The IPv4 addresses are under `::ffff:0:0/96` too.
    pub mapped: bool,
    /// Networks and their data; later ones are inside earlier ones, or disjoint.
    pub networks: Vec<(&'static str, Value)>,
}

impl Database {
    pub fn new(database_type: &str, networks: Vec<(&'static str, Value)>) -> Database {
        Database {
            database_type: database_type.to_owned(),
            ip_version: 6,
            record_size: 24,
            mapped: true,
            networks,
        }
    }

    /// # Panics
    /// When a network is invalid: tables are written in tests, where a panic is the right message.
    pub fn bytes(&self) -> Vec<u8> {
        let mut data = Vec::new();
        let mut tree = Tree { nodes: vec![[Record::Nothing; 2]] };
        for (network, value) in &self.networks {
            let place = data.len();
            encode(value, &mut data);
            let (address, length) =
                network.split_once('/').unwrap_or_else(|| panic!("{network} is not a network"));
            let address = address.parse().unwrap_or_else(|_| panic!("{network} is not a network"));
            let length = length.parse().unwrap_or_else(|_| panic!("{network} is not a network"));
            tree.set(&self.path(address, length), Record::Data(place));
        }
        if self.mapped && self.ip_version == 6 {
            let inner = tree.get(&[false; 96]);
            let outer: Vec<bool> = (0..96).map(|bit| bit >= 80).collect();
            tree.set(&outer, inner);
        }
        let mut bytes = tree.encode(self.record_size);
        bytes.extend([0; SEPARATOR]);
        bytes.extend(data);
        bytes.extend(MARKER);
        encode(&self.metadata(tree.nodes.len()), &mut bytes);
        bytes
    }

    /// The bits that lead to a network.
    fn path(&self, address: IpAddr, length: usize) -> Vec<bool> {
        let bits = |number: u128, width: usize| (0..width).rev().map(move |bit| number >> bit & 1 == 1);
        match address {
            IpAddr::V4(address) => {
                let above = if self.ip_version == 6 { 96 } else { 0 };
                let inner = bits(address.to_bits().into(), 32).take(length);
                std::iter::repeat_n(false, above).chain(inner).collect()
            }
            IpAddr::V6(address) => bits(address.to_bits(), 128).take(length).collect(),
        }
    }

    fn metadata(&self, nodes: usize) -> Value {
        map([
            ("binary_format_major_version", Value::Uint16(2)),
            ("binary_format_minor_version", Value::Uint16(0)),
            ("build_epoch", Value::Uint64(1_763_164_800)),
            ("database_type", self.database_type.as_str().into()),
            ("description", map([("en", "made by a test".into())])),
            ("ip_version", Value::Uint16(self.ip_version)),
            ("languages", Value::List(vec!["en".into()])),
            ("node_count", Value::Uint32(nodes as u32)),
            ("record_size", Value::Uint16(self.record_size)),
        ])
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Record {
    Nothing,
    Node(usize),
    Data(usize),
}

struct Tree {
    nodes: Vec<[Record; 2]>,
}

impl Tree {
    /// Adds nodes along the path as needed; a split network's data stay valid for its other half.
    fn set(&mut self, path: &[bool], record: Record) {
        let Some((last, above)) = path.split_last() else { return };
        let mut node = 0;
        for bit in above {
            node = match self.nodes[node][usize::from(*bit)] {
                Record::Node(next) => next,
                known => {
                    self.nodes.push([known; 2]);
                    let next = self.nodes.len() - 1;
                    self.nodes[node][usize::from(*bit)] = Record::Node(next);
                    next
                }
            };
        }
        self.nodes[node][usize::from(*last)] = record;
    }

    fn get(&self, path: &[bool]) -> Record {
        let mut found = Record::Node(0);
        for bit in path {
            let Record::Node(node) = found else { break };
            found = self.nodes[node][usize::from(*bit)];
        }
        found
    }

    fn encode(&self, record_size: u16) -> Vec<u8> {
        let number = |record: Record| match record {
            Record::Nothing => self.nodes.len() as u32,
            Record::Node(node) => node as u32,
            Record::Data(place) => (self.nodes.len() + SEPARATOR + place) as u32,
        };
        let mut bytes = Vec::new();
        for node in &self.nodes {
            let [left, right] = node.map(|record| number(record).to_be_bytes());
            match record_size {
                24 => bytes.extend([&left[1..], &right[1..]].concat()),
                // The octet in the middle holds the upper four bits of both.
                28 => {
                    bytes.extend(&left[1..]);
                    bytes.push(left[0] << 4 | right[0] & 0xf);
                    bytes.extend(&right[1..]);
                }
                _ => bytes.extend([left, right].concat()),
            }
        }
        bytes
    }
}

fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => {
            head(2, text.len(), out);
            out.extend(text.bytes());
        }
        Value::Double(number) => sized(3, &number.to_be_bytes(), out),
        Value::Uint16(number) => sized(5, trimmed(&number.to_be_bytes()), out),
        Value::Uint32(number) => sized(6, trimmed(&number.to_be_bytes()), out),
        Value::Map(entries) => {
            head(7, entries.len(), out);
            for (key, value) in entries {
                encode(&Value::Text(key.clone()), out);
                encode(value, out);
            }
        }
        Value::Int32(number) => sized(8, &number.to_be_bytes(), out),
        Value::Uint64(number) => sized(9, trimmed(&number.to_be_bytes()), out),
        Value::List(values) => {
            head(11, values.len(), out);
            values.iter().for_each(|value| encode(value, out));
        }
        Value::Bool(value) => head(14, usize::from(*value), out),
        Value::Float(number) => sized(15, &number.to_be_bytes(), out),
    }
}

fn sized(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    head(kind, bytes.len(), out);
    out.extend(bytes);
}

/// Drops the leading zero octets of a number.
fn trimmed(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..]
}

/// Writes the control octets of a value: its type, and its length in one of three forms.
fn head(kind: u8, len: usize, out: &mut Vec<u8>) {
    let (short, more): (u8, Vec<u8>) = match len {
        0..29 => (len as u8, vec![]),
        29..285 => (29, vec![(len - 29) as u8]),
        _ => (30, ((len - 285) as u16).to_be_bytes().to_vec()),
    };
    match kind {
        1..=7 => out.push(kind << 5 | short),
        // Types beyond seven have an octet of their own.
        _ => out.extend([short, kind - 7]),
    }
    out.extend(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_values() {
        for (value, expected) in [
            ("ab".into(), &[0x42, b'a', b'b'][..]),
            (Value::Uint16(0), &[0xa0]),
            (Value::Uint32(300), &[0xc2, 1, 44]),
            (Value::Uint64(1), &[0x01, 2, 1]),
            (Value::Bool(true), &[0x01, 7]),
            (Value::List(vec![Value::Bool(false)]), &[0x01, 4, 0x00, 7]),
            (map([("a", Value::Uint16(1))]), &[0xe1, 0x41, b'a', 0xa1, 1]),
        ] {
            let mut bytes = Vec::new();
            encode(&value, &mut bytes);
            assert_eq!(bytes, expected, "{value:?}");
        }
        let mut bytes = Vec::new();
        encode(&Value::Text("x".repeat(300)), &mut bytes);
        assert_eq!(bytes[..4], [0x5e, 0, 15, b'x']);
    }

    #[test]
    fn encodes_a_tree_of_one_bit() {
        let database = Database {
            ip_version: 4,
            networks: vec![("128.0.0.0/1", Value::Uint16(0))],
            ..Database::new("x", Vec::new())
        };
        // One node: nothing on the left, the first octet of the data on the right.
        assert_eq!(database.bytes()[..6], [0, 0, 1, 0, 0, 17]);
    }

    #[test]
    fn networks_inside_networks() {
        let mut tree = Tree { nodes: vec![[Record::Nothing; 2]] };
        tree.set(&[true], Record::Data(1));
        tree.set(&[true, false, true], Record::Data(2));
        assert_eq!(tree.get(&[true, false, true]), Record::Data(2));
        assert_eq!(tree.get(&[true, false, false]), Record::Data(1));
        assert_eq!(tree.get(&[true, true, true]), Record::Data(1));
        assert_eq!(tree.get(&[false, true]), Record::Nothing);
    }
}
