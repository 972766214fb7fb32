//! DNS code points and their mnemonics: types, classes, opcodes, response codes.

use std::borrow::Cow;
use std::fmt;

/// A record type, such as A or SRV.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rtype(pub u16);

/// A class; IN nearly always, CH for server identification.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub u16);

/// The kind of request; QUERY nearly always.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(pub u8);

/// A response code, extended to 12 bits by EDNS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rcode(pub u16);

macro_rules! named {
    ($kind:ident, $prefix:literal, { $($(#[$doc:meta])* $constant:ident = $number:literal $text:literal),* $(,)? }) => {
        impl $kind {
            $($(#[$doc])* pub const $constant: $kind = $kind($number);)*

            /// The mnemonic, if the number has one.
            pub fn mnemonic(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($text),)*
                    _ => None,
                }
            }

            /// Reads a mnemonic, in any case.
            pub fn from_mnemonic(text: &str) -> Option<$kind> {
                $(if text.eq_ignore_ascii_case($text) {
                    return Some($kind($number));
                })*
                None
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.mnemonic() {
                    Some(text) => f.write_str(text),
                    None => write!(f, concat!($prefix, "{}"), self.0),
                }
            }
        }

        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

named!(Rtype, "TYPE", {
    NONE = 0 "None", A = 1 "A", NS = 2 "NS", MD = 3 "MD", MF = 4 "MF", CNAME = 5 "CNAME", SOA = 6 "SOA",
    MB = 7 "MB", MG = 8 "MG", MR = 9 "MR", NULL = 10 "NULL", PTR = 12 "PTR", HINFO = 13 "HINFO",
    MINFO = 14 "MINFO", MX = 15 "MX", TXT = 16 "TXT", RP = 17 "RP", AFSDB = 18 "AFSDB", X25 = 19 "X25",
    ISDN = 20 "ISDN", RT = 21 "RT", NSAP_PTR = 23 "NSAP-PTR", SIG = 24 "SIG", KEY = 25 "KEY", PX = 26 "PX",
    GPOS = 27 "GPOS", AAAA = 28 "AAAA", LOC = 29 "LOC", NXT = 30 "NXT", EID = 31 "EID", NIMLOC = 32 "NIMLOC",
    SRV = 33 "SRV", ATMA = 34 "ATMA", NAPTR = 35 "NAPTR", KX = 36 "KX", CERT = 37 "CERT", DNAME = 39 "DNAME",
    OPT = 41 "OPT", APL = 42 "APL", DS = 43 "DS", SSHFP = 44 "SSHFP", IPSECKEY = 45 "IPSECKEY",
    RRSIG = 46 "RRSIG", NSEC = 47 "NSEC", DNSKEY = 48 "DNSKEY", DHCID = 49 "DHCID", NSEC3 = 50 "NSEC3",
    NSEC3PARAM = 51 "NSEC3PARAM", TLSA = 52 "TLSA", SMIMEA = 53 "SMIMEA", HIP = 55 "HIP", NINFO = 56 "NINFO",
    RKEY = 57 "RKEY", TALINK = 58 "TALINK", CDS = 59 "CDS", CDNSKEY = 60 "CDNSKEY",
    OPENPGPKEY = 61 "OPENPGPKEY", CSYNC = 62 "CSYNC", ZONEMD = 63 "ZONEMD", SVCB = 64 "SVCB",
    HTTPS = 65 "HTTPS", SPF = 99 "SPF", UINFO = 100 "UINFO", UID = 101 "UID", GID = 102 "GID",
    UNSPEC = 103 "UNSPEC", NID = 104 "NID", L32 = 105 "L32", L64 = 106 "L64", LP = 107 "LP",
    EUI48 = 108 "EUI48", EUI64 = 109 "EUI64", NXNAME = 128 "NXNAME", TKEY = 249 "TKEY", TSIG = 250 "TSIG",
    IXFR = 251 "IXFR", AXFR = 252 "AXFR", MAILB = 253 "MAILB", MAILA = 254 "MAILA", ANY = 255 "ANY",
    URI = 256 "URI", CAA = 257 "CAA", AVC = 258 "AVC", AMTRELAY = 260 "AMTRELAY", RESINFO = 261 "RESINFO",
    TA = 32768 "TA", DLV = 32769 "DLV", RESERVED = 65535 "Reserved",
});

/// Types that miekg/dns has no mnemonic for, and so neither CoreDNS's logs nor its metrics. Zone files know them.
const ZONE_TYPES: &[(&str, Rtype)] = &[
    ("NSAP", Rtype::NSAP),
    ("DSYNC", Rtype::DSYNC),
    ("WALLET", Rtype::WALLET),
    ("CLA", Rtype::CLA),
    ("IPN", Rtype::IPN),
];

impl Rtype {
    pub const NSAP: Rtype = Rtype(22);
    pub const DSYNC: Rtype = Rtype(66);
    pub const WALLET: Rtype = Rtype(262);
    pub const CLA: Rtype = Rtype(263);
    pub const IPN: Rtype = Rtype(264);

    /// The type as in a zone file.
    pub fn zone_name(self) -> Cow<'static, str> {
        // Types 0 and 65535 have mnemonics that only logs know.
        let known = self.mnemonic().filter(|_| !matches!(self, Rtype::NONE | Rtype::RESERVED));
        let known =
            known.or_else(|| ZONE_TYPES.iter().find(|(_, rtype)| *rtype == self).map(|(name, _)| *name));
        known.map_or_else(|| Cow::Owned(format!("TYPE{}", self.0)), Cow::Borrowed)
    }

    /// Reads a type as in a zone file: a mnemonic in any case, or `TYPE123`.
    pub fn from_zone_name(text: &str) -> Option<Rtype> {
        let known =
            Rtype::from_mnemonic(text).filter(|rtype| !matches!(*rtype, Rtype::NONE | Rtype::RESERVED));
        known
            .or_else(|| {
                ZONE_TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, rtype)| *rtype)
            })
            .or_else(|| number_after("TYPE", text).map(Rtype))
    }
}

/// The number after the prefix of `TYPE123` or `CLASS3`.
fn number_after(prefix: &str, text: &str) -> Option<u16> {
    let (start, digits) = text.split_at_checked(prefix.len())?;
    let plain = start.eq_ignore_ascii_case(prefix) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

named!(Class, "CLASS", {
    IN = 1 "IN", CS = 2 "CS", CH = 3 "CH", HS = 4 "HS", NONE = 254 "NONE",
});

impl Class {
    /// Printed as CLASS255: query logs show class and type side by side, and ANY is the type.
    pub const ANY: Class = Class(255);

    /// Reads a class as in a zone file: a mnemonic in any case, or `CLASS1`.
    pub fn from_zone_name(text: &str) -> Option<Class> {
        Class::from_mnemonic(text).or_else(|| number_after("CLASS", text).map(Class))
    }
}

named!(Opcode, "OPCODE", {
    QUERY = 0 "QUERY", IQUERY = 1 "IQUERY", STATUS = 2 "STATUS", NOTIFY = 4 "NOTIFY", UPDATE = 5 "UPDATE",
});

named!(Rcode, "RCODE", {
    NOERROR = 0 "NOERROR", FORMERR = 1 "FORMERR", SERVFAIL = 2 "SERVFAIL", NXDOMAIN = 3 "NXDOMAIN",
    NOTIMP = 4 "NOTIMP", REFUSED = 5 "REFUSED", YXDOMAIN = 6 "YXDOMAIN", YXRRSET = 7 "YXRRSET",
    NXRRSET = 8 "NXRRSET", NOTAUTH = 9 "NOTAUTH", NOTZONE = 10 "NOTZONE", DSOTYPENI = 11 "DSOTYPENI",
    /// The same number as BADVERS, its meaning in EDNS.
    BADSIG = 16 "BADSIG", BADKEY = 17 "BADKEY", BADTIME = 18 "BADTIME", BADMODE = 19 "BADMODE",
    BADNAME = 20 "BADNAME", BADALG = 21 "BADALG", BADTRUNC = 22 "BADTRUNC", BADCOOKIE = 23 "BADCOOKIE",
});

impl Rcode {
    pub const BADVERS: Rcode = Rcode(16);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics() {
        for (number, text) in
            [(1, "A"), (28, "AAAA"), (65, "HTTPS"), (23, "NSAP-PTR"), (4711, "TYPE4711"), (0, "None")]
        {
            assert_eq!(Rtype(number).to_string(), text);
        }
        assert_eq!(Rtype::from_mnemonic("srv"), Some(Rtype::SRV));
        assert_eq!(Rtype::from_mnemonic("nope"), None);
        assert_eq!(Class(77).to_string(), "CLASS77");
        assert_eq!(Class::ANY.to_string(), "CLASS255");
        assert_eq!(Rcode(3841).to_string(), "RCODE3841");
        for (number, text) in [(1, "A"), (22, "NSAP"), (0, "TYPE0"), (65535, "TYPE65535"), (4711, "TYPE4711")]
        {
            assert_eq!(Rtype(number).zone_name(), text);
            assert_eq!(Rtype::from_zone_name(&text.to_lowercase()), Some(Rtype(number)));
        }
        assert_eq!(Rtype::from_zone_name("TYPE65536"), None);
        assert_eq!(Class::from_zone_name("class1"), Some(Class::IN));
        assert_eq!(Opcode::NOTIFY.to_string(), "NOTIFY");
    }
}
