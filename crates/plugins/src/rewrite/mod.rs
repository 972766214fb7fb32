//! Changes queries before the plugins below see them, and replies before the client does.
//!
//! ```text
//!   query ─→ rule, rule, … (the first that stops is the last) ─→ another question below
//!   reply ←─ the same rules, last one first, over every record ←─ its reply
//!                    └─ an alias that leads elsewhere is looked up
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

use server::{Found, Hooks, Lookup, Outcome, Plugin, Step, Turn, Visit, task};
use wire::{Class, NameBuf, Question, Rcode, Rtype};

use crate::spelling::Spelling;
use revert::{Answer, Message, Revert, Target};
pub(crate) use setup::setup;

/// Look-ups for aliases may cause look-ups for aliases, but only so deep.
const MAX_DEPTH: u8 = 8;

struct Rewrite {
    rules: Vec<Rule>,
    /// Options that go back to the client, because a rule is about them.
    reflected: Arc<[u16]>,
}

struct Rule {
    field: Field,
    stop: bool,
    /// As it was written.
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
struct Asking {
    asked: NameBuf,
    /// Of the name that was asked for.
    spelling: Spelling,
    /// The name instead of it, if a rule has made one; in lower case.
    rewritten: Option<String>,
    qtype: Rtype,
    qclass: Class,
}

impl Asking {
    fn new(question: &Question) -> Asking {
        Asking {
            asked: question.name().to_buf(),
            spelling: Spelling::of(question.lower()),
            rewritten: None,
            qtype: question.qtype,
            qclass: question.qclass,
        }
    }

    fn lower(&self) -> &str {
        self.rewritten.as_deref().unwrap_or(&self.spelling)
    }

    /// As it is asked for, spelling and all.
    fn name(&self) -> String {
        self.rewritten.clone().unwrap_or_else(|| self.asked.to_string())
    }

    fn question(&self) -> Option<Question> {
        let parsed = match self.rewritten.as_deref() {
            Some("") => return None,
            Some(name) => Some(NameBuf::parse(name).ok()?),
            None => None,
        };
        let name = parsed.as_ref().unwrap_or(&self.asked);
        Some(Question::new(name.as_name(), self.qtype, self.qclass))
    }
}

/// What is to be done with the reply of one query.
struct Work {
    reverts: Vec<Revert>,
    reflected: Arc<[u16]>,
    /// The type that was asked below, for aliases.
    qtype: Rtype,
    targets: Vec<Target>,
}

impl Plugin for Rewrite {
    fn name(&self) -> &'static str {
        "rewrite"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::FAILURE
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let mut asking = Asking::new(&visit.query.question);
        let mut changed = None;
        let mut reverts = Vec::new();
        let mut stopped = false;
        for (at, rule) in self.rules.iter().enumerate() {
            let Some(more) = rule.apply(&mut asking, visit) else { continue };
            let Some(question) = asking.question() else {
                let error = format!("invalid name after rewrite: {}", asking.name());
                return Step::error(Rcode::SERVFAIL, error);
            };
            visit.note(|_| format!("rule {}, `{}`, took it{}", at + 1, rule.text, asks(&asking, rule)));
            changed = Some(question);
            reverts.extend(more);
            if rule.stop {
                stopped = true;
                break;
            }
        }
        let took = changed.is_some();
        if let Some(question) = changed.filter(|question| *question != visit.query.question) {
            visit.ask(question);
        }
        visit.slot().words[0] = u64::from(took);
        if stopped || !reverts.is_empty() {
            let reflected = self.reflected.clone();
            let work = Work { reverts, reflected, qtype: asking.qtype, targets: Vec::new() };
            visit.slot().boxed = Some(Box::new(work));
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let work = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<Work>().ok());
        let Some(work) = work else {
            edns0::reflect(visit, &self.reflected);
            return Turn::Up;
        };
        if visit.outcome() == Outcome::Failure {
            let rcode = visit.reply.rcode;
            // Other codes mean that a reply was made, which is not so here.
            if ![Rcode::SERVFAIL, Rcode::REFUSED, Rcode::FORMERR, Rcode::NOTIMP].contains(&rcode) {
                return Turn::Up;
            }
            // The reply is written here, or the rules would never see it.
            visit.reply.begin_error(visit.query, rcode);
            visit.set_outcome(Outcome::Records);
        }
        work.go_on(visit)
    }
}

/// What the rule made of the question, for explanations.
fn asks(asking: &Asking, rule: &Rule) -> String {
    match &rule.field {
        Field::Name(_) => format!(": asks for {}", asking.name()),
        Field::Type(_) => format!(": asks for {}", asking.qtype),
        Field::Class(_) => format!(": asks in {}", asking.qclass),
        Field::Ttl(_) | Field::Cname(_) | Field::Rcode(_) => ": changes the reply".into(),
        Field::Edns0(_) => String::new(),
    }
}

impl Rule {
    /// None if the rule is not for this query; else what it does with the reply.
    fn apply(&self, asking: &mut Asking, visit: &mut Visit<'_>) -> Option<Vec<Revert>> {
        match &self.field {
            Field::Name(name) => name.apply(asking, visit),
            Field::Type(rule) => rule.apply(asking),
            Field::Class(rule) => rule.apply(asking),
            Field::Ttl(rule) => rule.apply(asking),
            Field::Rcode(rule) => rule.apply(asking),
            Field::Cname(rule) => (!rule.is_empty()).then(|| vec![Revert::Cname(rule.clone())]),
            Field::Edns0(rule) => rule.apply(asking, visit),
        }
    }

    fn reflected(&self) -> Option<u16> {
        match &self.field {
            Field::Edns0(rule) => rule.reflected(),
            _ => None,
        }
    }
}

impl Work {
    /// Changes the reply, with as many look-ups as it takes.
    fn go_on(mut self: Box<Self>, visit: &mut Visit<'_>) -> Turn {
        let follow = visit.depth() <= MAX_DEPTH;
        loop {
            let question = visit.query.question.name();
            match Message::reverted(visit.reply, question, &self.reverts, &self.targets, follow) {
                Ok(message) => {
                    message.write(visit.reply, question);
                    break;
                }
                Err(target) => {
                    visit.note(|_| format!("the alias is to lead to {target}"));
                    match visit.lookup(target.as_name(), self.qtype) {
                        Lookup::Ready(found) => self.found(*target, &found),
                        Lookup::Pending(below) => {
                            return Turn::Wait(task(below, move |found, visit| {
                                self.found(*target, &found);
                                self.go_on(visit)
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

    fn found(&mut self, name: NameBuf, found: &Found) {
        let question = found.query().question.name();
        let answer = (found.outcome() != Outcome::Drop).then(|| Answer::new(found.reply(), question));
        self.targets.push(Target { name, answer });
    }
}
