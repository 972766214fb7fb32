//! Makes records out of the query, by Go templates.
//!
//! ```text
//!   query ─→ template: zone, class, type, regular expressions ─→ records, rcode
//!              │ none matches: SERVFAIL, or with fallthrough the next one
//!              ↓
//!            template …                                       ─→ the next plugin
//! ```
//!
//! What a template says whatever the query is, is parsed once, at setup.

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
use server::{Link, Plugin, Step, Visit};
use wire::{Class, NameBuf, Question, Rcode, Rtype, Section, option};

use answer::Plan;
use conditions::Conditions;
use counters::Counters;
use data::Matched;
use record::RecordTemplate;
pub(crate) use setup::setup;

use crate::parse::Fallthrough;
use crate::spelling::Spelling;

/// What CoreDNS says it can take, to clients that sent no EDNS.
const UDP_SIZE: u16 = 4096;

struct Templates {
    templates: Vec<Template>,
    counters: Counters,
}

/// One `template` of the Corefile.
struct Template {
    class: Class,
    rtype: Rtype,
    zones: Vec<Zone>,
    /// The first that matches counts; without any, everything does.
    patterns: Vec<Regexp>,
    conditions: Conditions,
    records: Vec<(Section, RecordTemplate)>,
    rcode: Rcode,
    /// Data of the extended error, if there is one.
    extended_error: Option<Vec<u8>>,
    fallthrough: Fallthrough,
    /// Where it stands, for people.
    place: String,
}

struct Zone {
    name: NameBuf,
    /// As templates and metrics show it.
    text: String,
    /// Its place among the zones of all templates.
    number: usize,
}

impl Plugin for Templates {
    fn name(&self) -> &'static str {
        "template"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let name = visit.query.question.lower().to_buf();
        // Only a template whose zone has the name needs it as text.
        let mut spelling = None;
        for template in &self.templates {
            let Some(zone) = template.zone_of(&visit.query.question) else { continue };
            let text: &Spelling = spelling.get_or_insert_with(|| Spelling::of(name.as_name()));
            let pattern = template.patterns.iter().find(|pattern| pattern.matches(text));
            if let Some(step) = pattern.and_then(|pattern| self.answer(visit, template, zone, text, pattern))
            {
                return step;
            }
            if !template.fallthrough.through(name.as_name()) {
                visit.note(|_| format!("{} does not match, and has no fallthrough", template.place));
                return Step::fail(Rcode::SERVFAIL);
            }
            visit.note(|_| format!("{} does not match; falls through", template.place));
        }
        Step::Next
    }

    fn returns_codes(&self) -> bool {
        true
    }

    fn link(&self, link: &Link<'_>) {
        let view = link.block().view_name().unwrap_or_default();
        let servers = link.served().iter().map(|(server, _)| server.as_str());
        let zones = self.templates.iter().flat_map(|template| &template.zones).map(|zone| zone.text.as_str());
        self.counters.link(servers, zones, view);
    }
}

impl Template {
    /// The longest zone that has the name, if class and type are this template's as well.
    fn zone_of(&self, question: &Question) -> Option<&Zone> {
        let class = [self.class, question.qclass].contains(&Class::ANY) || self.class == question.qclass;
        let rtype = [self.rtype, question.qtype].contains(&Rtype::ANY) || self.rtype == question.qtype;
        if !class || !rtype {
            return None;
        }
        let zones = self.zones.iter().filter(|zone| question.lower().is_under(zone.name.as_name()));
        // Of equal ones the first.
        zones.reduce(|longest, zone| if zone.text.len() > longest.text.len() { zone } else { longest })
    }
}

impl Templates {
    /// None if a condition does not hold.
    fn answer(
        &self,
        visit: &mut Visit<'_>,
        template: &Template,
        zone: &Zone,
        name: &str,
        pattern: &Regexp,
    ) -> Option<Step> {
        visit.note(|_| format!("{} matches by `{}`", template.place, pattern.source()));
        let matched = Matched::new(visit, template, zone, name, pattern);
        let (class, rtype) = (matched.class, matched.rtype);
        let variables = match template.conditions.hold(&matched) {
            Ok(Some(variables)) => variables,
            Ok(None) => return None,
            // CoreDNS says nothing about it.
            Err(error) => {
                visit.note(|_| format!("an expression fails: {error}"));
                return Some(Step::fail(Rcode::SERVFAIL));
            }
        };
        self.counters.matched(visit.server(), zone.number, class, rtype);
        if template.rcode == Rcode::SERVFAIL {
            return Some(Step::fail(Rcode::SERVFAIL));
        }
        if let Some(step) = answer::constant(visit, template) {
            return Some(step);
        }
        let matched = Matched::new(visit, template, zone, name, pattern).with(variables);
        let plan = match Plan::render(template, &matched) {
            Ok(plan) => plan,
            Err(failed) => {
                self.counters.failed(visit.server(), zone.number, [class, rtype], &failed);
                return Some(Step::error(Rcode::SERVFAIL, failed.error));
            }
        };
        Some(plan.begin(visit, template))
    }
}
