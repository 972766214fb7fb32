//! Whether a reply may be cached, as which kind, and for how long.

use std::time::Duration;

use wire::{Class, Flags, Name, Opcode, Owner, Query, Rcode, Record, Reply, Rtype, Section};

use super::options::Options;
use crate::messages::kind::Kind;

/// Lifetime of replies whose records give none.
const DEFAULT_TTL: u32 = 5;

/// Whether and how a reply may be cached.
pub(super) struct Cacheability {
    pub kind: Kind,
    /// TTL given to its records, also if the reply is not cached.
    pub lifetime: Duration,
    /// Its records answer the question.
    pub answering: bool,
    /// Why the reply must not be cached.
    pub refusal: Option<&'static str>,
}

impl Cacheability {
    pub fn of(query: &Query, reply: &Reply, options: &Options) -> Cacheability {
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
            Some("truncated")
        } else {
            match kind {
                Kind::OtherError => Some("error reply, contradictory reply or expired signature"),
                Kind::Meta | Kind::Update => Some("not a reply to an ordinary query"),
                Kind::NameError if !has_soa => Some("NXDOMAIN without an SOA record"),
                Kind::NoError if misses && !has_soa => {
                    Some("CNAME target not in the reply, and no SOA record")
                }
                _ if lifetime.is_zero() => Some("TTL is 0"),
                _ => None,
            }
        };
        Cacheability { kind, lifetime, answering, refusal }
    }

    pub fn ttl(&self) -> u32 {
        u32::try_from(self.lifetime.as_secs()).unwrap_or(u32::MAX)
    }

    /// Whether it goes into the store of successes.
    pub fn is_success(&self) -> bool {
        matches!(self.kind, Kind::NoError | Kind::Delegation)
    }

    /// Whether it is a complete positive answer, of any lifetime.
    pub fn is_usable_answer(&self, reply: &Reply) -> bool {
        self.kind == Kind::NoError && self.answering && !reply.flags.has(Flags::TC)
    }
}

/// Fast path: whether the reply has only A, AAAA, SRV and PTR records, or denies with nothing but an SOA record, all
/// with one TTL within the limits. [`Cacheability::of`] would find it cacheable and change no TTL.
pub(super) fn is_common(query: &Query, reply: &Reply, options: &Options) -> bool {
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

/// Whether a reply may replace a stale entry (RFC 8767 §4).
pub(super) fn may_replace_stale(query: &Query, reply: &Reply) -> bool {
    !reply.flags.has(Flags::TC)
        && is_reply(reply)
        && matches!(reply.rcode, Rcode::NOERROR | Rcode::NXDOMAIN)
        && !matches!(Kind::of_reply(query, reply), Kind::OtherError | Kind::Meta | Kind::Update)
}

/// Whether QR is set. The question need not be compared: a walk has only one.
pub(super) fn is_reply(reply: &Reply) -> bool {
    reply.flags.has(Flags::QR)
}

fn seconds(ttl: u32) -> Duration {
    Duration::from_secs(ttl.into())
}

/// The lowest TTL in the reply; a default for kinds whose TTLs do not count.
fn least_ttl(kind: Kind, reply: &Reply, most: u32) -> u32 {
    if !matches!(kind, Kind::NoError | Kind::NameError | Kind::NoData) || reply.records().is_empty() {
        return DEFAULT_TTL;
    }
    reply.records().iter().map(|record| record.ttl).fold(most, u32::min)
}

/// Whether a NOERROR reply has the queried type at the end of the CNAME chain that starts at the question.
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

/// The answer section, for following aliases.
struct Answer<'a> {
    reply: &'a Reply,
    qname: Name<'a>,
    qclass: Class,
}

/// A name with more than one alias.
struct Ambiguous;

impl<'a> Answer<'a> {
    fn has(&self, name: Name<'_>, matches: impl Fn(Rtype) -> bool) -> bool {
        self.reply
            .section(Section::Answer)
            .iter()
            .any(|record| matches(record.rtype) && self.is_class(record.class) && self.owns(record, name))
    }

    /// Whether `name` owns the record. Most records refer to the question, which saves the comparison.
    fn owns(&self, record: &Record, name: Name<'_>) -> bool {
        (record.owner == Owner::Question(0) && std::ptr::eq(name.wire(), self.qname.wire()))
            || self.reply.owner(record, self.qname).eq_ignore_case(name)
    }

    fn is_class(&self, class: Class) -> bool {
        self.qclass == Class::ANY || class == self.qclass
    }

    /// The target of the name's CNAME record, if any. The same record may be present twice.
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

    /// The end of the CNAME chain; None if it forks or loops.
    fn end_of_aliases(&self) -> Option<Name<'a>> {
        let mut name = self.qname;
        // A chain without a loop has at most one step per record.
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
