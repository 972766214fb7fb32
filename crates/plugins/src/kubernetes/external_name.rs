//! ExternalName Services: CNAME records, and the records of their targets.
//!
//! ```text
//! name ─→ Service ─→ target in our zone ─→ looked up here, link by link
//!                 └→ other target       ─→ looked up through the whole server
//! ```
//!
//! A chain that ends inside our zone without an answer is NODATA, without its CNAME records.

use server::{Lookup, LookupResult as Answered, Outcome, Step, Visit, task};
use wire::{Flags, NameBuf, Owner, Question, Rcode, Reply, Section};

use super::answer;
use super::apex::Soa;
use super::find::NameLookup;
use crate::messages::records::push_cname;

/// Links followed after the first one.
const MAX_LINKS: usize = 10;

/// Where a chain of names ends.
pub(super) enum ChainEnd {
    /// Inside the zone, with an answer; the reply is complete.
    Answered,
    /// Inside the zone, without records of the type.
    NoData,
    /// At a name outside of the zone.
    External(Chain),
}

/// The targets of CNAME records, each the owner of the next.
pub(super) struct Chain(Vec<NameBuf>);

/// A target as a name; the API server validates targets, manifests may contain anything.
pub(super) fn target(text: &str) -> Option<NameBuf> {
    NameBuf::parse(text).ok()
}

/// Follows the chain from a Service while it stays in our zone. The reply must be begun.
pub(super) fn follow(
    lookup: &NameLookup<'_>,
    question: &Question,
    reply: &mut Reply,
    alias: &str,
) -> ChainEnd {
    let zone = lookup.zone.name.as_name();
    let mut chain = Chain(Vec::new());
    let mut name = lookup.name.to_buf();
    let mut next = target(alias);
    while let Some(target) = next {
        let links = &chain.0;
        // A target below the name would loop.
        if target.as_name().is_under(name.as_name()) || links.len() > MAX_LINKS || links.contains(&target) {
            return ChainEnd::NoData;
        }
        let lower = target.as_name().to_lower();
        chain.0.push(target);
        let Some(at) = lower.as_name().offset_of(zone) else { return ChainEnd::External(chain) };
        let link = NameLookup { name: lower.as_name(), at, ..*lookup };
        let found = link.find();
        let Some(alias) = found.alias() else {
            let owner = chain.push_to(reply, lookup.plugin.options.ttl);
            let count = answer::push_addresses(&link, &found, reply, owner, question.qtype);
            return if count > 0 { ChainEnd::Answered } else { ChainEnd::NoData };
        };
        next = self::target(alias);
        name.set(lower.as_name());
    }
    ChainEnd::NoData
}

impl Chain {
    /// Writes the CNAME records; returns the owner of the records after the last.
    fn push_to(&self, reply: &mut Reply, ttl: u32) -> Owner {
        let mut owner = Owner::Question(0);
        for target in &self.0 {
            push_cname(reply, owner, ttl, target.as_name());
            owner = reply.store(target.as_name());
        }
        owner
    }

    /// Looks the end of the chain up through the whole server; `soa` is for the NODATA reply if that query is dropped.
    pub fn lookup(self, visit: &mut Visit<'_>, ttl: u32, soa: Soa) -> Step {
        let Some(last) = self.0.last() else { return Step::fail(Rcode::SERVFAIL) };
        let qtype = visit.query.question.qtype;
        match visit.lookup(last.as_name(), qtype) {
            Lookup::Ready(found) => self.finish(visit, &found, ttl, soa),
            Lookup::Pending(below) => {
                Step::Wait(task(below, move |found, visit| self.finish(visit, &found, ttl, soa)))
            }
        }
    }

    fn finish(self, visit: &mut Visit<'_>, found: &Answered, ttl: u32, soa: Soa) -> Step {
        if found.outcome() == Outcome::Drop {
            soa.deny(visit.query, visit.reply, Rcode::NOERROR);
            return Step::Answer;
        }
        let reply = visit.begin();
        reply.flags.set(Flags::AA, true);
        self.push_to(reply, ttl);
        // Whatever the rcode: the CNAME of the Service holds even if its target does not exist.
        let inner = found.reply();
        reply.flags.set(Flags::TC, inner.flags.has(Flags::TC));
        if found.outcome() == Outcome::Records {
            reply.append(Section::Answer, inner, found.query().question.name());
        }
        Step::Answer
    }
}
