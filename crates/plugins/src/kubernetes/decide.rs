//! What to answer, by the type that is asked for.

use wire::{Class, Flags, Owner, Query, Reply, Rtype, Section};

use super::apex::{self, Soa};
use super::external_name::{self, Chain, End};
use super::find::{Ask, Found, Services};
use super::{answer, reverse};
use crate::records::push_cname;

/// The version of the specification of the names.
const VERSION: &[u8] = b"1.1.0";
const VERSION_TTL: u32 = 28800;

/// What came of a question.
pub(super) enum Verdict {
    /// The reply is filled in.
    Answered,
    /// The name has nothing of the type.
    NoData,
    NoName,
    /// The name is another one's, whom others must be asked for.
    Elsewhere(Chain),
    /// Whole zones are given away by others.
    Refused,
}

pub(super) fn decide(ask: &Ask<'_>, query: &Query, reply: &mut Reply) -> Verdict {
    reply.begin(query);
    reply.flags.set(Flags::AA, true);
    let question = &query.question;
    match question.qtype {
        Rtype::AXFR | Rtype::IXFR => return Verdict::Refused,
        Rtype::SOA if ask.is_apex() => Soa::of(ask).push_to(reply, Section::Answer, question),
        // Names that are not there are not denied for this type, only for the others.
        Rtype::SOA => {}
        Rtype::NS if ask.is_apex() => apex::name_servers(ask, question, reply),
        Rtype::PTR => {
            return match crate::reverse::address(ask.name) {
                Some(address) if reverse::answer(ask, reply, address) => Verdict::Answered,
                Some(_) => Verdict::NoName,
                None => existence(&ask.find()),
            };
        }
        Rtype::TXT if ask.is_version() => push_version(reply),
        Rtype::TXT => return text(&ask.find()),
        Rtype::A | Rtype::AAAA if ask.is_name_server() => {
            answer::found(ask, &Found::Empty, reply, Owner::Question(0), question.qtype);
        }
        _ if ask.is_name_server() => {}
        Rtype::A | Rtype::AAAA => return addresses(ask, query, reply),
        Rtype::SRV => return srv(ask, query, reply),
        Rtype::CNAME => return cname(ask, reply),
        _ => return existence(&ask.find()),
    }
    answered(reply)
}

fn answered(reply: &Reply) -> Verdict {
    if reply.section(Section::Answer).is_empty() { Verdict::NoData } else { Verdict::Answered }
}

/// No record of the type can be there.
fn existence(found: &Found<'_>) -> Verdict {
    match found {
        Found::Nothing => Verdict::NoName,
        Found::Services(services) if !services.is_there() => Verdict::NoName,
        Found::Empty | Found::Pod { .. } | Found::Services(_) => Verdict::NoData,
    }
}

fn addresses(ask: &Ask<'_>, query: &Query, reply: &mut Reply) -> Verdict {
    let located = ask.locate();
    if let Some(own) = located.own_addresses(ask) {
        let count = answer::own_addresses(reply, query.question.qtype, ask.plugin.options.ttl, own);
        return if count > 0 { Verdict::Answered } else { Verdict::NoData };
    }
    let found = located.found(ask);
    if let Some(alias) = found.alias() {
        return follow(ask, query, reply, alias);
    }
    let count = answer::found(ask, &found, reply, Owner::Question(0), query.question.qtype);
    if count > 0 { Verdict::Answered } else { existence(&found) }
}

fn follow(ask: &Ask<'_>, query: &Query, reply: &mut Reply, alias: &str) -> Verdict {
    match external_name::follow(ask, &query.question, reply, alias) {
        End::Answered => Verdict::Answered,
        End::Nowhere => Verdict::NoData,
        End::Elsewhere(chain) => Verdict::Elsewhere(chain),
    }
}

fn srv(ask: &Ask<'_>, query: &Query, reply: &mut Reply) -> Verdict {
    let found = ask.find();
    match &found {
        Found::Services(services) => answer::srv(ask, reply, &query.question, services),
        Found::Pod { address, pods } => {
            // Too long a name has no record.
            let _ = answer::pod_srv(ask, reply, &query.question, *address, *pods);
        }
        Found::Nothing | Found::Empty => {}
    }
    match answered(reply) {
        Verdict::Answered => Verdict::Answered,
        _ => existence(&found),
    }
}

fn cname(ask: &Ask<'_>, reply: &mut Reply) -> Verdict {
    let found = ask.find();
    match found.alias().and_then(external_name::target) {
        Some(target) => {
            let ttl = ask.plugin.options.ttl;
            push_cname(reply, Owner::Question(0), ttl, target.as_name());
            Verdict::Answered
        }
        None => existence(&found),
    }
}

/// Names without records of their own are denied here, unlike for other types; CoreDNS does so.
fn text(found: &Found<'_>) -> Verdict {
    let exists = |services: &Services<'_>| services.has_records() || services.filter.zone.is_some();
    match found {
        Found::Pod { .. } => Verdict::NoData,
        Found::Services(services) if exists(services) => Verdict::NoData,
        _ => Verdict::NoName,
    }
}

fn push_version(reply: &mut Reply) {
    reply.push_with(Section::Answer, Owner::Question(0), Rtype::TXT, Class::IN, VERSION_TTL, |out| {
        out.text(VERSION);
    });
}
