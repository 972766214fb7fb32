//! What a reply is to the cache: whether it may be kept, as what, and for how long.

use std::time::Duration;

use wire::{Class, Flags, Name, Opcode, Owner, Query, Rcode, Record, Reply, Rtype, Section};

use super::options::Options;
use crate::kind::Kind;

/// What replies live that say nothing themselves.
const SHORT: u32 = 5;

/// A reply as the cache sees it.
pub(super) struct Verdict {
    pub kind: Kind,
    /// What its records live from now on, kept or not.
    pub lifetime: Duration,
    /// Its records answer the question.
    pub answering: bool,
    /// Why it must not be kept.
    pub refusal: Option<&'static str>,
}

impl Verdict {
    pub fn of(query: &Query, reply: &Reply, options: &Options) -> Verdict {
        let answering = answers_question(query, reply);
        let has_soa = reply.section(Section::Authority).iter().any(|record| record.rtype == Rtype::SOA);
        let misses = !reply.section(Section::Answer).is_empty() && !answering;
        let kind = match Kind::of_reply(query, reply) {
            // An alias to a name without this type: RFC 2308 §2.2.
            Kind::NoError if misses && has_soa => Kind::NoData,
            kind => kind,
        };
        let lifetime = match kind {
            Kind::ServerError => options.servfail,
            Kind::NameError | Kind::NoData => {
                seconds(options.denial.clamp(least_ttl(kind, reply, options.denial.max)))
            }
            _ => seconds(options.success.clamp(least_ttl(kind, reply, options.success.max))),
        };
        let refusal = if reply.flags.has(Flags::TC) {
            Some("it is truncated")
        } else {
            match kind {
                Kind::OtherError => Some("it is an error, a contradiction or has an expired signature"),
                Kind::Meta | Kind::Update => Some("it is no answer to a plain query"),
                Kind::NameError if !has_soa => Some("it denies a name without an SOA record"),
                Kind::NoError if misses && !has_soa => {
                    Some("its aliases lead nowhere and there is no SOA record")
                }
                _ if lifetime.is_zero() => Some("its time to live is 0"),
                _ => None,
            }
        };
        Verdict { kind, lifetime, answering, refusal }
    }

    pub fn ttl(&self) -> u32 {
        u32::try_from(self.lifetime.as_secs()).unwrap_or(u32::MAX)
    }

    /// Whether it belongs to the successes.
    pub fn is_success(&self) -> bool {
        matches!(self.kind, Kind::NoError | Kind::Delegation)
    }

    /// A whole positive answer, whatever it lives.
    pub fn is_usable_answer(&self, reply: &Reply) -> bool {
        self.kind == Kind::NoError && self.answering && !reply.flags.has(Flags::TC)
    }
}

/// Whether it is an answer of addresses, ports and names, or a denial with nothing but its SOA record, all with one time to
/// live that lies within the limits: a [`Verdict`] would find nothing to change and no reason against keeping it.
pub(super) fn is_usual(query: &Query, reply: &Reply, options: &Options) -> bool {
    const PLAIN: [Rtype; 4] = [Rtype::A, Rtype::AAAA, Rtype::SRV, Rtype::PTR];
    let [first, others @ ..] = reply.records() else { return false };
    let answers = reply.section(Section::Answer).len();
    let limits = match reply.rcode {
        Rcode::NOERROR if answers > 0 => {
            let all_plain = reply.records().iter().all(|record| PLAIN.contains(&record.rtype));
            let answering = first.rtype == query.question.qtype
                && first.class == query.question.qclass
                && first.owner == Owner::Question(0);
            if !all_plain || !answering {
                return false;
            }
            &options.success
        }
        Rcode::NOERROR | Rcode::NXDOMAIN if answers == 0 => {
            let soa_alone = others.is_empty() && first.rtype == Rtype::SOA;
            if !soa_alone || reply.section(Section::Authority).is_empty() {
                return false;
            }
            &options.denial
        }
        _ => return false,
    };
    others.iter().all(|record| record.ttl == first.ttl)
        && first.ttl != 0
        && limits.clamp(first.ttl) == first.ttl
        && reply.opcode == Opcode::QUERY
        && reply.opt.is_none()
        && is_reply(reply)
        && !reply.flags.has(Flags::TC)
        && !matches!(query.question.qtype, Rtype::AXFR | Rtype::IXFR)
}

/// Whether a reply may take the place of a stale one (RFC 8767 §4).
pub(super) fn refreshes(query: &Query, reply: &Reply) -> bool {
    !reply.flags.has(Flags::TC)
        && is_reply(reply)
        && matches!(reply.rcode, Rcode::NOERROR | Rcode::NXDOMAIN)
        && !matches!(Kind::of_reply(query, reply), Kind::OtherError | Kind::Meta | Kind::Update)
}

/// Whether it says of itself that it is a reply. Whose question it answers need not be asked: what comes this far has
/// no question but the one that went down.
pub(super) fn is_reply(reply: &Reply) -> bool {
    reply.flags.has(Flags::QR)
}

fn seconds(ttl: u32) -> Duration {
    Duration::from_secs(ttl.into())
}

/// The lowest time to live in the reply, if that says anything about it.
fn least_ttl(kind: Kind, reply: &Reply, most: u32) -> u32 {
    if !matches!(kind, Kind::NoError | Kind::NameError | Kind::NoData) || reply.records().is_empty() {
        return SHORT;
    }
    reply.records().iter().map(|record| record.ttl).fold(most, u32::min)
}

/// Whether a NOERROR reply holds what was asked for, at the end of the aliases that start at the question.
fn answers_question(query: &Query, reply: &Reply) -> bool {
    if reply.rcode != Rcode::NOERROR || reply.section(Section::Answer).is_empty() {
        return false;
    }
    let answer = Answer { reply, qname: query.question.name(), qclass: query.question.qclass };
    let qtype = query.question.qtype;
    match qtype {
        Rtype::ANY => answer.has(answer.qname, |_| true),
        Rtype::CNAME => matches!(answer.alias(answer.qname), Ok(Some(_))),
        _ => answer.end_of_aliases().is_some_and(|name| answer.has(name, |rtype| rtype == qtype)),
    }
}

/// The answer section, to follow aliases in.
struct Answer<'a> {
    reply: &'a Reply,
    qname: Name<'a>,
    qclass: Class,
}

/// A name with more than one alias.
struct Ambiguous;

impl<'a> Answer<'a> {
    fn has(&self, name: Name<'_>, wanted: impl Fn(Rtype) -> bool) -> bool {
        self.reply
            .section(Section::Answer)
            .iter()
            .any(|record| wanted(record.rtype) && self.is_class(record.class) && self.owns(record, name))
    }

    /// Whether it is the name's record. Most are those of the question, and say so without being compared.
    fn owns(&self, record: &Record, name: Name<'_>) -> bool {
        (record.owner == Owner::Question(0) && std::ptr::eq(name.wire(), self.qname.wire()))
            || self.reply.owner(record, self.qname).eq_ignore_case(name)
    }

    fn is_class(&self, class: Class) -> bool {
        self.qclass == Class::ANY || class == self.qclass
    }

    /// Where the name's alias points, if it has one. The same alias may be there twice.
    fn alias(&self, name: Name<'_>) -> Result<Option<Name<'a>>, Ambiguous> {
        let mut found: Option<Name<'a>> = None;
        for record in self.reply.section(Section::Answer) {
            if record.rtype != Rtype::CNAME || !self.is_class(record.class) || !self.owns(record, name) {
                continue;
            }
            let target = Name::from_wire(self.reply.data(record)).ok_or(Ambiguous)?;
            if found.is_some_and(|before| !before.eq_ignore_case(target)) {
                return Err(Ambiguous);
            }
            found = Some(target);
        }
        Ok(found)
    }

    /// The name without a further alias; None if there are two ways or a circle.
    fn end_of_aliases(&self) -> Option<Name<'a>> {
        let mut name = self.qname;
        // Every step takes a record of its own, unless it comes round again.
        for _ in 0..=self.reply.section(Section::Answer).len() {
            match self.alias(name) {
                Ok(Some(target)) => name = target,
                Ok(None) => return Some(name),
                Err(Ambiguous) => return None,
            }
        }
        None
    }
}
