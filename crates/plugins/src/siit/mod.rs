//! Makes A records out of AAAA records of services that have IPv6 only and are reached through a translator
//! (RFC 7915, RFC 7757).
//!
//! ```text
//!   A ─→ below ─→ has A, or the name is denied, or it is cut short ─→ the client
//!              └→ anything else ─→ AAAA, asked of the whole server ─→ an error: as it is
//!                                                                  └→ A made out of those that can be translated
//! ```

mod mapping;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Found, Hooks, Link, Lookup, Outcome, Plugin, Turn, Visit, task};
use wire::{Class, Flags, Rcode, Record, Reply, Rtype, Section};

use crate::kind::Kind;
use crate::translation::{Translated, longest_life, opt_of, owner};
use mapping::Mapping;
pub(crate) use setup::setup;

const NAME: &str = "siit";

/// CoreDNS answers these twice, with what came and then with the code alone. A client takes the first, a look-up the last.
const BARE: [Rcode; 4] = [Rcode::SERVFAIL, Rcode::REFUSED, Rcode::FORMERR, Rcode::NOTIMP];

struct Siit {
    translator: Arc<Translator>,
}

struct Translator {
    mapping: Mapping,
    translated: Translated,
}

impl Plugin for Siit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let question = &visit.query.question;
        if question.qtype != Rtype::A || question.qclass != Class::IN {
            return Turn::Up;
        }
        if let Some(why) = why_not(visit) {
            visit.note(|_| why.to_owned());
            return Turn::Up;
        }
        let translator = self.translator.clone();
        // CoreDNS asks in lower case, and so the client sees it.
        let name = visit.query.question.lower().to_buf();
        visit.note(|_| format!("no A record; asks for AAAA of {name}"));
        match visit.lookup(name.as_name(), Rtype::AAAA) {
            Lookup::Ready(found) => translator.answer(visit, &found),
            Lookup::Pending(below) => {
                return Turn::Wait(task(below, move |found, visit| {
                    translator.answer(visit, &found);
                    Turn::Up
                }));
            }
        }
        Turn::Up
    }

    fn link(&self, link: &Link<'_>) {
        self.translator.translated.link(link);
    }
}

/// Why the reply is good as it is, if it is.
fn why_not(visit: &Visit<'_>) -> Option<&'static str> {
    if visit.is_asked_by(NAME) {
        // Else `dns64` and this plugin would ask each other for ever.
        return Some("this is part of a translation already");
    }
    if visit.reply.flags.has(Flags::TC) {
        return Some("the reply is cut short; there may be A records");
    }
    if Kind::of_reply(visit.query, visit.reply) == Kind::NameError {
        return Some("there is no such name, so there are no AAAA records either");
    }
    let has_a = visit.reply.section(Section::Answer).iter().any(|record| record.rtype == Rtype::A);
    has_a.then_some("there are A records")
}

impl Translator {
    /// Answers with what came for AAAA, if that is of any use.
    fn answer(&self, visit: &mut Visit<'_>, found: &Found) {
        visit.clear_error();
        if found.outcome() == Outcome::Drop {
            visit.reply.begin_error(visit.query, Rcode::SERVFAIL);
            visit.set_outcome(Outcome::Failure);
            visit.set_error("siit: upstream lookup returned no response");
            return;
        }
        let inner = found.reply();
        if inner.rcode != Rcode::NOERROR {
            if visit.depth() > 0 && BARE.contains(&inner.rcode) {
                visit.reply.begin_error(visit.query, inner.rcode);
            } else {
                self.translate(visit, found);
            }
            visit.note(|_| format!("the look-up ended with {}, which is the answer", inner.rcode));
            return;
        }
        let answer = inner.section(Section::Answer).iter();
        let count = answer.filter(|record| self.mapped(inner, record).is_some()).count();
        if count == 0 {
            visit.note(|_| "none of the AAAA records can be translated; the answer stays".to_owned());
            return;
        }
        self.translate(visit, found);
        self.translated.count(visit.server());
        visit.note(|_| format!("A records made out of AAAA records: {count}"));
    }

    /// All is as it is in the reply for AAAA, but for the addresses. In an error these stay too.
    fn translate(&self, visit: &mut Visit<'_>, found: &Found) {
        let most = longest_life(visit.reply);
        let (inner, inner_name) = (found.reply(), found.query().question.name());
        let question = visit.query.question.name();
        let reply: &mut Reply = visit.reply;
        reply.begin(visit.query);
        reply.rcode = inner.rcode;
        for flag in [Flags::AA, Flags::RA, Flags::TC] {
            reply.flags.set(flag, inner.flags.has(flag));
        }
        reply.opt = opt_of(inner, visit.query);
        for record in inner.section(Section::Answer) {
            let address = match record.rtype {
                Rtype::AAAA if inner.rcode == Rcode::NOERROR => match self.mapped(inner, record) {
                    Some(address) => Some(address),
                    None => continue,
                },
                _ => None,
            };
            let owner = owner(reply, inner.owner(record, inner_name), question);
            match address {
                Some(address) => {
                    let ttl = record.ttl.min(most);
                    reply.push_with(Section::Answer, owner, Rtype::A, record.class, ttl, |out| {
                        out.bytes(&address);
                    });
                }
                None => {
                    reply.push_with(Section::Answer, owner, record.rtype, record.class, record.ttl, |out| {
                        out.bytes(inner.data(record));
                    });
                }
            }
        }
        reply.append(Section::Authority, inner, inner_name);
        reply.append(Section::Additional, inner, inner_name);
    }

    /// The IPv4 address for an AAAA record.
    fn mapped(&self, reply: &Reply, record: &Record) -> Option<[u8; 4]> {
        let address = <[u8; 16]>::try_from(reply.data(record)).ok()?;
        self.mapping.of(address).filter(|_| record.rtype == Rtype::AAAA)
    }
}
