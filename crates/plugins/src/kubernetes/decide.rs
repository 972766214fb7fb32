//! Decides the answer by query type.

use wire::{Class, Flags, Owner, Query, Reply, Rtype, Section};

use super::apex::{self, Soa};
use super::external_name::{self, Chain, ChainEnd};
use super::find::{LookupResult, NameLookup, Services};
use super::{answer, reverse};
use crate::messages::records::push_cname;

/// The version of the Kubernetes DNS specification.
const VERSION: &[u8] = b"1.1.0";
const VERSION_TTL: u32 = 28800;

/// The answer to a query.
pub(super) enum Verdict {
    /// The reply is complete.
    Answered,
    /// The name exists without records of the type.
    NoData,
    NxDomain,
    /// The CNAME chain leaves the zone; its end must be looked up through the whole server.
    External(Chain),
    /// A zone transfer, which this plugin does not serve.
    Refused,
}

pub(super) fn decide(lookup: &NameLookup<'_>, query: &Query, reply: &mut Reply) -> Verdict {
    reply.begin(query);
    reply.flags.set(Flags::AA, true);
    let question = &query.question;
    match question.qtype {
        Rtype::AXFR | Rtype::IXFR => return Verdict::Refused,
        Rtype::SOA if lookup.is_apex() => Soa::of(lookup).push_to(reply, Section::Answer, question),
        // A name that does not exist is NODATA here, unlike for other types.
        Rtype::SOA => {}
        Rtype::NS if lookup.is_apex() => apex::name_servers(lookup, question, reply),
        Rtype::PTR => {
            return match crate::messages::reverse::address(lookup.name) {
                Some(address) if reverse::answer(lookup, reply, address) => Verdict::Answered,
                Some(_) => Verdict::NxDomain,
                None => denial(&lookup.find()),
            };
        }
        Rtype::TXT if lookup.is_version() => push_version(reply),
        Rtype::TXT => return text(&lookup.find()),
        Rtype::A | Rtype::AAAA if lookup.is_name_server() => {
            answer::push_addresses(
                lookup,
                &LookupResult::EmptyNonTerminal,
                reply,
                Owner::Question(0),
                question.qtype,
            );
        }
        _ if lookup.is_name_server() => {}
        Rtype::A | Rtype::AAAA => return addresses(lookup, query, reply),
        Rtype::SRV => return srv(lookup, query, reply),
        Rtype::CNAME => return cname(lookup, reply),
        _ => return denial(&lookup.find()),
    }
    answered(reply)
}

fn answered(reply: &Reply) -> Verdict {
    if reply.section(Section::Answer).is_empty() { Verdict::NoData } else { Verdict::Answered }
}

/// NODATA or NXDOMAIN, for a type that the name cannot have.
fn denial(found: &LookupResult<'_>) -> Verdict {
    match found {
        LookupResult::NoName => Verdict::NxDomain,
        LookupResult::Services(services) if !services.name_exists() => Verdict::NxDomain,
        LookupResult::EmptyNonTerminal | LookupResult::Pod { .. } | LookupResult::Services(_) => {
            Verdict::NoData
        }
    }
}

fn addresses(lookup: &NameLookup<'_>, query: &Query, reply: &mut Reply) -> Verdict {
    let location = lookup.locate();
    if let Some(own) = location.own_addresses(lookup) {
        let count = answer::push_own_addresses(reply, query.question.qtype, lookup.plugin.options.ttl, own);
        return if count > 0 { Verdict::Answered } else { Verdict::NoData };
    }
    let found = location.resolve(lookup);
    if let Some(alias) = found.alias() {
        return follow(lookup, query, reply, alias);
    }
    let count = answer::push_addresses(lookup, &found, reply, Owner::Question(0), query.question.qtype);
    if count > 0 { Verdict::Answered } else { denial(&found) }
}

fn follow(lookup: &NameLookup<'_>, query: &Query, reply: &mut Reply, alias: &str) -> Verdict {
    match external_name::follow(lookup, &query.question, reply, alias) {
        ChainEnd::Answered => Verdict::Answered,
        ChainEnd::NoData => Verdict::NoData,
        ChainEnd::External(chain) => Verdict::External(chain),
    }
}

fn srv(lookup: &NameLookup<'_>, query: &Query, reply: &mut Reply) -> Verdict {
    let found = lookup.find();
    match &found {
        LookupResult::Services(services) => answer::srv(lookup, reply, &query.question, services),
        LookupResult::Pod { address, pods } => {
            // A target name that is too long has no record.
            let _ = answer::pod_srv(lookup, reply, &query.question, *address, *pods);
        }
        LookupResult::NoName | LookupResult::EmptyNonTerminal => {}
    }
    match answered(reply) {
        Verdict::Answered => Verdict::Answered,
        _ => denial(&found),
    }
}

fn cname(lookup: &NameLookup<'_>, reply: &mut Reply) -> Verdict {
    let found = lookup.find();
    match found.alias().and_then(external_name::target) {
        Some(target) => {
            let ttl = lookup.plugin.options.ttl;
            push_cname(reply, Owner::Question(0), ttl, target.as_name());
            Verdict::Answered
        }
        None => denial(&found),
    }
}

/// TXT: unlike for other types, an empty non-terminal is NXDOMAIN, as in CoreDNS.
fn text(found: &LookupResult<'_>) -> Verdict {
    let exists = |services: &Services<'_>| services.has_records() || services.filter.zone.is_some();
    match found {
        LookupResult::Pod { .. } => Verdict::NoData,
        LookupResult::Services(services) if exists(services) => Verdict::NoData,
        _ => Verdict::NxDomain,
    }
}

fn push_version(reply: &mut Reply) {
    reply.push_with(Section::Answer, Owner::Question(0), Rtype::TXT, Class::IN, VERSION_TTL, |out| {
        out.text(VERSION);
    });
}
