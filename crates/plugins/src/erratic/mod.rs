//! Answers every query, but drops, delays or truncates some of them: for testing clients.

mod setup;
#[cfg(test)]
mod tests;
mod zone;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use server::{Client, Plugin, Ready, SearchPath, Step, Visit, task};
use wire::{Flags, Name, Owner, Rcode, Rtype, Section};

pub(crate) use setup::setup;

const A: [u8; 4] = [192, 0, 2, 53];
const AAAA: [u8; 16] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53];
/// Records of an answer with `large`.
const LARGE_COPIES: usize = 30;

struct Erratic {
    options: Options,
    /// Queries so far; the first has number 0.
    queries: AtomicU64,
}

/// `drop`, `delay` and `truncate` are amounts as in the Corefile; 0 disables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Options {
    drop: u64,
    delay: u64,
    truncate: u64,
    duration: Duration,
    /// Answers to A have 30 records.
    large: bool,
}

impl Options {
    fn drops(&self, number: u64) -> bool {
        self.drop > 0 && number.is_multiple_of(self.drop)
    }

    fn delays(&self, number: u64) -> bool {
        self.delay > 0 && number.is_multiple_of(self.delay)
    }

    /// CoreDNS masks here where it divides elsewhere, so 5 truncates queries 0, 2, 8, 10 and so on. Tests may rely on
    /// that.
    fn truncates(&self, number: u64) -> bool {
        self.truncate > 0 && number & self.truncate == 0
    }
}

impl Plugin for Erratic {
    fn name(&self) -> &'static str {
        "erratic"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let number = match visit.is_served() {
            true => self.queries.fetch_add(1, Ordering::Relaxed),
            false => self.queries.load(Ordering::Relaxed),
        };
        let options = self.options;
        if options.drops(number) {
            visit.note(|_| format!("query {number} dropped (drop {})", options.drop));
            return Step::Drop;
        }
        if options.delays(number) {
            visit.note(|_| format!("query {number} delayed (delay {})", options.delay));
            let sleep = tokio::time::sleep(options.duration);
            return Step::Wait(task(sleep, move |(), visit| answer(visit, options, number)));
        }
        answer(visit, options, number)
    }
}

impl SearchPath for Erratic {
    /// The same for all clients, for testing `autopath`.
    fn search_path(&self, _name: Name<'_>, _client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool) {
        const DOMAINS: [&[u8]; 3] = [b"\x01a\x07example\x03org\0", b"\x01b\x07example\x03org\0", b"\0"];
        let _ = DOMAINS.into_iter().filter_map(Name::from_wire).all(each);
    }
}

impl Ready for Erratic {
    /// Changes both ways, for testing `ready`.
    fn ready(&self) -> bool {
        (3..5).contains(&self.queries.load(Ordering::Relaxed))
    }
}

fn answer(visit: &mut Visit<'_>, options: Options, number: u64) -> Step {
    let truncated = options.truncates(number);
    if truncated {
        visit.note(|_| format!("query {number} truncated (truncate {})", options.truncate));
    }
    let qtype = visit.query.question.qtype;
    let (data, copies): (&[u8], usize) = match qtype {
        Rtype::A => (&A, if options.large { LARGE_COPIES } else { 1 }),
        Rtype::AAAA => (&AAAA, 1),
        Rtype::AXFR => {
            let apex = visit.query.question.name().to_buf();
            zone::transfer(visit.begin(), apex.as_name(), !truncated);
            return Step::Answer;
        }
        _ => return Step::fail(Rcode::SERVFAIL),
    };
    let reply = visit.begin();
    reply.flags.set(Flags::AA, true);
    reply.flags.set(Flags::TC, truncated);
    for _ in 0..copies {
        reply.push(Section::Answer, Owner::Question(0), qtype, 0, data);
    }
    Step::Answer
}
