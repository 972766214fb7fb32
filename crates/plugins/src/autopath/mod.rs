//! Follows the search path of a client on the server, so that a short name costs one query instead of one per domain.
//!
//! ```text
//! www.example.org.shop.svc.cluster.local        what the client tries first
//!   ├─ www.example.org.shop.svc.cluster.local   NXDOMAIN, kept
//!   ├─ www.example.org.svc.cluster.local        NXDOMAIN
//!   ├─ www.example.org.cluster.local            NXDOMAIN
//!   └─ www.example.org                          answered: a CNAME leads from the first name to this one
//! ```
//!
//! If no domain has the name, the client gets what came first. Plugins below are asked once per domain; those above
//! see one query.

mod counters;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use server::{Client, Hooks, Link, Outcome, Plugin, Step, Turn, Visit};
use wire::{Name, NameBuf, Owner, Question, Rcode, Reply, Rtype, Section};

use crate::parse::is_under_any;
use crate::records::push_cname;
use counters::Counters;
pub(crate) use setup::setup;

struct Autopath {
    zones: Vec<NameBuf>,
    /// The same for all clients, the root last; for want of a plugin that knows better.
    path: Vec<NameBuf>,
    /// The plugin that knows the path of each client, by name.
    from: Option<String>,
    source: OnceLock<Arc<dyn Plugin>>,
    counters: Counters,
}

/// What is remembered of a query once the first domain did not have the name.
struct Search {
    path: Vec<NameBuf>,
    outcome: Outcome,
    reply: Reply,
}

/// In `slot.words`: which domain is asked, counted from 1.
const DOMAIN: usize = 0;
/// In `slot.words`: how many octets of the name are left of the first domain.
const AT: usize = 1;

impl Plugin for Autopath {
    fn name(&self) -> &'static str {
        "autopath"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        let (name, lower) = (question.name(), question.lower());
        // Nobody searches for a zone to transfer.
        let transfer = matches!(question.qtype, Rtype::AXFR | Rtype::IXFR);
        if transfer || !is_under_any(lower, &self.zones) {
            return Step::Next;
        }
        let (mut at, mut is_known) = (None, false);
        self.each_domain(lower, visit.client, &mut |first| {
            is_known = true;
            // The domain itself is nothing that anybody searches for in it.
            at = lower.offset_of(first).filter(|at| *at > 0 || first.is_root());
            false
        });
        let Some(at) = at else {
            visit.note(|_| match is_known {
                true => "the client does not begin a search with this name".to_owned(),
                false => "nobody knows where the client searches".to_owned(),
            });
            return Step::Next;
        };
        let Some(domain) = lower.wire().get(at..).and_then(Name::from_wire) else { return Step::Next };
        // Below, the domain is spelt as the search path has it.
        let is_spelt_so = name.wire().ends_with(domain.wire());
        let respelt = if is_spelt_so { None } else { with_domain(question, at, domain) };
        visit.slot().words[DOMAIN] = 1;
        visit.slot().words[AT] = at as u64;
        visit.note(|query| {
            let name = query.question.lower();
            let domain = name.wire().get(at..).and_then(Name::from_wire).unwrap_or(name);
            format!("the client searches in {domain} first")
        });
        if let Some(question) = respelt {
            visit.ask(question);
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let asked = visit.slot().words[DOMAIN] as usize;
        if asked == 0 {
            return Turn::Up;
        }
        match visit.outcome() {
            Outcome::Records if visit.reply.rcode != Rcode::NXDOMAIN && !is_code_alone(visit) => {
                visit.note(|_| format!("domain {asked} of the search path has the name"));
                lead_to_answer(visit.reply, &visit.query.question);
                self.counters.count(visit.server());
                Turn::Up
            }
            // What went wrong there would go wrong elsewhere.
            Outcome::Failure if visit.error().is_some() => Turn::Up,
            Outcome::Records | Outcome::Failure | Outcome::Drop => self.go_on(visit, asked),
        }
    }

    fn link(&self, link: &Link<'_>) {
        self.counters.link(link.served().iter().map(|(server, _)| server.as_str()));
        let Some(from) = &self.from else { return };
        if let Some(plugin) = link.block().chain().iter().find(|plugin| plugin.name() == from) {
            let _ = self.source.set(Arc::clone(plugin));
        }
    }

    fn prepare(&self) -> Result<(), String> {
        match self.source.get() {
            Some(plugin) if plugin.as_search_path().is_none() => {
                Err(format!("{} does not implement the AutoPather interface", plugin.name()))
            }
            _ => Ok(()),
        }
    }
}

impl Autopath {
    /// Tells `each` the domains in which the client searches, until it says false.
    fn each_domain(&self, name: Name<'_>, client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool) {
        match self.source.get().and_then(|plugin| plugin.as_search_path()) {
            Some(source) => source.search_path(name, client, each),
            None => {
                let _ = self.path.iter().all(|domain| each(domain.as_name()));
            }
        }
    }

    /// Asks in the next domain; `asked` of them did not have the name.
    fn go_on(&self, visit: &mut Visit<'_>, asked: usize) -> Turn {
        let kept = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<Search>().ok());
        let Some(search) = kept.or_else(|| self.first_missed(visit)) else { return Turn::Up };
        let at = visit.slot().words[AT] as usize;
        let rest = search.path.iter().enumerate().skip(asked);
        // A name that becomes too long is nowhere.
        let next = rest
            .filter_map(|(n, domain)| Some((n, with_domain(&visit.query.question, at, domain.as_name())?)))
            .next();
        let Some((n, question)) = next else {
            visit.note(|_| "no domain of the search path has the name: the first reply stands".to_owned());
            visit.reply.copy_from(&search.reply);
            visit.set_outcome(search.outcome);
            return Turn::Up;
        };
        visit.note(|_| format!("not there: asks for {}", question.name()));
        visit.slot().words[DOMAIN] = n as u64 + 1;
        visit.slot().boxed = Some(search);
        visit.ask(question);
        Turn::Again
    }

    /// Keeps what came of the first domain. None if the client does not search there any more, as when its address
    /// went to another pod in the meantime.
    fn first_missed(&self, visit: &mut Visit<'_>) -> Option<Box<Search>> {
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
        if is_code_alone(visit) {
            reply.begin_error(visit.query, visit.reply.rcode);
            return Some(Box::new(Search { path, outcome: Outcome::Failure, reply }));
        }
        reply.copy_from(visit.reply);
        Some(Box::new(Search { path, outcome: visit.outcome(), reply }))
    }
}

/// Whether the reply counts for no more than its code.
fn is_code_alone(visit: &Visit<'_>) -> bool {
    let plugin = visit.answered_at().and_then(|place| visit.block().chain().get(place));
    matches!(visit.reply.rcode, Rcode::REFUSED | Rcode::FORMERR | Rcode::NOTIMP)
        && plugin.is_some_and(|plugin| plugin.returns_codes())
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

/// Puts a CNAME record in front that leads from the question to the first name in the answer that is another one.
fn lead_to_answer(reply: &mut Reply, question: &Question) {
    let asked = question.name();
    let other = reply.section(Section::Answer).iter().find_map(|record| {
        let owner = reply.owner(record, asked);
        (!owner.eq_ignore_case(asked)).then(|| (owner.to_buf(), record.ttl))
    });
    if let Some((target, ttl)) = other {
        push_cname(reply, Owner::Question(0), ttl, target.as_name());
        reply.section_mut(Section::Answer).rotate_right(1);
    }
}
