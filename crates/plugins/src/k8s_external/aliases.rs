//! Load balancers with a hostname instead of an address: looks it up through the whole server, once per name and type.

use std::collections::VecDeque;

use server::{Lookup, LookupResult, Outcome, Step, Visit, task};
use wire::{Flags, NameBuf, Owner, Rtype, Section};

use crate::messages::records::push_cname;

/// Pending lookups.
struct Lookups {
    pending: VecDeque<(NameBuf, Rtype)>,
    /// Whether the names are CNAME targets; else SRV targets, whose addresses are additional records.
    aliases: bool,
    ttl: u32,
}

/// Adds the records of the names to the reply, which must be begun. `ttl` is that of the CNAME records.
pub(super) fn follow(visit: &mut Visit<'_>, names: Vec<NameBuf>, ttl: u32) -> Step {
    let qtype = visit.query.question.qtype;
    let aliases = qtype != Rtype::SRV;
    let pending = if aliases {
        names.into_iter().map(|name| (name, qtype)).collect()
    } else {
        names.into_iter().flat_map(|name| [(name.clone(), Rtype::A), (name, Rtype::AAAA)]).collect()
    };
    Lookups { pending, aliases, ttl }.run(visit)
}

impl Lookups {
    fn run(mut self, visit: &mut Visit<'_>) -> Step {
        while let Some((name, qtype)) = self.pending.pop_front() {
            if self.aliases {
                push_cname(visit.reply, Owner::Question(0), self.ttl, name.as_name());
            }
            match visit.lookup(name.as_name(), qtype) {
                Lookup::Ready(found) => self.append(visit, &found),
                Lookup::Pending(below) => {
                    return Step::Wait(task(below, move |found, visit| {
                        self.append(visit, &found);
                        self.run(visit)
                    }));
                }
            }
        }
        Step::Answer
    }

    /// Appends the answer of a lookup, whatever its rcode: the load balancer's name holds even if it does not exist.
    fn append(&self, visit: &mut Visit<'_>, found: &LookupResult) {
        if found.outcome() != Outcome::Records {
            return;
        }
        let (inner, reply) = (found.reply(), &mut *visit.reply);
        let section = if self.aliases { Section::Answer } else { Section::Additional };
        for record in inner.section(Section::Answer) {
            let owner = reply.store(inner.owner(record, found.query().question.name()));
            reply.push_with(section, owner, record.rtype, record.class, record.ttl, |out| {
                out.bytes(inner.data(record));
            });
        }
        if self.aliases && inner.flags.has(Flags::TC) {
            reply.flags.set(Flags::TC, true);
        }
    }
}
