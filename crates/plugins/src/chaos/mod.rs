//! Tells version, authors and host name to those who ask in class CH.

mod setup;
#[cfg(test)]
mod tests;

use std::time::{SystemTime, UNIX_EPOCH};

use server::{Plugin, Step, Visit};
use wire::{Class, Owner, Record, Rtype, Section};

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

    fn opens_classes(&self) -> bool {
        true
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
        shuffle(reply.section_mut(Section::Answer));
        Step::Answer
    }
}

/// So that no author is always the first. Nothing hangs on how random it is: the clock will do.
fn shuffle(records: &mut [Record]) {
    let mut state = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    for last in (1..records.len()).rev() {
        // A step of Knuth's linear congruential generator; its upper half is the good one.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        records.swap(last, (state >> 33) as usize % (last + 1));
    }
}
