//! A question with its expected answer.

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;

use testkit::error::Result;
use testkit::message::{Message, Record};
use testkit::name::Name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    A = 1,
    Ptr = 12,
    Srv = 33,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    name: String,
    qtype: Type,
    /// Addresses, names, or ports and names.
    pub answer: BTreeSet<String>,
}

impl Probe {
    pub fn new(name: &str, qtype: Type, answer: impl IntoIterator<Item = String>) -> Self {
        Self { name: name.to_owned(), qtype, answer: answer.into_iter().collect() }
    }

    /// A query with EDNS for large answers.
    pub fn packet(&self) -> Result<Vec<u8>> {
        let mut packet = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        packet.extend_from_slice(Name::parse(&self.name)?.wire());
        packet.extend_from_slice(&(self.qtype as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 1]);
        // OPT with 4,096 octets.
        packet.extend_from_slice(&[0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]);
        Ok(packet)
    }

    /// Whether the reply has exactly the expected answer.
    pub fn is_answered_by(&self, reply: &Message) -> bool {
        reply.rcode() == 0 && reply.broken.is_none() && self.data(reply) == Some(self.answer.clone())
    }

    /// None if there is a record of another type or under another name.
    fn data(&self, reply: &Message) -> Option<BTreeSet<String>> {
        let ours = |record: &Record| {
            record.rtype == self.qtype as u16 && record.owner.to_string().eq_ignore_ascii_case(&self.name)
        };
        reply.answer.iter().map(|record| ours(record).then(|| data(record))?).collect()
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let qtype = match self.qtype {
            Type::A => "A",
            Type::Ptr => "PTR",
            Type::Srv => "SRV",
        };
        write!(f, "{} {qtype} {:?}", self.name, self.answer)
    }
}

/// The address of an A record.
pub fn address(record: &Record) -> Option<Ipv4Addr> {
    (record.rtype == Type::A as u16).then_some(())?;
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(record.rdata.as_slice()).ok()?))
}

fn data(record: &Record) -> Option<String> {
    let name = |at: usize| Some(Name::read(&record.rdata, at).ok()?.0.to_string());
    if record.rtype == Type::Srv as u16 {
        let port = u16::from_be_bytes(record.rdata.get(4..6)?.try_into().ok()?);
        return Some(format!("{port} {}", name(6)?));
    }
    address(record).map(|address| address.to_string()).or_else(|| name(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(rcode: u8, addresses: &[[u8; 4]]) -> Message {
        let mut bytes = vec![0, 0, 0x84, rcode, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0];
        bytes.extend(b"\x02db\x00\x00\x01\x00\x01");
        for address in addresses {
            bytes.extend(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04");
            bytes.extend(address);
        }
        Message::decode(&bytes)
    }

    #[test]
    fn only_the_complete_answer_matches() {
        let probe = |name: &str| Probe::new(name, Type::A, ["10.0.0.1".to_owned(), "10.0.0.2".to_owned()]);
        let (one, two, three) = ([10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]);
        for (name, reply, expected) in [
            ("db.", reply(0, &[one, two]), true),
            ("db.", reply(0, &[two, one]), true),
            ("db.", reply(0, &[one]), false),
            ("db.", reply(0, &[one, two, three]), false),
            ("db.", reply(0, &[]), false),
            ("db.", reply(2, &[one, two]), false),
            ("dc.", reply(0, &[one, two]), false),
        ] {
            assert_eq!(probe(name).is_answered_by(&reply), expected, "{name} {reply:?}");
        }
    }
}
