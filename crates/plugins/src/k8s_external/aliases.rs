//! Load balancers that have a name instead of an address: the whole server is asked for it, once per name and type.

use std::collections::VecDeque;

use server::{Found, Lookup, Outcome, Step, Visit, task};
use wire::{Flags, NameBuf, Owner, Rtype, Section};

use crate::records::push_cname;

/// What is still to be asked.
struct Lookups {
    left: VecDeque<(NameBuf, Rtype)>,
    /// Aliases of the name that is asked for; else addresses beside SRV records.
    aliases: bool,
    ttl: u32,
}

/// Adds what is behind the names to the reply, which is begun. `ttl`: of the CNAME records that lead there.
pub(super) fn follow(visit: &mut Visit<'_>, names: Vec<NameBuf>, ttl: u32) -> Step {
    let qtype = visit.query.question.qtype;
    let aliases = qtype != Rtype::SRV;
    let left = if aliases {
        names.into_iter().map(|name| (name, qtype)).collect()
    } else {
        names.into_iter().flat_map(|name| [(name.clone(), Rtype::A), (name, Rtype::AAAA)]).collect()
    };
    Lookups { left, aliases, ttl }.go_on(visit)
}

impl Lookups {
    fn go_on(mut self, visit: &mut Visit<'_>) -> Step {
        while let Some((name, qtype)) = self.left.pop_front() {
            if self.aliases {
                push_cname(visit.reply, Owner::Question(0), self.ttl, name.as_name());
            }
            match visit.lookup(name.as_name(), qtype) {
                Lookup::Ready(found) => self.take(visit, &found),
                Lookup::Pending(below) => {
                    return Step::Wait(task(below, move |found, visit| {
                        self.take(visit, &found);
                        self.go_on(visit)
                    }));
                }
            }
        }
        Step::Answer
    }

    /// Adds the answer to a look-up. Whatever its code is: a name that others deny is still the balancer's.
    fn take(&self, visit: &mut Visit<'_>, found: &Found) {
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
