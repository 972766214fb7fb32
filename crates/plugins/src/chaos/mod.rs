//! Answers TXT queries of class CH for version, authors and host name.

mod setup;
#[cfg(test)]
mod tests;

use rand::seq::SliceRandom;
use server::{Plugin, Step, Visit};
use wire::{Class, Owner, Rtype, Section};

pub(crate) use setup::setup;

/// The texts are ready for the wire: at most 255 octets each, escapes resolved.
struct Chaos {
    version: Vec<u8>,
    authors: Vec<Vec<u8>>,
    hostname: Vec<u8>,
}

impl Plugin for Chaos {
    fn name(&self) -> &'static str {
        "chaos"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        if question.qclass != Class::CH || question.qtype != Rtype::TXT {
            return Step::Next;
        }
        let texts: &[Vec<u8>] = match question.lower().wire() {
            b"\x07authors\x04bind\0" => &self.authors,
            b"\x07version\x04bind\0" | b"\x07version\x06server\0" => std::slice::from_ref(&self.version),
            b"\x08hostname\x04bind\0" | b"\x02id\x06server\0" => std::slice::from_ref(&self.hostname),
            _ => return Step::Next,
        };
        let reply = visit.begin();
        for text in texts {
            reply.push_with(Section::Answer, Owner::Question(0), Rtype::TXT, Class::CH, 0, |data| {
                data.text(text);
            });
        }
        // No author is always the first.
        reply.section_mut(Section::Answer).shuffle(&mut rand::rng());
        Step::Answer
    }
}
