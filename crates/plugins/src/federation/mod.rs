//! Kubernetes federation, version 1: a service of a federation is answered by this cluster if it has it, and else by
//! an alias into the federation's own domain, where all clusters publish theirs.
//!
//! ```text
//! nginx.shop.prod.svc.cluster.local
//!   ├─ asked below as  nginx.shop.svc.cluster.local ─→ found: that answer, under the name that was asked for
//!   └─ no such name:   CNAME nginx.shop.prod.svc.ZONE.REGION.DOMAIN, and what is found there
//! ```

mod name;
mod setup;
#[cfg(test)]
mod tests;

use server::{Found, Hooks, Lookup, Plugin, Step, Turn, Visit, task};
use wire::{Flags, NameBuf, Owner, Question, Rcode, Rtype, Section};

use name::Federated;
pub(crate) use setup::setup;

/// The alias stands in for a service that may come up here at any moment, so nobody is to keep it.
const TTL: u32 = 0;

struct Federation {
    zones: Vec<NameBuf>,
    members: Vec<Member>,
}

/// One federation this cluster is part of.
struct Member {
    /// Its name, a label in lower case.
    label: Vec<u8>,
    /// What comes after the namespace in an alias: `NAME.svc.ZONE.REGION.DOMAIN.`
    suffix: NameBuf,
}

impl Plugin for Federation {
    fn name(&self) -> &'static str {
        "federation"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        let Some((federated, at)) = self.find(question) else { return Step::Next };
        let Some(local) = federated.local(question.name()) else { return Step::Next };
        let asked = Question::new(local.as_name(), question.qtype, question.qclass);
        visit.slot().words[0] = at as u64 + 1;
        visit.note(|_| format!("a name of the federation {}: asks for {local} first", self.name_of(at)));
        visit.ask(asked);
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        // Nothing else of the walk tells for sure whether this plugin changed the question.
        if visit.slot().words[0] == 0 {
            return Turn::Up;
        }
        if visit.reply.rcode != Rcode::NXDOMAIN {
            put_name_back(visit);
            return Turn::Up;
        }
        let question = &visit.query.question;
        let (qtype, qclass) = (question.qtype, question.qclass);
        let target = self.find(question).and_then(|(name, at)| name.alias(&self.members.get(at)?.suffix));
        // An alias too long to be a name: the denial is all there is.
        let Some(target) = target else { return Turn::Up };
        visit.note(|_| format!("not in this cluster: an alias for {target}"));
        let reply = visit.begin();
        reply.flags.set(Flags::AA, true);
        reply.push_with(Section::Answer, Owner::Question(0), Rtype::CNAME, qclass, TTL, |data| {
            data.name(target.as_name());
        });
        if qtype == Rtype::CNAME {
            return Turn::Up;
        }
        match visit.lookup(target.as_name(), qtype) {
            Lookup::Ready(found) => append(&found, visit),
            Lookup::Pending(below) => Turn::Wait(task(below, |found, visit| append(&found, visit))),
        }
    }
}

impl Federation {
    /// The parts of the name, if it is one of a service in one of the federations, and which of them that is.
    fn find<'q>(&self, question: &'q Question) -> Option<(Federated<'q>, usize)> {
        let name = question.lower();
        let within = self.zones.iter().filter_map(|zone| name.offset_of(zone.as_name()));
        // The zone with the least left of it is the longest one.
        let federated = Federated::read(name, within.min()?)?;
        let at = self.members.iter().position(|member| member.label == federated.federation)?;
        Some((federated, at))
    }

    fn name_of(&self, at: usize) -> String {
        self.members.get(at).map(|member| String::from_utf8_lossy(&member.label).into()).unwrap_or_default()
    }
}

/// What was found under the name without the federation gets the name that was asked for. Names further down a
/// chain of aliases stay, or the chain would break.
fn put_name_back(visit: &mut Visit<'_>) {
    let Some(asked) = visit.asked().map(|question| question.name().to_buf()) else { return };
    let question = visit.query.question.name().to_buf();
    for at in 0..visit.reply.section(Section::Answer).len() {
        let record = visit.reply.section(Section::Answer)[at];
        if visit.reply.owner(&record, question.as_name()).eq_ignore_case(asked.as_name()) {
            visit.reply.section_mut(Section::Answer)[at].owner = Owner::Question(0);
        }
    }
}

/// Adds what the alias leads to. Without it the alias alone is still an answer.
fn append(found: &Found, visit: &mut Visit<'_>) -> Turn {
    let source = found.reply();
    visit.reply.append(Section::Answer, source, found.query().question.name());
    if source.flags.has(Flags::TC) {
        visit.reply.flags.set(Flags::TC, true);
    }
    Turn::Up
}
