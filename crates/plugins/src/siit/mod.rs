//! Synthesizes A records from AAAA records of IPv6-only services behind a stateless translator (RFC 7915, RFC 7757).
//!
//! ```text
//!   A ─→ below ─→ has A, or NXDOMAIN, or truncated ─→ the client
//!              └→ anything else ─→ look-up of AAAA on the whole server ─→ error: unchanged
//!                                                                      └→ A for each AAAA with a mapping
//! ```

mod mapping;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Hooks, Lookup, LookupResult, Outcome, Plugin, Turn, Visit, task};
use wire::{Class, Flags, Rcode, Record, Reply, Rtype, Section};

use crate::messages::kind::Kind;
use crate::messages::translation::{max_ttl, opt_of, owner};
use crate::server_counter::ServerCounter;
use mapping::Mapping;
pub(crate) use setup::setup;

const NAME: &str = "siit";

/// With these rcodes CoreDNS writes two replies, the complete one and then the rcode alone. A client uses the first, a
/// look-up the last.
const REPLIED_TWICE: [Rcode; 4] = [Rcode::SERVFAIL, Rcode::REFUSED, Rcode::FORMERR, Rcode::NOTIMP];

struct Siit {
    translator: Arc<Translator>,
}

struct Translator {
    mapping: Mapping,
    translated: ServerCounter,
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
        if let Some(reason) = skip_reason(visit) {
            visit.note(|_| reason.to_owned());
            return Turn::Up;
        }
        let translator = self.translator.clone();
        // CoreDNS looks up the name in lower case, and so the client gets it.
        let name = visit.query.question.lower().to_buf();
        visit.note(|_| format!("looks up AAAA of {name} to synthesize A records"));
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
}

/// The reason to leave the reply unchanged, if there is one.
fn skip_reason(visit: &Visit<'_>) -> Option<&'static str> {
    if visit.is_lookup_by(NAME) {
        // Otherwise the look-ups of `dns64` and of this plugin would recurse without end.
        return Some("reply unchanged: the query is part of a look-up by siit");
    }
    if visit.reply.flags.has(Flags::TC) {
        return Some("reply unchanged: it is truncated and may have A records");
    }
    if Kind::of_reply(visit.query, visit.reply) == Kind::NameError {
        return Some("reply unchanged: NXDOMAIN");
    }
    let has_a = visit.reply.section(Section::Answer).iter().any(|record| record.rtype == Rtype::A);
    has_a.then_some("reply unchanged: it has A records")
}

impl Translator {
    /// Answers with the translated reply for AAAA, if it has an address with a mapping or is an error.
    fn answer(&self, visit: &mut Visit<'_>, found: &LookupResult) {
        visit.clear_error();
        if found.outcome() == Outcome::Drop {
            visit.reply.begin_error(visit.query, Rcode::SERVFAIL);
            visit.set_outcome(Outcome::Failure);
            visit.set_error("siit: upstream lookup returned no response");
            return;
        }
        let inner = found.reply();
        if inner.rcode != Rcode::NOERROR {
            if visit.depth() > 0 && REPLIED_TWICE.contains(&inner.rcode) {
                visit.reply.begin_error(visit.query, inner.rcode);
            } else {
                self.translate(visit, found);
            }
            visit.note(|_| format!("look-up failed; answers with its rcode {}", inner.rcode));
            return;
        }
        let answer = inner.section(Section::Answer).iter();
        let count = answer.filter(|record| self.mapped(inner, record).is_some()).count();
        if count == 0 {
            visit.note(|_| "reply unchanged: no AAAA record has an IPv4 mapping".to_owned());
            return;
        }
        self.translate(visit, found);
        self.translated.count(visit);
        visit.note(|_| format!("synthesized {count} A records"));
    }

    /// Copies the reply for AAAA with A instead of AAAA records; an error keeps its AAAA records.
    fn translate(&self, visit: &mut Visit<'_>, found: &LookupResult) {
        let max_ttl = max_ttl(visit.reply);
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
                    let ttl = record.ttl.min(max_ttl);
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
        self.mapping.ipv4(address).filter(|_| record.rtype == Rtype::AAAA)
    }
}
