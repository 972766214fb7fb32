//! The usual names of DNS numbers, for descriptions and differences.

use std::borrow::Cow;

/// Every type the generator queries by name, and those likely in replies.
pub const TYPES: &[(u16, &str)] = &[
    (1, "A"),
    (2, "NS"),
    (5, "CNAME"),
    (6, "SOA"),
    (12, "PTR"),
    (13, "HINFO"),
    (15, "MX"),
    (16, "TXT"),
    (28, "AAAA"),
    (33, "SRV"),
    (35, "NAPTR"),
    (39, "DNAME"),
    (41, "OPT"),
    (43, "DS"),
    (46, "RRSIG"),
    (47, "NSEC"),
    (48, "DNSKEY"),
    (50, "NSEC3"),
    (51, "NSEC3PARAM"),
    (64, "SVCB"),
    (65, "HTTPS"),
    (250, "TSIG"),
    (251, "IXFR"),
    (252, "AXFR"),
    (255, "ANY"),
    (257, "CAA"),
];

const CLASSES: &[(u16, &str)] = &[(1, "IN"), (3, "CH"), (4, "HS"), (254, "NONE"), (255, "ANY")];

const OPCODES: &[(u16, &str)] =
    &[(0, "QUERY"), (1, "IQUERY"), (2, "STATUS"), (4, "NOTIFY"), (5, "UPDATE"), (6, "DSO")];

const RCODES: &[(u16, &str)] = &[
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (6, "YXDOMAIN"),
    (7, "YXRRSET"),
    (8, "NXRRSET"),
    (9, "NOTAUTH"),
    (10, "NOTZONE"),
    (16, "BADVERS"),
    (23, "BADCOOKIE"),
];

const OPTIONS: &[(u16, &str)] = &[
    (3, "NSID"),
    (8, "ECS"),
    (9, "EXPIRE"),
    (10, "COOKIE"),
    (11, "KEEPALIVE"),
    (12, "PADDING"),
    (15, "EDE"),
];

pub fn of_type(n: u16) -> Cow<'static, str> {
    find(TYPES, n, "TYPE")
}

pub fn of_class(n: u16) -> Cow<'static, str> {
    find(CLASSES, n, "CLASS")
}

pub fn of_opcode(n: u16) -> Cow<'static, str> {
    find(OPCODES, n, "OPCODE")
}

pub fn of_rcode(n: u16) -> Cow<'static, str> {
    find(RCODES, n, "RCODE")
}

pub fn of_option(n: u16) -> Cow<'static, str> {
    find(OPTIONS, n, "OPTION")
}

fn find(table: &'static [(u16, &'static str)], n: u16, prefix: &str) -> Cow<'static, str> {
    match table.iter().find(|(number, _)| *number == n) {
        Some((_, name)) => Cow::Borrowed(name),
        None => Cow::Owned(format!("{prefix}{n}")),
    }
}
