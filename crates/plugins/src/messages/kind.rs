//! Classifies replies, for all plugins that treat success, denial and error differently. Kinds and classes are those of
//! CoreDNS.

use std::time::{SystemTime, UNIX_EPOCH};

use server::Outcome;
use wire::{Edns, Opcode, Query, Rcode, Record, Reply, Rtype, Section};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NoError,
    NameError,
    ServerError,
    NoData,
    Delegation,
    Meta,
    Update,
    OtherError,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Success = 1,
    Denial = 2,
    Error = 4,
}

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Classes(u8);

impl Classes {
    pub const ALL: Classes = Classes(7);

    pub fn from_word(word: &str) -> Option<Classes> {
        Some(match word {
            "all" => Classes::ALL,
            "success" => Classes(Class::Success as u8),
            "denial" => Classes(Class::Denial as u8),
            "error" => Classes(Class::Error as u8),
            _ => return None,
        })
    }

    pub fn add(&mut self, more: Classes) {
        self.0 |= more.0;
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, class: Class) -> bool {
        self.0 & class as u8 != 0
    }
}

impl Class {
    pub fn text(self) -> &'static str {
        match self {
            Class::Success => "success",
            Class::Denial => "denial",
            Class::Error => "error",
        }
    }
}

const KINDS: [(Kind, &str); 8] = [
    (Kind::NoError, "NOERROR"),
    (Kind::NameError, "NXDOMAIN"),
    (Kind::ServerError, "SERVERERROR"),
    (Kind::NoData, "NODATA"),
    (Kind::Delegation, "DELEGATION"),
    (Kind::Meta, "META"),
    (Kind::Update, "UPDATE"),
    (Kind::OtherError, "OTHERERROR"),
];

impl Kind {
    /// The kind of the reply that the client gets.
    pub fn of(outcome: Outcome, query: &Query, reply: &Reply) -> Kind {
        if outcome == Outcome::Drop {
            return Kind::OtherError;
        }
        Kind::of_message(query, reply, outcome == Outcome::Records && wants_dnssec(query, reply))
    }

    /// The kind of a reply on its way up. Signatures are checked if the reply has DO set.
    pub fn of_reply(query: &Query, reply: &Reply) -> Kind {
        let dnssec = reply.opt.as_ref().is_some_and(|opt| opt.flags & Edns::DO != 0);
        Kind::of_message(query, reply, dnssec)
    }

    /// The kind of a message; with `dnssec` an expired signature makes it an error. The order of the checks is CoreDNS's
    /// and matters: NXDOMAIN after a CNAME is neither denial nor success.
    pub fn of_message(query: &Query, reply: &Reply, dnssec: bool) -> Kind {
        match reply.opcode {
            Opcode::UPDATE => return Kind::Update,
            Opcode::NOTIFY => return Kind::Meta,
            _ if matches!(query.question.qtype, Rtype::AXFR | Rtype::IXFR) => return Kind::Meta,
            _ => {}
        }
        if dnssec && has_invalid_signature(reply) {
            return Kind::OtherError;
        }
        let answers = !reply.section(Section::Answer).is_empty();
        let authority = |rtype| reply.section(Section::Authority).iter().any(|record| record.rtype == rtype);
        match reply.rcode {
            Rcode::NOERROR if answers => Kind::NoError,
            Rcode::NOERROR if authority(Rtype::SOA) => Kind::NoData,
            Rcode::NOERROR if authority(Rtype::NS) => Kind::Delegation,
            Rcode::NOERROR => Kind::NoError,
            Rcode::NXDOMAIN if answers => Kind::OtherError,
            Rcode::NXDOMAIN => Kind::NameError,
            Rcode::SERVFAIL | Rcode::NOTIMP => Kind::ServerError,
            _ => Kind::OtherError,
        }
    }

    pub fn class(self) -> Class {
        match self {
            Kind::NoError | Kind::Delegation => Class::Success,
            Kind::NameError | Kind::NoData => Class::Denial,
            _ => Class::Error,
        }
    }

    pub fn text(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// As a number for a slot's words, where 0 means none.
    pub fn number(self) -> u64 {
        self as u64 + 1
    }

    pub fn from_number(number: u64) -> Option<Kind> {
        KINDS.get(usize::try_from(number).ok()?.checked_sub(1)?).map(|(kind, _)| *kind)
    }
}

/// The sent reply has DO set if the query had it or a plugin set it.
fn wants_dnssec(query: &Query, reply: &Reply) -> bool {
    query.dnssec_ok() || reply.opt.as_ref().is_some_and(|opt| opt.flags & Edns::DO != 0)
}

/// Whether a signature is not valid now.
fn has_invalid_signature(reply: &Reply) -> bool {
    let mut signatures = reply.records().iter().filter(|record| record.rtype == Rtype::RRSIG).peekable();
    if signatures.peek().is_none() {
        return false;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32);
    signatures.any(|signature| !is_valid_at(reply, signature, now))
}

/// RFC 4034 §3.1.5: times are compared in serial number arithmetic.
fn is_valid_at(reply: &Reply, signature: &Record, now: u32) -> bool {
    let Some(times) = reply.data(signature).get(8..16) else { return false };
    let time = |at: usize| u32::from_be_bytes([times[at], times[at + 1], times[at + 2], times[at + 3]]);
    let (expiration, inception) = (time(0), time(4));
    let not_after = |a: u32, b: u32| b.wrapping_sub(a) as i32 >= 0;
    not_after(inception, now) && not_after(now, expiration)
}
