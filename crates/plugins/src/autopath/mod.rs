//! Searches the client's search path on the server, so that a short name costs one query instead of one per domain.
//!
//! ```text
//! www.example.org.shop.svc.cluster.local        the client's first query
//!   ├─ www.example.org.shop.svc.cluster.local   NXDOMAIN, kept
//!   ├─ www.example.org.svc.cluster.local        NXDOMAIN
//!   ├─ www.example.org.cluster.local            NXDOMAIN
//!   └─ www.example.org                          answered, with a CNAME from the first name to this one
//! ```
//!
//! If no domain has the name, the client gets the first reply. Plugins below get one query per domain, plugins above
//! see one query.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Client, Hooks, Outcome, Plugin, SearchPath, Step, Turn, Visit};
use wire::{Name, NameBuf, Owner, Question, Rcode, Reply, Rtype, Section};

use crate::messages::records::push_cname;
use crate::options::is_under_any;
use crate::server_counter::ServerCounter;
pub(crate) use setup::setup;

const NAME: &str = "autopath";

struct Autopath {
    zones: Vec<NameBuf>,
    /// The path of all clients, root last; unused if there is a source.
    path: Vec<NameBuf>,
    /// Provides a path per client.
    source: Option<Arc<dyn SearchPath>>,
    /// Positions of the plugins that offer [`ReturnsCode`].
    returning_codes: Vec<usize>,
    searched: ServerCounter,
}

/// Offered by a plugin that returns the rcode of its reply to the plugins above, which then take REFUSED, FORMERR and
/// NOTIMP for "no reply": CoreDNS's convention, which few of its plugins follow after they have replied.
pub(crate) struct ReturnsCode;

/// The state of a search after the first domain.
struct Search {
    path: Vec<NameBuf>,
    outcome: Outcome,
    reply: Reply,
}

/// Index in `slot.words`: the current domain, counted from 1.
const DOMAIN: usize = 0;
/// Index in `slot.words`: the offset of the first domain in the name.
const AT: usize = 1;

impl Plugin for Autopath {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        let (name, lower) = (question.name(), question.lower());
        // Zone transfers are never searched.
        let transfer = matches!(question.qtype, Rtype::AXFR | Rtype::IXFR);
        if transfer || !is_under_any(lower, &self.zones) {
            return Step::Next;
        }
        let (mut at, mut has_path) = (None, false);
        self.each_domain(lower, visit.client, &mut |first| {
            has_path = true;
            // The domain itself is not a name to search for.
            at = lower.offset_of(first).filter(|at| *at > 0 || first.is_root());
            false
        });
        let Some(at) = at else {
            visit.note(|_| match has_path {
                true => {
                    "no search: the name is not in the first domain of the client's search path".to_owned()
                }
                false => "no search: the client's search path is not known".to_owned(),
            });
            return Step::Next;
        };
        let Some(domain) = lower.wire().get(at..).and_then(Name::from_wire) else { return Step::Next };
        // Plugins below see the domain in the case of the search path.
        let same_case = name.wire().ends_with(domain.wire());
        let respelt = if same_case { None } else { with_domain(question, at, domain) };
        visit.slot().words[DOMAIN] = 1;
        visit.slot().words[AT] = at as u64;
        visit.note(|query| {
            let name = query.question.lower();
            let domain = name.wire().get(at..).and_then(Name::from_wire).unwrap_or(name);
            format!("first domain of the client's search path is {domain}")
        });
        if let Some(question) = respelt {
            visit.ask(question);
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let domain = visit.slot().words[DOMAIN] as usize;
        if domain == 0 {
            return Turn::Up;
        }
        match visit.outcome() {
            Outcome::Records if visit.reply.rcode != Rcode::NXDOMAIN && !self.is_rcode_only(visit) => {
                visit.note(|_| format!("domain {domain} of the search path has the name"));
                prepend_cname(visit.reply, &visit.query.question);
                self.searched.count(visit);
                Turn::Up
            }
            // An error would repeat in the other domains.
            Outcome::Failure if visit.error().is_some() => Turn::Up,
            Outcome::Records | Outcome::Failure | Outcome::Drop => self.try_next_domain(visit, domain),
        }
    }
}

impl Autopath {
    /// Calls `each` with the domains of the client's search path, until it returns false.
    fn each_domain(&self, name: Name<'_>, client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool) {
        match &self.source {
            Some(source) => source.search_path(name, client, each),
            None => {
                let _ = self.path.iter().all(|domain| each(domain.as_name()));
            }
        }
    }

    /// Whether only the rcode of the reply counts, as in CoreDNS for plugins that return one.
    fn is_rcode_only(&self, visit: &Visit<'_>) -> bool {
        matches!(visit.reply.rcode, Rcode::REFUSED | Rcode::FORMERR | Rcode::NOTIMP)
            && visit.answered_at().is_some_and(|position| self.returning_codes.contains(&position))
    }

    /// Queries the next domain after the first `tried` ones.
    fn try_next_domain(&self, visit: &mut Visit<'_>, tried: usize) -> Turn {
        let saved = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<Search>().ok());
        let Some(search) = saved.or_else(|| self.save_first_reply(visit)) else { return Turn::Up };
        let at = visit.slot().words[AT] as usize;
        let rest = search.path.iter().enumerate().skip(tried);
        // A domain that makes the name too long is skipped.
        let next = rest
            .filter_map(|(n, domain)| Some((n, with_domain(&visit.query.question, at, domain.as_name())?)))
            .next();
        let Some((n, question)) = next else {
            visit.note(|_| {
                "no domain of the search path has the name; the client gets the first reply".to_owned()
            });
            visit.reply.copy_from(&search.reply);
            visit.set_outcome(search.outcome);
            return Turn::Up;
        };
        visit.note(|_| format!("no such name; querying {}", question.name()));
        visit.slot().words[DOMAIN] = n as u64 + 1;
        visit.slot().boxed = Some(search);
        visit.ask(question);
        Turn::Again
    }

    /// Saves the reply of the first domain. None if the client's search path has changed, because its address moved to
    /// another pod.
    fn save_first_reply(&self, visit: &mut Visit<'_>) -> Option<Box<Search>> {
        let name = visit.query.question.lower();
        let mut path: Vec<NameBuf> = Vec::new();
        self.each_domain(name, visit.client, &mut |domain| {
            path.push(domain.to_buf());
            true
        });
        let at = name.offset_of(path.first()?.as_name())?;
        if at as u64 != visit.slot().words[AT] {
            return None;
        }
        let mut reply = Reply::new();
        if self.is_rcode_only(visit) {
            reply.begin_error(visit.query, visit.reply.rcode);
            return Some(Box::new(Search { path, outcome: Outcome::Failure, reply }));
        }
        reply.copy_from(visit.reply);
        Some(Box::new(Search { path, outcome: visit.outcome(), reply }))
    }
}

/// The question with another domain behind the first `at` octets of its name. None if the name becomes too long.
fn with_domain(question: &Question, at: usize, domain: Name<'_>) -> Option<Question> {
    let mut bytes = [0; 255];
    let room = bytes.get_mut(..at + domain.len())?;
    let (front, back) = room.split_at_mut(at);
    front.copy_from_slice(question.name().wire().get(..at)?);
    back.copy_from_slice(domain.wire());
    Some(Question::new(Name::from_wire(room)?, question.qtype, question.qclass))
}

/// Prepends a CNAME record from the question to the first owner in the answer that differs.
fn prepend_cname(reply: &mut Reply, question: &Question) {
    let queried = question.name();
    let other = reply.section(Section::Answer).iter().find_map(|record| {
        let owner = reply.owner(record, queried);
        (!owner.eq_ignore_case(queried)).then(|| (owner.to_buf(), record.ttl))
    });
    if let Some((target, ttl)) = other {
        push_cname(reply, Owner::Question(0), ttl, target.as_name());
        reply.section_mut(Section::Answer).rotate_right(1);
    }
}
