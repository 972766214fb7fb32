//! Kubernetes federation, version 1: answers for a federated service from this cluster if it has the service, and else
//! with a CNAME into the federation's domain, where all clusters publish theirs.
//!
//! ```text
//! nginx.shop.prod.svc.cluster.local
//!   ├─ queried below as nginx.shop.svc.cluster.local ─→ found: that answer, with the original name
//!   └─ NXDOMAIN: CNAME nginx.shop.prod.svc.ZONE.REGION.DOMAIN, and the records of that name
//! ```

mod name;
mod setup;
#[cfg(test)]
mod tests;

use server::{Hooks, Lookup, LookupResult, Plugin, Step, Turn, Visit, task};
use wire::{Flags, NameBuf, Owner, Question, Rcode, Rtype, Section};

use name::FederatedName;
pub(crate) use setup::setup;

/// TTL of the CNAME: 0, because this cluster may get the service at any moment.
const TTL: u32 = 0;

struct Federation {
    zones: Vec<NameBuf>,
    members: Vec<Member>,
}

/// One federation this cluster is part of.
struct Member {
    /// Its name, a label in lower case.
    label: Vec<u8>,
    /// The part of a CNAME target after the namespace: `NAME.svc.ZONE.REGION.DOMAIN.`
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
        let rewritten = Question::new(local.as_name(), question.qtype, question.qclass);
        visit.slot().words[0] = at as u64 + 1;
        visit.note(|_| format!("federation {}: querying {local} first", self.federation_name(at)));
        visit.ask(rewritten);
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        // Only the slot records reliably whether this plugin changed the question.
        if visit.slot().words[0] == 0 {
            return Turn::Up;
        }
        if visit.reply.rcode != Rcode::NXDOMAIN {
            restore_name(visit);
            return Turn::Up;
        }
        let question = &visit.query.question;
        let (qtype, qclass) = (question.qtype, question.qclass);
        let target = self.find(question).and_then(|(name, at)| name.alias(&self.members.get(at)?.suffix));
        // A target name that is too long leaves the NXDOMAIN.
        let Some(target) = target else { return Turn::Up };
        visit.note(|_| format!("not in this cluster; CNAME to {target}"));
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
    /// The parts of a federated service name, and the index of its federation.
    fn find<'q>(&self, question: &'q Question) -> Option<(FederatedName<'q>, usize)> {
        let name = question.lower();
        let within = self.zones.iter().filter_map(|zone| name.offset_of(zone.as_name()));
        // The smallest offset is that of the longest zone.
        let federated = FederatedName::parse(name, within.min()?)?;
        let at = self.members.iter().position(|member| member.label == federated.federation)?;
        Some((federated, at))
    }

    fn federation_name(&self, at: usize) -> String {
        self.members.get(at).map(|member| String::from_utf8_lossy(&member.label).into()).unwrap_or_default()
    }
}

/// Gives records of the rewritten name the original owner. Names further down a CNAME chain stay, or the chain would
/// break.
fn restore_name(visit: &mut Visit<'_>) {
    let Some(rewritten) = visit.asked().map(|question| question.name().to_buf()) else { return };
    let question = visit.query.question.name().to_buf();
    for at in 0..visit.reply.section(Section::Answer).len() {
        let record = visit.reply.section(Section::Answer)[at];
        if visit.reply.owner(&record, question.as_name()).eq_ignore_case(rewritten.as_name()) {
            visit.reply.section_mut(Section::Answer)[at].owner = Owner::Question(0);
        }
    }
}

/// Appends the records of the CNAME target; without them the CNAME alone is the answer.
fn append(found: &LookupResult, visit: &mut Visit<'_>) -> Turn {
    let source = found.reply();
    visit.reply.append(Section::Answer, source, found.query().question.name());
    if source.flags.has(Flags::TC) {
        visit.reply.flags.set(Flags::TC, true);
    }
    Turn::Up
}
