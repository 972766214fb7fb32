//! Parses records such as `www.example. 300 IN A 192.0.2.1`, for the types that tests use.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::error::{Context, Error, Result};
use crate::mnemonic;
use crate::name::Name;

/// A record of a scripted answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `None` stands for the query name, in the client's case; `@` in text.
    pub owner: Option<Name>,
    pub rtype: u16,
    pub ttl: u32,
    pub data: Vec<u8>,
}

impl Record {
    /// Owner, TTL, `IN`, type and data. Data of other types are written `\# LENGTH HEX` (RFC 3597).
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [owner, ttl, "IN", rtype, data @ ..] = words.as_slice() else {
            return Err(Error::new(format!("{text:?} is not OWNER TTL IN TYPE DATA")));
        };
        let owner = if *owner == "@" { None } else { Some(Name::parse(owner)?) };
        let ttl = ttl.parse().context(format!("the TTL in {text:?}"))?;
        let rtype = type_of(rtype).ok_or_else(|| Error::new(format!("{rtype:?} is not a type")))?;
        let data = parse_data(rtype, data).context(format!("the data in {text:?}"))?;
        Ok(Self { owner, rtype, ttl, data })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match &self.owner {
            // The question is always behind the header.
            None => out.extend([0xc0, 12]),
            Some(owner) => out.extend_from_slice(owner.wire()),
        }
        out.extend(self.rtype.to_be_bytes());
        out.extend([0, 1]);
        out.extend(self.ttl.to_be_bytes());
        out.extend((self.data.len() as u16).to_be_bytes());
        out.extend_from_slice(&self.data);
    }
}

fn type_of(text: &str) -> Option<u16> {
    let known = mnemonic::TYPES.iter().find(|(_, name)| *name == text).map(|(number, _)| *number);
    known.or_else(|| text.strip_prefix("TYPE")?.parse().ok())
}

fn parse_data(rtype: u16, words: &[&str]) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    if let ["\\#", length, hex @ ..] = words {
        let hex = hex.concat();
        for at in (0..hex.len()).step_by(2) {
            let pair = hex.get(at..at + 2).ok_or_else(|| Error::new("odd number of hex digits"))?;
            data.push(u8::from_str_radix(pair, 16).context(pair)?);
        }
        return if *length == data.len().to_string() {
            Ok(data)
        } else {
            Err(Error::new("data differ from the length"))
        };
    }
    match (rtype, words) {
        (1, [address]) => data.extend(address.parse::<Ipv4Addr>().context(address)?.octets()),
        (28, [address]) => data.extend(address.parse::<Ipv6Addr>().context(address)?.octets()),
        (2 | 5 | 12 | 39, [name]) => data.extend_from_slice(Name::parse(name)?.wire()),
        (15, [preference, name]) => {
            number16(&mut data, preference)?;
            data.extend_from_slice(Name::parse(name)?.wire());
        }
        (33, [priority, weight, port, name]) => {
            for number in [priority, weight, port] {
                number16(&mut data, number)?;
            }
            data.extend_from_slice(Name::parse(name)?.wire());
        }
        (6, [mname, rname, numbers @ ..]) if numbers.len() == 5 => {
            data.extend_from_slice(Name::parse(mname)?.wire());
            data.extend_from_slice(Name::parse(rname)?.wire());
            for number in numbers {
                data.extend(number.parse::<u32>().context(number)?.to_be_bytes());
            }
        }
        (16, texts) if !texts.is_empty() => {
            for text in texts {
                let text = text.trim_matches('"');
                data.push(u8::try_from(text.len()).context("a text of more than 255 octets")?);
                data.extend_from_slice(text.as_bytes());
            }
        }
        _ => return Err(Error::new("invalid data for this type")),
    }
    Ok(data)
}

fn number16(data: &mut Vec<u8>, text: &str) -> Result<()> {
    data.extend(text.parse::<u16>().context(text)?.to_be_bytes());
    Ok(())
}
