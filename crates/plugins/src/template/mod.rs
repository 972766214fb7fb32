//! Answers with records that Go templates make from the query.
//!
//! ```text
//!   query ─→ template: zone, class, type, regular expressions ─→ records, rcode
//!              │ no match: SERVFAIL, or with fallthrough the next template
//!              ↓
//!            template …                                       ─→ the next plugin
//! ```
//!
//! Records that do not depend on the query are parsed once, at setup.

mod answer;
mod conditions;
mod counters;
mod data;
mod message;
mod record;
mod setup;
#[cfg(test)]
mod tests;
mod variables;

use golang::Regexp;
use server::{Plugin, Step, Visit};
use wire::{Class, NameBuf, Question, Rcode, Rtype, Section, option};

use answer::RenderedReply;
use conditions::Conditions;
use counters::Counters;
use data::MatchedQuery;
use record::RecordTemplate;
pub(crate) use setup::setup;

use crate::messages::name_text::NameText;
use crate::options::Fallthrough;

/// The UDP payload size in the OPT record, as in CoreDNS.
const UDP_SIZE: u16 = 4096;

const NAME: &str = "template";

struct Templates {
    templates: Vec<Template>,
    counters: Counters,
}

/// One `template` of the Corefile.
struct Template {
    class: Class,
    rtype: Rtype,
    zones: Vec<Zone>,
    /// The first that matches counts; never empty.
    patterns: Vec<Regexp>,
    conditions: Conditions,
    records: Vec<(Section, RecordTemplate)>,
    rcode: Rcode,
    /// Data of the extended DNS error option, if any.
    extended_error: Option<Vec<u8>>,
    fallthrough: Fallthrough,
    /// File and line, for messages.
    place: String,
}

struct Zone {
    name: NameBuf,
    /// The name as in templates and metrics.
    text: String,
    /// Its index among the zones of all templates.
    number: usize,
}

impl Plugin for Templates {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let name = visit.query.question.lower().to_buf();
        // The name's text is made only if a template's zone matches.
        let mut name_text = None;
        for template in &self.templates {
            let Some(zone) = template.zone_of(&visit.query.question) else { continue };
            let text: &NameText = name_text.get_or_insert_with(|| NameText::of(name.as_name()));
            let pattern = template.patterns.iter().find(|pattern| pattern.matches(text));
            if let Some(step) = pattern.and_then(|pattern| self.answer(visit, template, zone, text, pattern))
            {
                return step;
            }
            if !template.fallthrough.through(name.as_name()) {
                visit.note(|_| format!("{} does not match and has no fallthrough", template.place));
                return Step::fail(Rcode::SERVFAIL);
            }
            visit.note(|_| format!("{} does not match; falls through to the next template", template.place));
        }
        Step::Next
    }
}

impl Template {
    /// The longest zone of the name, if the template's class and type match too.
    fn zone_of(&self, question: &Question) -> Option<&Zone> {
        let class = [self.class, question.qclass].contains(&Class::ANY) || self.class == question.qclass;
        let rtype = [self.rtype, question.qtype].contains(&Rtype::ANY) || self.rtype == question.qtype;
        if !class || !rtype {
            return None;
        }
        let zones = self.zones.iter().filter(|zone| question.lower().is_under(zone.name.as_name()));
        // The first of equal ones.
        zones.reduce(|longest, zone| if zone.text.len() > longest.text.len() { zone } else { longest })
    }
}

impl Templates {
    /// None if a condition is false.
    fn answer(
        &self,
        visit: &mut Visit<'_>,
        template: &Template,
        zone: &Zone,
        name: &str,
        pattern: &Regexp,
    ) -> Option<Step> {
        visit.note(|_| format!("{} matches by `{}`", template.place, pattern.source()));
        let matched = MatchedQuery::new(visit, template, zone, name, pattern);
        let (class, rtype) = (matched.class, matched.rtype);
        let variables = match template.conditions.evaluate(&matched) {
            Ok(Some(variables)) => variables,
            Ok(None) => return None,
            // CoreDNS does not log this.
            Err(error) => {
                visit.note(|_| format!("expression failed: {error}"));
                return Some(Step::fail(Rcode::SERVFAIL));
            }
        };
        if visit.is_served() {
            self.counters.matched(visit.server(), zone.number, class, rtype);
        }
        if template.rcode == Rcode::SERVFAIL {
            return Some(Step::fail(Rcode::SERVFAIL));
        }
        if let Some(step) = answer::constant(visit, template) {
            return Some(step);
        }
        let matched = MatchedQuery::new(visit, template, zone, name, pattern).with(variables);
        let rendered = match RenderedReply::render(template, &matched) {
            Ok(rendered) => rendered,
            Err(failure) => {
                if visit.is_served() {
                    self.counters.failed(visit.server(), zone.number, [class, rtype], &failure);
                }
                return Some(Step::error(Rcode::SERVFAIL, failure.error));
            }
        };
        Some(rendered.begin(visit, template))
    }
}
