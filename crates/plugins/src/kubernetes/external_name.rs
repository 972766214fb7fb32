//! ExternalName Services: CNAME records, and what is behind them.
//!
//! ```text
//! name ─→ Service ─→ target in our zone ─→ looked up here, again and again
//!                 └→ target elsewhere   ─→ asked of the whole server
//! ```
//!
//! A chain that leads nowhere inside our zone is not told at all.

use server::{Found as Answered, Lookup, Outcome, Step, Visit, task};
use wire::{Flags, NameBuf, Owner, Question, Rcode, Reply, Section};

use super::answer;
use super::apex::Soa;
use super::find::Ask;
use crate::records::push_cname;

/// A chain may be one longer than this.
const MOST_LINKS: usize = 10;

/// Where a chain of names ends.
pub(super) enum End {
    /// Inside, with an answer; the reply holds it.
    Answered,
    /// Inside, with nothing of the type.
    Nowhere,
    /// At a name that others know.
    Elsewhere(Chain),
}

/// The targets of CNAME records, each the owner of the next.
pub(super) struct Chain(Vec<NameBuf>);

/// A target as a name; the API checks them, but manifests may hold anything.
pub(super) fn target(text: &str) -> Option<NameBuf> {
    NameBuf::parse(text).ok()
}

/// Follows the chain from a Service as far as our zone goes. The reply must be begun.
pub(super) fn follow(ask: &Ask<'_>, question: &Question, reply: &mut Reply, alias: &str) -> End {
    let zone = ask.zone.name.as_name();
    let mut chain = Chain(Vec::new());
    let mut name = ask.name.to_buf();
    let mut next = target(alias);
    while let Some(target) = next {
        let links = &chain.0;
        // A name under the one asked for would lead back to it.
        if target.as_name().is_under(name.as_name()) || links.len() > MOST_LINKS || links.contains(&target) {
            return End::Nowhere;
        }
        let lower = target.as_name().to_lower();
        chain.0.push(target);
        let Some(at) = lower.as_name().offset_of(zone) else { return End::Elsewhere(chain) };
        let here = Ask { name: lower.as_name(), at, ..*ask };
        let found = here.find();
        let Some(alias) = found.alias() else {
            let owner = chain.push_to(reply, ask.plugin.options.ttl);
            let count = answer::found(&here, &found, reply, owner, question.qtype);
            return if count > 0 { End::Answered } else { End::Nowhere };
        };
        next = self::target(alias);
        name.set(lower.as_name());
    }
    End::Nowhere
}

impl Chain {
    /// Adds the CNAME records; gives the owner of what comes behind the last.
    fn push_to(&self, reply: &mut Reply, ttl: u32) -> Owner {
        let mut owner = Owner::Question(0);
        for target in &self.0 {
            push_cname(reply, owner, ttl, target.as_name());
            owner = reply.store(target.as_name());
        }
        owner
    }

    /// Asks the whole server for the end of the chain. If not even a denial comes back, `soa` is one.
    pub fn ask(self, visit: &mut Visit<'_>, ttl: u32, soa: Soa) -> Step {
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
        // Whatever the code is: a name that others deny is still the name of this Service.
        let inner = found.reply();
        reply.flags.set(Flags::TC, inner.flags.has(Flags::TC));
        if found.outcome() == Outcome::Records {
            reply.append(Section::Answer, inner, found.query().question.name());
        }
        Step::Answer
    }
}
