//! Answers queries of type ANY with one HINFO record (RFC 8482) instead of all records.

mod setup;
#[cfg(test)]
mod tests;

use server::{Plugin, Step, Visit};
use wire::{Class, Owner, Rtype, Section};

pub(crate) use setup::setup;

/// The number of the RFC, as a hint for people who wonder.
const TTL: u32 = 8482;

struct Any;

impl Plugin for Any {
    fn name(&self) -> &'static str {
        "any"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if visit.query.question.qtype != Rtype::ANY {
            return Step::Next;
        }
        // The class is IN whatever the question's is, as in CoreDNS.
        visit.begin().push_with(Section::Answer, Owner::Question(0), Rtype::HINFO, Class::IN, TTL, |data| {
            data.text(b"ANY obsoleted").text(b"See RFC 8482");
        });
        Step::Answer
    }
}
