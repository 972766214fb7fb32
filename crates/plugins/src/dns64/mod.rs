//! Synthesizes AAAA records from A records for IPv6-only clients (RFC 6147).
//!
//! ```text
//!   AAAA ─→ below ─→ has AAAA, or NXDOMAIN ─→ the client
//!                 └→ anything else ─→ look-up of A on the whole server ─→ its reply, with AAAA instead of A
//! ```

mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Hooks, Lookup, LookupResult, Outcome, Plugin, Turn, Visit, task};
use wire::{Class, Flags, Rcode, Reply, Rtype, Section};

use crate::messages::kind::Kind;
use crate::messages::translation::{Pref64, max_ttl, opt_of, owner};
use crate::server_counter::ServerCounter;
pub(crate) use setup::setup;

const NAME: &str = "dns64";

struct Dns64 {
    /// Translates for clients over IPv4 too.
    allow_ipv4: bool,
    /// Translates even if the reply has AAAA records.
    translate_all: bool,
    translator: Arc<Translator>,
}

/// The part of the plugin that runs after the look-up of A.
struct Translator {
    prefix: Pref64,
    translated: ServerCounter,
}

impl Plugin for Dns64 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let question = &visit.query.question;
        if question.qtype != Rtype::AAAA || question.qclass != Class::IN {
            return Turn::Up;
        }
        if let Some(reason) = self.skip_reason(visit) {
            visit.note(|_| reason.to_owned());
            return Turn::Up;
        }
        let translator = self.translator.clone();
        let max_ttl = max_ttl(visit.reply);
        // CoreDNS looks up the name in lower case, and so the client gets it.
        let name = visit.query.question.lower().to_buf();
        visit.note(|_| format!("looks up A of {name} to synthesize AAAA records"));
        match visit.lookup(name.as_name(), Rtype::A) {
            Lookup::Ready(found) => translator.answer(visit, &found, max_ttl),
            Lookup::Pending(below) => {
                return Turn::Wait(task(below, move |found, visit| {
                    translator.answer(visit, &found, max_ttl);
                    Turn::Up
                }));
            }
        }
        Turn::Up
    }
}

impl Dns64 {
    /// The reason to leave the reply unchanged, if there is one.
    fn skip_reason(&self, visit: &Visit<'_>) -> Option<&'static str> {
        if !self.allow_ipv4 && visit.client.remote.ip().to_canonical().is_ipv4() {
            return Some("reply unchanged: the client uses IPv4, and allow_ipv4 is not set");
        }
        // All other errors are treated as an empty answer (RFC 6147 §5.1.2 and §5.1.3).
        if Kind::of_reply(visit.query, visit.reply) == Kind::NameError {
            return Some("reply unchanged: NXDOMAIN");
        }
        let has_aaaa = || visit.reply.section(Section::Answer).iter().any(|r| r.rtype == Rtype::AAAA);
        (!self.translate_all && has_aaaa()).then_some("reply unchanged: it has AAAA records")
    }
}

impl Translator {
    /// Answers with the translated reply for A.
    fn answer(&self, visit: &mut Visit<'_>, found: &LookupResult, max_ttl: u32) {
        visit.clear_error();
        if found.outcome() == Outcome::Drop {
            visit.reply.begin_error(visit.query, Rcode::SERVFAIL);
            visit.set_outcome(Outcome::Failure);
            visit.set_error("dns64: upstream returned no response");
            return;
        }
        let count = self.translate(visit, found, max_ttl);
        self.translated.count(visit);
        visit.note(|_| format!("synthesized {count} AAAA records in {}", self.prefix));
    }

    /// Copies the reply for A with AAAA instead of A records (RFC 6147 §5.3); returns their number.
    fn translate(&self, visit: &mut Visit<'_>, found: &LookupResult, max_ttl: u32) -> usize {
        let (inner, inner_name) = (found.reply(), found.query().question.name());
        let question = visit.query.question.name();
        let reply: &mut Reply = visit.reply;
        reply.begin(visit.query);
        reply.rcode = inner.rcode;
        reply.flags.set(Flags::TC, inner.flags.has(Flags::TC));
        reply.opt = opt_of(inner, visit.query);
        let mut count = 0;
        for record in inner.section(Section::Answer) {
            let owner = owner(reply, inner.owner(record, inner_name), question);
            let data = inner.data(record);
            if record.rtype != Rtype::A {
                reply.push_with(Section::Answer, owner, record.rtype, record.class, record.ttl, |out| {
                    out.bytes(data);
                });
                continue;
            }
            let ttl = record.ttl.min(max_ttl);
            reply.push_with(Section::Answer, owner, Rtype::AAAA, record.class, ttl, |out| {
                if let Ok(address) = <[u8; 4]>::try_from(data) {
                    out.bytes(&self.prefix.embed(address));
                }
            });
            count += 1;
        }
        reply.append(Section::Authority, inner, inner_name);
        reply.append(Section::Additional, inner, inner_name);
        count
    }
}
