//! Allows, blocks, filters or drops queries by the client's address and the query type.
//!
//! Each `acl` of the Corefile is a rule for some zones, with one policy per line. The first policy that matches
//! decides; if none does, the next rule is checked. If no rule matches, the query is allowed.

mod counters;
mod setup;
mod sources;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::ops::Range;

use server::{Plugin, Step, Visit};
use wire::{Name, NameBuf, Opt, Rcode, Rtype, option};

use counters::Counters;
pub(crate) use setup::setup;
pub(crate) use sources::Sources;

/// Info codes of extended errors (RFC 8914 §4.16 and §4.18).
const BLOCKED: u16 = 15;
const FILTERED: u16 = 17;

/// The UDP size CoreDNS advertises to clients without EDNS.
const UDP_SIZE: u16 = 4096;

const NAME: &str = "acl";

struct Acl {
    /// The zones of all rules, concatenated.
    zones: Vec<NameBuf>,
    rules: Vec<Rule>,
    counters: Counters,
}

struct Rule {
    /// The rule's zones, as indices into [`Acl::zones`].
    zones: Range<usize>,
    policies: Vec<Policy>,
}

/// One line of a rule.
struct Policy {
    action: Action,
    types: Types,
    sources: Sources,
    /// The line, file and line number, for `explain`.
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
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // A dual-stack socket reports IPv4 clients as IPv4-mapped IPv6 addresses.
        let client = visit.client.remote.ip().to_canonical();
        let question = &visit.query.question;
        let decided = self.decide(question.lower(), question.qtype, client);
        let (action, zone) =
            decided.map_or((Action::Allow, None), |(zone, policy)| (policy.action, Some(zone)));
        if visit.is_served()
            && let Some(counters) = self.counters.server(visit.server())
        {
            counters.count(action, zone);
        }
        visit.note(|query| match decided {
            Some((_, policy)) => format!("{client}: {}", policy.line),
            None => {
                let qtype = query.question.qtype;
                format!("no acl rule matches {client} and type {qtype}; default is allow")
            }
        });
        let (rcode, reason) = match action {
            Action::Allow => return Step::Next,
            Action::Drop => return Step::Drop,
            Action::Block => (Rcode::REFUSED, BLOCKED),
            Action::Filter => (Rcode::NOERROR, FILTERED),
        };
        let reply = visit.begin();
        reply.rcode = rcode;
        // CoreDNS sends an OPT with DO to every client, even to those that sent none.
        reply.opt.insert(Opt::new(UDP_SIZE, true)).push(option::EXTENDED_ERROR, &reason.to_be_bytes());
        Step::Answer
    }
}

impl Acl {
    /// The first policy that matches, and the index of its zone.
    fn decide(&self, name: Name<'_>, qtype: Rtype, client: IpAddr) -> Option<(usize, &Policy)> {
        self.rules.iter().find_map(|rule| {
            let zone = self.zone(rule, name)?;
            let policy = rule.policies.iter().find(|policy| policy.matches(qtype, client))?;
            Some((zone, policy))
        })
    }

    /// Index of the rule's longest zone that contains the name.
    fn zone(&self, rule: &Rule, name: Name<'_>) -> Option<usize> {
        let length = |index: usize| {
            let zone = self.zones.get(index)?.as_name();
            name.is_under(zone).then(|| zone.len())
        };
        let found = rule.zones.clone().filter_map(|index| Some((length(index)?, index)));
        found.max().map(|(_, index)| index)
    }
}

impl Policy {
    fn matches(&self, qtype: Rtype, client: IpAddr) -> bool {
        self.types.contains(qtype) && self.sources.contains(client)
    }
}

impl Types {
    fn contains(&self, qtype: Rtype) -> bool {
        match self {
            Types::All => true,
            Types::These(types) => types.contains(&qtype),
        }
    }
}
