//! Makes a reply from records, and looks up CNAME targets.

use std::borrow::Cow;

use server::{Lookup, LookupResult, Outcome, Step, Visit, task};
use wire::{Flags, Name, NameBuf, Opt, Owner, Rcode, Reply, Rtype, Section};
use zone::ZoneRecord;

use super::data::MatchedQuery;
use super::record::RecordError;
use super::{Template, UDP_SIZE, option};

/// The rendered records of a reply.
pub(super) struct RenderedReply<'t> {
    records: Vec<(Section, Cow<'t, ZoneRecord>)>,
    /// The section of the first template with empty text; CoreDNS cannot send such a reply.
    empty: Option<Section>,
}

impl<'t> RenderedReply<'t> {
    pub fn render(
        template: &'t Template,
        matched: &MatchedQuery<'_>,
    ) -> Result<RenderedReply<'t>, RecordError> {
        let mut reply = RenderedReply { records: Vec::with_capacity(template.records.len()), empty: None };
        let mut buffer = Vec::new();
        for (section, record) in &template.records {
            match record.render(*section, matched, &mut buffer)? {
                Some(record) => reply.records.push((*section, record)),
                None => reply.empty = reply.empty.or(Some(*section)),
            }
        }
        Ok(reply)
    }

    /// Writes the reply; waits for the lookups of CNAME targets, if any.
    pub fn begin(self, visit: &mut Visit<'_>, template: &Template) -> Step {
        let qtype = visit.query.question.qtype;
        let is_address_query = matches!(qtype, Rtype::A | Rtype::AAAA);
        match self.empty {
            // CoreDNS panics here, on the search for a CNAME in a missing record, and answers SERVFAIL.
            Some(Section::Answer) if is_address_query => return Step::fail(Rcode::SERVFAIL),
            Some(_) => return Step::Drop,
            None if self.cannot_be_sent(visit, template) => return Step::Drop,
            None => {}
        }
        begin_reply(visit, template);
        let is_alias = |(section, record): &(Section, Cow<'_, ZoneRecord>)| {
            *section == Section::Answer && record.rtype == Rtype::CNAME
        };
        if !is_address_query || !self.records.iter().any(is_alias) {
            for (section, record) in &self.records {
                push(visit.reply, visit.query.question.name(), *section, record);
            }
            return Step::Answer;
        }
        let records = self.records.into_iter().map(|(section, record)| (section, record.into_owned()));
        AliasLookups { records: records.collect::<Vec<_>>().into_iter(), qtype }.run(visit)
    }

    /// Whether a record or the rcode has no wire format; CoreDNS then sends no reply.
    fn cannot_be_sent(&self, visit: &Visit<'_>, template: &Template) -> bool {
        !code_can_be_sent(visit, template) || self.records.iter().any(|(_, record)| record.data.is_none())
    }
}

/// Rcodes above 15 need an OPT record.
fn code_can_be_sent(visit: &Visit<'_>, template: &Template) -> bool {
    template.rcode.0 <= 0xF || visit.query.edns.is_some() || template.extended_error.is_some()
}

fn begin_reply(visit: &mut Visit<'_>, template: &Template) {
    let reply = visit.begin();
    reply.flags.set(Flags::AA, true);
    reply.rcode = template.rcode;
    if let Some(error) = &template.extended_error {
        // CoreDNS sends this to every client, with DO set, even without EDNS in the query.
        reply.opt.insert(Opt::new(UDP_SIZE, true)).push(option::EXTENDED_ERROR, error);
    }
}

/// The reply of a template whose records are all constant, if there is no CNAME to look up.
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

/// Writes the remaining records, and looks up the target of each CNAME in the answer section.
struct AliasLookups {
    records: std::vec::IntoIter<(Section, ZoneRecord)>,
    qtype: Rtype,
}

impl AliasLookups {
    fn run(mut self, visit: &mut Visit<'_>) -> Step {
        while let Some((section, record)) = self.records.next() {
            push(visit.reply, visit.query.question.name(), section, &record);
            let alias = section == Section::Answer && record.rtype == Rtype::CNAME;
            let Some(target) = alias.then(|| target(&record)).flatten() else { continue };
            visit.note(|_| format!("looking up the CNAME target {target}"));
            match visit.lookup(target.as_name(), self.qtype) {
                Lookup::Ready(found) => append_answer(visit.reply, &found),
                Lookup::Pending(below) => {
                    return Step::Wait(task(below, move |found, visit| {
                        append_answer(visit.reply, &found);
                        self.run(visit)
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

/// Appends the answer records, whatever the rcode.
fn append_answer(reply: &mut Reply, found: &LookupResult) {
    if found.outcome() == Outcome::Drop {
        return;
    }
    let inner = found.reply();
    reply.flags.set(Flags::TC, inner.flags.has(Flags::TC));
    if found.outcome() == Outcome::Records {
        reply.append(Section::Answer, inner, found.query().question.name());
    }
}
