//! The RDATA layout of the types: which fields are names, which are text.

use crate::{Name, NameBuf, Rtype};

/// A field of RDATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A fixed number of octets.
    Octets(usize),
    /// A character string: one octet of length, then the text.
    Text,
    /// Character strings to the end.
    Texts,
    /// A name that may be compressed (RFC 1035 types only, RFC 3597).
    Name,
    /// A name that must not be compressed.
    PlainName,
    /// All remaining octets.
    Rest,
}

/// The RDATA fields of a type; `Rest` for types without names or without a fixed layout. IPSECKEY, AMTRELAY and HIP have
/// names after variable parts; no server compresses them or changes their case, so they are `Rest`, too.
pub fn layout(rtype: Rtype) -> &'static [Field] {
    use Field::*;
    match rtype {
        Rtype::A => &[Octets(4)],
        Rtype::AAAA => &[Octets(16)],
        Rtype::NS | Rtype::MD | Rtype::MF | Rtype::CNAME | Rtype::MB | Rtype::MG | Rtype::MR | Rtype::PTR => {
            &[Name]
        }
        Rtype::SOA => &[Name, Name, Octets(4), Octets(4), Octets(4), Octets(4), Octets(4)],
        Rtype::MINFO => &[Name, Name],
        Rtype::MX => &[Octets(2), Name],
        Rtype::HINFO => &[Text, Text],
        // The second is optional (RFC 1183 §3.2).
        Rtype::ISDN => &[Text, Texts],
        Rtype::X25 | Rtype::UINFO => &[Text],
        Rtype::GPOS => &[Text, Text, Text],
        Rtype::TXT | Rtype::SPF | Rtype::AVC | Rtype::NINFO | Rtype::RESINFO | Rtype::WALLET | Rtype::CLA => {
            &[Texts]
        }
        Rtype::RP | Rtype::TALINK => &[PlainName, PlainName],
        Rtype::AFSDB | Rtype::RT | Rtype::KX | Rtype::LP => &[Octets(2), PlainName],
        Rtype::PX => &[Octets(2), PlainName, PlainName],
        Rtype::SRV => &[Octets(2), Octets(2), Octets(2), PlainName],
        Rtype::NAPTR => &[Octets(2), Octets(2), Text, Text, Text, PlainName],
        Rtype::DNAME | Rtype::NSAP_PTR => &[PlainName],
        Rtype::RRSIG | Rtype::SIG => {
            &[Octets(2), Octets(1), Octets(1), Octets(4), Octets(4), Octets(4), Octets(2), PlainName, Rest]
        }
        Rtype::NSEC | Rtype::NXT => &[PlainName, Rest],
        Rtype::SVCB | Rtype::HTTPS => &[Octets(2), PlainName, Rest],
        Rtype::TSIG => &[PlainName, Rest],
        Rtype::TKEY => &[PlainName, Rest],
        Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA => &[Octets(2), Octets(1), Octets(1), Rest],
        Rtype::DNSKEY | Rtype::CDNSKEY | Rtype::KEY | Rtype::RKEY => &[Octets(2), Octets(1), Octets(1), Rest],
        Rtype::SSHFP => &[Octets(1), Octets(1), Rest],
        Rtype::IPSECKEY => &[Octets(1), Octets(1), Octets(1), Rest],
        Rtype::AMTRELAY => &[Octets(1), Octets(1), Rest],
        Rtype::HIP => &[Octets(1), Octets(1), Octets(2), Rest],
        Rtype::TLSA | Rtype::SMIMEA => &[Octets(1), Octets(1), Octets(1), Rest],
        Rtype::EUI48 => &[Octets(6)],
        Rtype::EUI64 | Rtype::IPN => &[Octets(8)],
        Rtype::NID | Rtype::L64 => &[Octets(2), Octets(8)],
        Rtype::L32 => &[Octets(2), Octets(4)],
        Rtype::UID | Rtype::GID => &[Octets(4)],
        Rtype::CAA => &[Octets(1), Text, Rest],
        Rtype::URI => &[Octets(2), Octets(2), Rest],
        Rtype::CSYNC => &[Octets(4), Octets(2), Rest],
        Rtype::ZONEMD => &[Octets(4), Octets(1), Octets(1), Rest],
        Rtype::DSYNC => &[Octets(2), Octets(1), Octets(2), PlainName],
        Rtype::CERT => &[Octets(2), Octets(2), Octets(1), Rest],
        Rtype::NSEC3 => &[Octets(1), Octets(1), Octets(2), Text, Text, Rest],
        Rtype::NSEC3PARAM => &[Octets(1), Octets(1), Octets(2), Text],
        _ => &[Rest],
    }
}

/// Calls `visit` for each field of the RDATA in `message[start..end]`, with names decompressed. False if the RDATA does
/// not match its type's layout. It may end early between two fields, as in dynamic updates.
pub fn walk_data(
    rtype: Rtype,
    message: &[u8],
    start: usize,
    end: usize,
    mut visit: impl FnMut(Piece<'_>),
) -> bool {
    let mut at = start;
    // RDATA must not extend past its end, but its names may point anywhere before it.
    let message = &message[..end];
    for field in layout(rtype) {
        if at == end {
            return true;
        }
        let next = match field {
            Field::Octets(n) => at + n,
            Field::Text => at + 1 + usize::from(message[at]),
            Field::Texts => {
                let mut next = at;
                while next < end {
                    next += 1 + usize::from(message[next]);
                }
                next
            }
            Field::Rest => end,
            Field::Name | Field::PlainName => {
                let mut name = NameBuf::root();
                let Ok(next) = name.read(message, at) else { return false };
                visit(Piece::Name(name.as_name()));
                at = next;
                continue;
            }
        };
        if next > end {
            return false;
        }
        visit(Piece::Bytes(&message[at..next]));
        at = next;
    }
    at == end
}

/// A field as [`walk_data`] passes it to `visit`.
pub enum Piece<'a> {
    Bytes(&'a [u8]),
    Name(Name<'a>),
}
