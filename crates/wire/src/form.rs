//! The RDATA fields of each type in presentation format: the table that zone text is read and written by.

use crate::Rtype;

/// A field of RDATA in presentation format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    U8,
    U16,
    U32,
    U64,
    /// Seconds, also with units: `1h30m`.
    Period,
    /// Seconds since 1970 as `YYYYMMDDHHMMSS`.
    Time,
    Ipv4,
    Ipv6,
    Name,
    /// A character string.
    Text,
    /// A character string of letters and digits, never quoted.
    Tag,
    /// A second character string that may be missing.
    OptionalText,
    /// Character strings to the end, at least one.
    Texts,
    /// All remaining octets as one string.
    Octets,
    /// All remaining octets in hexadecimal.
    Hex,
    /// The same after `0x`, with dots that have no meaning.
    Nsap,
    /// All remaining octets in base 64.
    Base64,
    /// Octets after their length, in hexadecimal; `-` if there are none.
    Salt,
    /// Octets after their length, in base 32.
    Hash,
    /// A record type.
    Type,
    /// A bitmap of record types (RFC 4034 §4.1.2).
    Types,
    /// A DNSSEC algorithm by number or mnemonic.
    Algorithm,
    /// The type of a certificate, by number or mnemonic (RFC 4398 §2.1).
    Certificate,
    /// This many octets in hexadecimal with dashes.
    Mac(usize),
    /// 64 bits as four groups with colons (RFC 6742 §2).
    Locator,
    /// All of LOC (RFC 1876).
    Location,
    /// Address prefixes (RFC 3123).
    Prefixes,
    /// Parameters of a service binding (RFC 9460 §2.1).
    Parameters,
    /// Gateway type, algorithm, gateway and key of IPSECKEY (RFC 4025 §2).
    IpsecGateway,
    /// Discovery bit, relay type and relay of AMTRELAY (RFC 8777 §4).
    Relay,
    /// All of HIP (RFC 8005 §5).
    HostIdentity,
}

impl Form {
    /// Whether the field extends to the end of the line, so that no other follows.
    pub fn reads_line(self) -> bool {
        use Form::*;
        matches!(
            self,
            OptionalText
                | Texts
                | Octets
                | Hex
                | Nsap
                | Base64
                | Types
                | Location
                | Prefixes
                | Parameters
                | IpsecGateway
                | HostIdentity
        )
    }
}

/// The fields of a type and their names, which are those of miekg/dns, since CoreDNS's errors quote them. None if the
/// type is only written as `\# LENGTH HEX`.
pub fn forms(rtype: Rtype) -> Option<&'static [(Form, &'static str)]> {
    use Form::*;
    Some(match rtype {
        Rtype::A => &[(Ipv4, "A")],
        Rtype::NS => &[(Name, "Ns")],
        Rtype::MD => &[(Name, "Md")],
        Rtype::MF => &[(Name, "Mf")],
        Rtype::CNAME => &[(Name, "Target")],
        Rtype::SOA => &[
            (Name, "Ns"),
            (Name, "Mbox"),
            (U32, "zone parameter"),
            (Period, "zone parameter"),
            (Period, "zone parameter"),
            (Period, "zone parameter"),
            (Period, "zone parameter"),
        ],
        Rtype::MB => &[(Name, "Mb")],
        Rtype::MG => &[(Name, "Mg")],
        Rtype::MR => &[(Name, "Mr")],
        Rtype::PTR => &[(Name, "Ptr")],
        Rtype::HINFO => &[(Text, "Fields"), (Text, "Fields")],
        Rtype::MINFO => &[(Name, "Rmail"), (Name, "Email")],
        Rtype::MX => &[(U16, "Pref"), (Name, "Mx")],
        Rtype::TXT | Rtype::SPF | Rtype::AVC => &[(Texts, "Txt")],
        Rtype::RP => &[(Name, "Mbox"), (Name, "Txt")],
        Rtype::AFSDB => &[(U16, "Subtype"), (Name, "Hostname")],
        Rtype::X25 => &[(Text, "PSDNAddress")],
        Rtype::ISDN => &[(Text, "Fields"), (OptionalText, "Fields")],
        Rtype::RT => &[(U16, "Preference"), (Name, "Host")],
        Rtype::NSAP => &[(Nsap, "Address")],
        Rtype::NSAP_PTR => &[(Name, "Ptr")],
        Rtype::SIG | Rtype::RRSIG => &[
            (Type, "Typecovered"),
            (Algorithm, "Algorithm"),
            (U8, "Labels"),
            (U32, "OrigTtl"),
            (Time, "Expiration"),
            (Time, "Inception"),
            (U16, "KeyTag"),
            (Name, "SignerName"),
            (Base64, "Signature"),
        ],
        Rtype::KEY | Rtype::RKEY | Rtype::DNSKEY | Rtype::CDNSKEY => {
            &[(U16, "Flags"), (U8, "Protocol"), (Algorithm, "Algorithm"), (Base64, "PublicKey")]
        }
        Rtype::PX => &[(U16, "Preference"), (Name, "Map822"), (Name, "Mapx400")],
        Rtype::GPOS => &[(Text, "Longitude"), (Text, "Latitude"), (Text, "Altitude")],
        Rtype::AAAA => &[(Ipv6, "AAAA")],
        Rtype::LOC => &[(Location, "Location")],
        Rtype::NXT | Rtype::NSEC => &[(Name, "NextDomain"), (Types, "TypeBitMap")],
        Rtype::EID => &[(Hex, "Endpoint")],
        Rtype::NIMLOC => &[(Hex, "Locator")],
        Rtype::SRV => &[(U16, "Priority"), (U16, "Weight"), (U16, "Port"), (Name, "Target")],
        Rtype::NAPTR => &[
            (U16, "Order"),
            (U16, "Preference"),
            (Text, "Flags"),
            (Text, "Service"),
            (Text, "Regexp"),
            (Name, "Replacement"),
        ],
        Rtype::KX => &[(U16, "Pref"), (Name, "Exchanger")],
        Rtype::CERT => {
            &[(Certificate, "Type"), (U16, "KeyTag"), (Algorithm, "Algorithm"), (Base64, "Certificate")]
        }
        Rtype::DNAME => &[(Name, "Target")],
        Rtype::APL => &[(Prefixes, "Prefixes")],
        Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA => {
            &[(U16, "KeyTag"), (Algorithm, "Algorithm"), (U8, "DigestType"), (Hex, "Digest")]
        }
        Rtype::SSHFP => &[(U8, "Algorithm"), (U8, "Type"), (Hex, "Fingerprint")],
        Rtype::IPSECKEY => &[(U8, "value"), (IpsecGateway, "value")],
        Rtype::DHCID => &[(Base64, "Digest")],
        Rtype::NSEC3 => &[
            (U8, "Hash"),
            (U8, "Flags"),
            (U16, "Iterations"),
            (Salt, "Salt"),
            (Hash, "NextDomain"),
            (Types, "TypeBitMap"),
        ],
        Rtype::NSEC3PARAM => &[(U8, "Hash"), (U8, "Flags"), (U16, "Iterations"), (Salt, "Salt")],
        Rtype::TLSA | Rtype::SMIMEA => {
            &[(U8, "Usage"), (U8, "Selector"), (U8, "MatchingType"), (Hex, "Certificate")]
        }
        Rtype::HIP => &[(HostIdentity, "PublicKeyAlgorithm")],
        Rtype::NINFO => &[(Texts, "ZSData")],
        Rtype::TALINK => &[(Name, "PreviousName"), (Name, "NextName")],
        Rtype::OPENPGPKEY => &[(Base64, "PublicKey")],
        Rtype::CSYNC => &[(U32, "serial"), (U16, "flags"), (Types, "TypeBitMap")],
        Rtype::ZONEMD => &[(U32, "Serial"), (U8, "Scheme"), (U8, "Hash Algorithm"), (Hex, "Digest")],
        Rtype::SVCB | Rtype::HTTPS => &[(U16, "priority"), (Name, "Target"), (Parameters, "values")],
        Rtype::DSYNC => &[(Type, "Type"), (U8, "Scheme"), (U16, "Port"), (Name, "Target")],
        Rtype::UINFO => &[(Text, "Uinfo")],
        Rtype::UID => &[(U32, "Uid")],
        Rtype::GID => &[(U32, "Gid")],
        Rtype::NID => &[(U16, "Preference"), (Locator, "NodeID")],
        Rtype::L32 => &[(U16, "Preference"), (Ipv4, "Locator")],
        Rtype::L64 => &[(U16, "Preference"), (Locator, "Locator64")],
        Rtype::LP => &[(U16, "Preference"), (Name, "Fqdn")],
        Rtype::EUI48 => &[(Mac(6), "Address")],
        Rtype::EUI64 => &[(Mac(8), "Address")],
        Rtype::URI => &[(U16, "Priority"), (U16, "Weight"), (Octets, "Target")],
        Rtype::CAA => &[(U8, "Flag"), (Tag, "Tag"), (Octets, "Value")],
        Rtype::AMTRELAY => &[(U8, "value"), (Relay, "value")],
        Rtype::RESINFO => &[(Texts, "Resinfo")],
        Rtype::WALLET => &[(Texts, "Txt")],
        Rtype::CLA => &[(Texts, "Txt")],
        Rtype::IPN => &[(U64, "Cbhe")],
        _ => return None,
    })
}

/// Mnemonics of DNSSEC algorithms.
pub const ALGORITHMS: &[(&str, u8)] = &[
    ("RSAMD5", 1),
    ("DH", 2),
    ("DSA", 3),
    ("RSASHA1", 5),
    ("DSA-NSEC3-SHA1", 6),
    ("RSASHA1-NSEC3-SHA1", 7),
    ("RSASHA256", 8),
    ("RSASHA512", 10),
    ("ECC-GOST", 12),
    ("ECDSAP256SHA256", 13),
    ("ECDSAP384SHA384", 14),
    ("ED25519", 15),
    ("ED448", 16),
    ("INDIRECT", 252),
    ("PRIVATEDNS", 253),
    ("PRIVATEOID", 254),
];

/// Mnemonics of certificate types.
pub const CERTIFICATES: &[(&str, u16)] = &[
    ("PKIX", 1),
    ("SPKI", 2),
    ("PGP", 3),
    ("IPIX", 4),
    ("ISPKI", 5),
    ("IPGP", 6),
    ("ACPKIX", 7),
    ("IACPKIX", 8),
    ("URI", 253),
    ("OID", 254),
];

/// Names and numbers of service parameters (RFC 9460 §14.3, RFC 9461, RFC 9540).
pub const PARAMETERS: &[(&str, u16)] = &[
    ("mandatory", 0),
    ("alpn", 1),
    ("no-default-alpn", 2),
    ("port", 3),
    ("ipv4hint", 4),
    ("ech", 5),
    ("ipv6hint", 6),
    ("dohpath", 7),
    ("ohttp", 8),
];
