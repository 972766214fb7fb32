//! From records to a reply, with what is behind aliases.

use std::borrow::Cow;

use server::{Found, Lookup, Outcome, Step, Visit, task};
use wire::{Flags, Name, NameBuf, Opt, Owner, Rcode, Reply, Rtype, Section, ZoneRecord};

use super::data::Matched;
use super::record::Failed;
use super::{Template, UDP_SIZE, option};

/// The records of a reply, before it is begun.
pub(super) struct Plan<'t> {
    records: Vec<(Section, Cow<'t, ZoneRecord>)>,
    /// The section of the first template that said nothing. CoreDNS cannot send what it makes of that.
    nothing: Option<Section>,
}

impl<'t> Plan<'t> {
    pub fn render(template: &'t Template, matched: &Matched<'_>) -> Result<Plan<'t>, Failed> {
        let mut plan = Plan { records: Vec::with_capacity(template.records.len()), nothing: None };
        let mut buffer = Vec::new();
        for (section, record) in &template.records {
            match record.render(*section, matched, &mut buffer)? {
                Some(record) => plan.records.push((*section, record)),
                None => plan.nothing = plan.nothing.or(Some(*section)),
            }
        }
        Ok(plan)
    }

    /// Writes the reply, or waits for what is behind its aliases.
    pub fn begin(self, visit: &mut Visit<'_>, template: &Template) -> Step {
        let qtype = visit.query.question.qtype;
        let asks_for_address = matches!(qtype, Rtype::A | Rtype::AAAA);
        match self.nothing {
            // There CoreDNS looks for an alias in what is not there, panics and fails.
            Some(Section::Answer) if asks_for_address => return Step::fail(Rcode::SERVFAIL),
            Some(_) => return Step::Drop,
            None if self.cannot_be_sent(visit, template) => return Step::Drop,
            None => {}
        }
        begin_reply(visit, template);
        let is_alias = |(section, record): &(Section, Cow<'_, ZoneRecord>)| {
            *section == Section::Answer && record.rtype == Rtype::CNAME
        };
        if !asks_for_address || !self.records.iter().any(is_alias) {
            for (section, record) in &self.records {
                push(visit.reply, visit.query.question.name(), *section, record);
            }
            return Step::Answer;
        }
        let records = self.records.into_iter().map(|(section, record)| (section, record.into_owned()));
        Chase { records: records.collect::<Vec<_>>().into_iter(), qtype }.go_on(visit)
    }

    /// Whether a record or the code has no form on the wire; then CoreDNS's client hears nothing.
    fn cannot_be_sent(&self, visit: &Visit<'_>, template: &Template) -> bool {
        !code_can_be_sent(visit, template) || self.records.iter().any(|(_, record)| record.data.is_none())
    }
}

/// Codes above 15 need an OPT record.
fn code_can_be_sent(visit: &Visit<'_>, template: &Template) -> bool {
    template.rcode.0 <= 0xF || visit.query.edns.is_some() || template.extended_error.is_some()
}

fn begin_reply(visit: &mut Visit<'_>, template: &Template) {
    let reply = visit.begin();
    reply.flags.set(Flags::AA, true);
    reply.rcode = template.rcode;
    if let Some(error) = &template.extended_error {
        // CoreDNS sends this to everybody and turns DO on, whatever the client said.
        reply.opt.insert(Opt::new(UDP_SIZE, true)).push(option::EXTENDED_ERROR, error);
    }
}

/// The reply of a template all of whose records are the same for every query, if nothing has to be looked up.
pub(super) fn constant(visit: &mut Visit<'_>, template: &Template) -> Option<Step> {
    let records = || template.records.iter().map(|(section, record)| (*section, record.constant()));
    let plain = |(_, record): (Section, Option<&ZoneRecord>)| {
        record.is_some_and(|record| record.rtype != Rtype::CNAME)
    };
    if !records().all(plain) || !code_can_be_sent(visit, template) {
        return None;
    }
    begin_reply(visit, template);
    for (section, record) in records() {
        if let Some(record) = record {
            push(visit.reply, visit.query.question.name(), section, record);
        }
    }
    Some(Step::Answer)
}

fn push(reply: &mut Reply, question: Name<'_>, section: Section, record: &ZoneRecord) {
    let owner = record.owner.as_name();
    let owner = if owner == question { Owner::Question(0) } else { reply.store(owner) };
    reply.push_with(section, owner, record.rtype, record.class, record.ttl, |out| {
        out.bytes(record.data.as_deref().unwrap_or_default());
    });
}

/// Records still to be written; each alias among the answers is looked up on the way.
struct Chase {
    records: std::vec::IntoIter<(Section, ZoneRecord)>,
    qtype: Rtype,
}

impl Chase {
    fn go_on(mut self, visit: &mut Visit<'_>) -> Step {
        while let Some((section, record)) = self.records.next() {
            push(visit.reply, visit.query.question.name(), section, &record);
            let alias = section == Section::Answer && record.rtype == Rtype::CNAME;
            let Some(target) = alias.then(|| target(&record)).flatten() else { continue };
            visit.note(|_| format!("looks up the alias's target {target}"));
            match visit.lookup(target.as_name(), self.qtype) {
                Lookup::Ready(found) => take_over(visit.reply, &found),
                Lookup::Pending(below) => {
                    return Step::Wait(task(below, move |found, visit| {
                        take_over(visit.reply, &found);
                        self.go_on(visit)
                    }));
                }
            }
        }
        Step::Answer
    }
}

fn target(record: &ZoneRecord) -> Option<NameBuf> {
    Name::from_wire(record.data.as_deref()?).map(|name| name.to_buf())
}

/// Takes the answers over, whatever the code.
fn take_over(reply: &mut Reply, found: &Found) {
    if found.outcome() == Outcome::Drop {
        return;
    }
    let inner = found.reply();
    reply.flags.set(Flags::TC, inner.flags.has(Flags::TC));
    if found.outcome() == Outcome::Records {
        reply.append(Section::Answer, inner, found.query().question.name());
    }
}
