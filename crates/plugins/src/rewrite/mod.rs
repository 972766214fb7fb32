//! Rewrites queries for the plugins below, and replies for the client.
//!
//! ```text
//!   query ─→ rule, rule, … (up to the first match without `continue`) ─→ rewritten question
//!   reply ←─ the matching rules, last one first, over every record ←─ its reply
//!                    └─ a rewritten CNAME target is looked up
//! ```

mod answer;
mod cname;
mod edns0;
mod matcher;
mod name;
mod pattern;
mod rcode;
mod revert;
mod setup;
mod swap;
#[cfg(test)]
mod tests;
mod ttl;

use std::sync::Arc;

use server::{Hooks, Lookup, LookupResult, Outcome, Plugin, Step, Turn, Visit, task};
use wire::{Class, NameBuf, Question, Rcode, Rtype};

use crate::messages::name_text::NameText;
use revert::{Answer, Message, Revert, Target};
pub(crate) use setup::setup;

/// Maximum depth of nested lookups of CNAME targets.
const MAX_DEPTH: u8 = 8;

struct Rewrite {
    rules: Vec<Rule>,
    /// EDNS options that rules set and that are returned to the client.
    reflected: Arc<[u16]>,
}

struct Rule {
    field: Field,
    stop: bool,
    /// As written in the Corefile, for `explain`.
    text: String,
}

enum Field {
    Name(name::Name),
    Type(swap::Type),
    Class(swap::ClassRule),
    Ttl(ttl::Ttl),
    Cname(Arc<cname::Cname>),
    Rcode(rcode::RcodeRule),
    Edns0(edns0::Edns0),
}

/// The question while rules change it. Names are compared as text.
struct CurrentQuestion {
    original: NameBuf,
    /// Text of the original name, in lower case.
    spelling: NameText,
    /// The rewritten name, in lower case, once a rule has changed it.
    rewritten: Option<String>,
    qtype: Rtype,
    qclass: Class,
}

impl CurrentQuestion {
    fn new(question: &Question) -> CurrentQuestion {
        CurrentQuestion {
            original: question.name().to_buf(),
            spelling: NameText::of(question.lower()),
            rewritten: None,
            qtype: question.qtype,
            qclass: question.qclass,
        }
    }

    fn lower(&self) -> &str {
        self.rewritten.as_deref().unwrap_or(&self.spelling)
    }

    /// The current name; the original one keeps the client's spelling.
    fn name(&self) -> String {
        self.rewritten.clone().unwrap_or_else(|| self.original.to_string())
    }

    fn question(&self) -> Option<Question> {
        let parsed = match self.rewritten.as_deref() {
            Some("") => return None,
            Some(name) => Some(NameBuf::parse(name).ok()?),
            None => None,
        };
        let name = parsed.as_ref().unwrap_or(&self.original);
        Some(Question::new(name.as_name(), self.qtype, self.qclass))
    }
}

/// The changes to the reply of one query.
struct ReplyRewrite {
    reverts: Vec<Revert>,
    reflected: Arc<[u16]>,
    /// The type to look CNAME targets up with.
    qtype: Rtype,
    targets: Vec<Target>,
}

impl Plugin for Rewrite {
    fn name(&self) -> &'static str {
        "rewrite"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::FAILURE | Hooks::PARTS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let mut current = CurrentQuestion::new(&visit.query.question);
        let mut changed = None;
        let mut reverts = Vec::new();
        let mut stopped = false;
        for (at, rule) in self.rules.iter().enumerate() {
            let Some(more) = rule.apply(&mut current, visit) else { continue };
            let Some(question) = current.question() else {
                let error = format!("invalid name after rewrite: {}", current.name());
                return Step::error(Rcode::SERVFAIL, error);
            };
            visit.note(|_| format!("rule {}, `{}`, matched{}", at + 1, rule.text, effect(&current, rule)));
            changed = Some(question);
            reverts.extend(more);
            if rule.stop {
                stopped = true;
                break;
            }
        }
        let matched = changed.is_some();
        if let Some(question) = changed.filter(|question| *question != visit.query.question) {
            visit.ask(question);
        }
        visit.slot().words[0] = u64::from(matched);
        if stopped || !reverts.is_empty() {
            let reflected = self.reflected.clone();
            let work = ReplyRewrite { reverts, reflected, qtype: current.qtype, targets: Vec::new() };
            visit.slot().boxed = Some(Box::new(work));
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let work = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<ReplyRewrite>().ok());
        let Some(work) = work else {
            edns0::reflect(visit, &self.reflected);
            return Turn::Up;
        };
        if visit.outcome() == Outcome::Failure {
            let rcode = visit.reply.rcode;
            // Other rcodes imply a written reply, which a failure does not have.
            if ![Rcode::SERVFAIL, Rcode::REFUSED, Rcode::FORMERR, Rcode::NOTIMP].contains(&rcode) {
                return Turn::Up;
            }
            // Written here, so that the rules apply to it.
            visit.reply.begin_error(visit.query, rcode);
            visit.set_outcome(Outcome::Records);
        }
        work.apply(visit)
    }
}

/// The effect of the rule, for `explain`.
fn effect(current: &CurrentQuestion, rule: &Rule) -> String {
    match &rule.field {
        Field::Name(_) => format!(": name is now {}", current.name()),
        Field::Type(_) => format!(": type is now {}", current.qtype),
        Field::Class(_) => format!(": class is now {}", current.qclass),
        Field::Ttl(_) | Field::Cname(_) | Field::Rcode(_) => ": will change the reply".into(),
        Field::Edns0(_) => String::new(),
    }
}

impl Rule {
    /// None if the rule does not match; else its changes to the reply.
    fn apply(&self, current: &mut CurrentQuestion, visit: &mut Visit<'_>) -> Option<Vec<Revert>> {
        match &self.field {
            Field::Name(name) => name.apply(current, visit),
            Field::Type(rule) => rule.apply(current),
            Field::Class(rule) => rule.apply(current),
            Field::Ttl(rule) => rule.apply(current),
            Field::Rcode(rule) => rule.apply(current),
            Field::Cname(rule) => (!rule.is_empty()).then(|| vec![Revert::Cname(rule.clone())]),
            Field::Edns0(rule) => rule.apply(current, visit),
        }
    }

    fn reflected(&self) -> Option<u16> {
        match &self.field {
            Field::Edns0(rule) => rule.reflected(),
            _ => None,
        }
    }
}

impl ReplyRewrite {
    /// Changes the reply, with lookups as needed.
    fn apply(mut self: Box<Self>, visit: &mut Visit<'_>) -> Turn {
        let follow = visit.depth() <= MAX_DEPTH;
        loop {
            let question = visit.query.question.name();
            match Message::reverted(visit.reply, question, &self.reverts, &self.targets, follow) {
                Ok(message) => {
                    message.write(visit.reply, question);
                    break;
                }
                Err(target) => {
                    visit.note(|_| format!("CNAME target rewritten to {target}; looking it up"));
                    match visit.lookup(target.as_name(), self.qtype) {
                        Lookup::Ready(found) => self.add_target(*target, &found),
                        Lookup::Pending(below) => {
                            return Turn::Wait(task(below, move |found, visit| {
                                self.add_target(*target, &found);
                                self.apply(visit)
                            }));
                        }
                    }
                }
            }
        }
        for revert in self.reverts.iter().rev() {
            if let Revert::Edns0(undo) = revert {
                undo.in_query(visit.query);
            }
        }
        edns0::reflect(visit, &self.reflected);
        Turn::Up
    }

    fn add_target(&mut self, name: NameBuf, found: &LookupResult) {
        let question = found.query().question.name();
        let answer = (found.outcome() != Outcome::Drop).then(|| Answer::new(found.reply(), question));
        self.targets.push(Target { name, answer });
    }
}
