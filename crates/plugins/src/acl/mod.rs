//! Lets queries pass, refuses them or stays silent, by the client's address and the type asked for.
//!
//! Each `acl` of the Corefile is a rule for some zones, with one policy per line. The first line that fits
//! decides; where none does, the next rule is asked, and after the last one the query passes.

mod counters;
mod setup;
mod sources;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::ops::Range;

use server::{Link, Plugin, Step, Visit};
use wire::{Name, NameBuf, Opt, Rcode, Rtype, option};

use counters::Counters;
pub(crate) use setup::setup;
pub(crate) use sources::Sources;

/// Info codes of extended errors (RFC 8914 §4.16 and §4.18).
const BLOCKED: u16 = 15;
const FILTERED: u16 = 17;

/// What CoreDNS says it can take, to clients that sent no EDNS.
const UDP_SIZE: u16 = 4096;

struct Acl {
    /// The zones of all rules, one rule's after the other's.
    zones: Vec<NameBuf>,
    rules: Vec<Rule>,
    counters: Counters,
}

struct Rule {
    /// Its part of the zones.
    zones: Range<usize>,
    policies: Vec<Policy>,
}

/// One line of a rule.
struct Policy {
    action: Action,
    types: Types,
    sources: Sources,
    /// The line and its place, for people.
    line: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Allow,
    Block,
    Filter,
    Drop,
}

enum Types {
    All,
    These(Vec<Rtype>),
}

impl Plugin for Acl {
    fn name(&self) -> &'static str {
        "acl"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // A client on a socket for both families comes as an IPv4 address in IPv6 form.
        let client = visit.client.remote.ip().to_canonical();
        let question = &visit.query.question;
        let decided = self.decide(question.lower(), question.qtype, client);
        let (action, zone) =
            decided.map_or((Action::Allow, None), |(zone, policy)| (policy.action, Some(zone)));
        if let Some(counters) = self.counters.of(visit.server()) {
            counters.count(action, zone);
        }
        visit.note(|_| match decided {
            Some((_, policy)) => format!("{client}: {}", policy.line),
            None => format!("no line is about {client} and this type; the query passes"),
        });
        let (rcode, reason) = match action {
            Action::Allow => return Step::Next,
            Action::Drop => return Step::Drop,
            Action::Block => (Rcode::REFUSED, BLOCKED),
            Action::Filter => (Rcode::NOERROR, FILTERED),
        };
        let reply = visit.begin();
        reply.rcode = rcode;
        // CoreDNS sends this to everybody and turns DO on, whatever the client said.
        reply.opt.insert(Opt::new(UDP_SIZE, true)).push(option::EXTENDED_ERROR, &reason.to_be_bytes());
        Step::Answer
    }

    fn link(&self, link: &Link<'_>) {
        let view = link.block().view_name().unwrap_or_default();
        let servers = link.served().iter().map(|(server, _)| server.as_str());
        self.counters.link(servers, &self.zones, view);
    }
}

impl Acl {
    /// The first line that fits, and the place of the zone it was written for.
    fn decide(&self, name: Name<'_>, qtype: Rtype, client: IpAddr) -> Option<(usize, &Policy)> {
        self.rules.iter().find_map(|rule| {
            let zone = self.zone(rule, name)?;
            let policy = rule.policies.iter().find(|policy| policy.fits(qtype, client))?;
            Some((zone, policy))
        })
    }

    /// The rule's longest zone that has the name.
    fn zone(&self, rule: &Rule, name: Name<'_>) -> Option<usize> {
        let length = |place: usize| {
            let zone = self.zones.get(place)?.as_name();
            name.is_under(zone).then(|| zone.len())
        };
        let found = rule.zones.clone().filter_map(|place| Some((length(place)?, place)));
        found.max().map(|(_, place)| place)
    }
}

impl Policy {
    fn fits(&self, qtype: Rtype, client: IpAddr) -> bool {
        self.types.has(qtype) && self.sources.has(client)
    }
}

impl Types {
    fn has(&self, qtype: Rtype) -> bool {
        match self {
            Types::All => true,
            Types::These(types) => types.contains(&qtype),
        }
    }
}
