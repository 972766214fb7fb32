//! Makes AAAA records out of A records for clients that have IPv6 only (RFC 6147).
//!
//! ```text
//!   AAAA ─→ below ─→ has AAAA, or the name is denied ─→ the client
//!                 └→ anything else ─→ A, asked of the whole server ─→ its reply, with AAAA made out of A
//! ```

mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Found, Hooks, Link, Lookup, Outcome, Plugin, Turn, Visit, task};
use wire::{Class, Flags, Rcode, Reply, Rtype, Section};

use crate::kind::Kind;
use crate::translation::{Pref64, Translated, longest_life, opt_of, owner};
pub(crate) use setup::setup;

struct Dns64 {
    /// Translates replies to clients that come over IPv4 too.
    allow_ipv4: bool,
    /// Translates where there are AAAA records too.
    translate_all: bool,
    translator: Arc<Translator>,
}

/// What is needed when the A records have come.
struct Translator {
    prefix: Pref64,
    translated: Translated,
}

impl Plugin for Dns64 {
    fn name(&self) -> &'static str {
        "dns64"
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let question = &visit.query.question;
        if question.qtype != Rtype::AAAA || question.qclass != Class::IN {
            return Turn::Up;
        }
        if let Some(why) = self.why_not(visit) {
            visit.note(|_| why.to_owned());
            return Turn::Up;
        }
        let translator = self.translator.clone();
        let most = longest_life(visit.reply);
        // CoreDNS asks in lower case, and so the client sees it.
        let name = visit.query.question.lower().to_buf();
        visit.note(|_| format!("no AAAA record to keep; asks for A of {name}"));
        match visit.lookup(name.as_name(), Rtype::A) {
            Lookup::Ready(found) => translator.answer(visit, &found, most),
            Lookup::Pending(below) => {
                return Turn::Wait(task(below, move |found, visit| {
                    translator.answer(visit, &found, most);
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

impl Dns64 {
    /// Why the reply is good as it is, if it is.
    fn why_not(&self, visit: &Visit<'_>) -> Option<&'static str> {
        if !self.allow_ipv4 && visit.client.remote.ip().to_canonical().is_ipv4() {
            return Some("the client comes over IPv4 and needs no translation");
        }
        // All other errors are as good as an empty answer (RFC 6147 §5.1.2 and §5.1.3).
        if Kind::of_reply(visit.query, visit.reply) == Kind::NameError {
            return Some("there is no such name, so there are no A records either");
        }
        let has_aaaa = || visit.reply.section(Section::Answer).iter().any(|r| r.rtype == Rtype::AAAA);
        (!self.translate_all && has_aaaa()).then_some("there are AAAA records")
    }
}

impl Translator {
    /// Answers with what came for A.
    fn answer(&self, visit: &mut Visit<'_>, found: &Found, most: u32) {
        visit.clear_error();
        if found.outcome() == Outcome::Drop {
            visit.reply.begin_error(visit.query, Rcode::SERVFAIL);
            visit.set_outcome(Outcome::Failure);
            visit.set_error("dns64: upstream returned no response");
            return;
        }
        let made = self.translate(visit, found, most);
        self.translated.count(visit.server());
        visit.note(|_| format!("AAAA records made out of A records, in {}: {made}", self.prefix));
    }

    /// All is as it is in the reply for A, but for the addresses (RFC 6147 §5.3). How many were made.
    fn translate(&self, visit: &mut Visit<'_>, found: &Found, most: u32) -> usize {
        let (inner, inner_name) = (found.reply(), found.query().question.name());
        let question = visit.query.question.name();
        let reply: &mut Reply = visit.reply;
        reply.begin(visit.query);
        reply.rcode = inner.rcode;
        reply.flags.set(Flags::TC, inner.flags.has(Flags::TC));
        reply.opt = opt_of(inner, visit.query);
        let mut made = 0;
        for record in inner.section(Section::Answer) {
            let owner = owner(reply, inner.owner(record, inner_name), question);
            let data = inner.data(record);
            if record.rtype != Rtype::A {
                reply.push_with(Section::Answer, owner, record.rtype, record.class, record.ttl, |out| {
                    out.bytes(data);
                });
                continue;
            }
            let ttl = record.ttl.min(most);
            reply.push_with(Section::Answer, owner, Rtype::AAAA, record.class, ttl, |out| {
                if let Ok(address) = <[u8; 4]>::try_from(data) {
                    out.bytes(&self.prefix.embed(address));
                }
            });
            made += 1;
        }
        reply.append(Section::Authority, inner, inner_name);
        reply.append(Section::Additional, inner, inner_name);
        made
    }
}
