//! `log`: a line per query on standard output.
//!
//! CoreDNS writes the line when the reply has left its hands, so some values are taken early and some late:
//!
//! ```text
//! query()  the rule, the start time
//! reply()  the reply's size and kind, before plugins further up change it
//! sent()   flags after truncation, the size of the query, the duration: the line
//! ```
//!
//! Failures, drops and look-ups of other plugins never become bytes here or need none; their line is written in
//! `reply()`. Of a series of messages (a zone transfer) the first one is logged.

#[cfg(test)]
pub(crate) mod capture;
mod format;
mod line;
mod setup;
#[cfg(test)]
mod tests;

use std::time::Instant;

use server::{Hooks, Metadata, MetadataView, Outcome, Plugin, Sent, Slot, Step, Turn, Visit};
use wire::{Flags, HEADER_LEN, NameBuf, Query, Reply};

use crate::kind::{Classes, Kind};
pub(crate) use format::{Format, Piece, Value};
pub(crate) use line::{Line, Written};
pub(crate) use setup::setup;

pub(crate) struct Log {
    /// The first whose scope holds the name decides.
    rules: Vec<Rule>,
    /// Start times are kept as nanoseconds from here, because slots hold plain words.
    epoch: Instant,
}

struct Rule {
    /// In lower case; None is a scope that is no name and holds none.
    scope: Option<NameBuf>,
    format: Format,
    classes: Classes,
}

/// What a slot's words mean.
#[derive(Clone, Copy)]
struct Memory {
    /// Number of the rule from 1; 0 when there is nothing to log, or no more.
    rule: u64,
    start: u64,
    size: u64,
    /// The reply's kind from 1; 0 when it is not known yet.
    kind: u64,
}

impl Memory {
    fn of(slot: &Slot) -> Memory {
        let [rule, start, size, kind] = slot.words;
        Memory { rule, start, size, kind }
    }

    fn keep(self, slot: &mut Slot) {
        slot.words = [self.rule, self.start, self.size, self.kind];
    }

    fn kind(self) -> Option<Kind> {
        Kind::from_number(self.kind)
    }
}

impl Plugin for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY | Hooks::SENT
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let name = visit.query.question.lower();
        let holds = |rule: &Rule| rule.scope.as_ref().is_some_and(|scope| name.is_under(scope.as_name()));
        let rule = self.rules.iter().position(holds).map_or(0, |at| at as u64 + 1);
        if rule > 0 {
            Memory { rule, start: self.now(), size: 0, kind: 0 }.keep(visit.slot());
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let mut memory = Memory::of(visit.slot());
        let Some(rule) = self.rule(memory) else { return Turn::Up };
        let outcome = visit.outcome();
        let kind = Kind::of(outcome, visit.query, visit.reply);
        memory.kind = kind.number();
        memory.size = match outcome {
            Outcome::Records => visit.reply.plain_len(&visit.query.question) as u64,
            Outcome::Failure => failure_len(visit.query),
            Outcome::Drop => 0,
        };
        let wanted = rule.classes.has(kind.class());
        // Only a reply to a client has bytes to wait for.
        let later = wanted && outcome == Outcome::Records && visit.depth() == 0;
        let start = memory.start;
        if !later {
            memory.rule = 0;
        }
        memory.keep(visit.slot());
        if !wanted {
            visit.note(|_| format!("class {} is not logged here", kind.class().text()));
        } else if !later {
            let written = match outcome {
                Outcome::Records => Written::Reply { flags: visit.reply.flags },
                Outcome::Failure => Written::Failure { flags: visit.reply.flags },
                Outcome::Drop => Written::Nothing,
            };
            let line = Line {
                query: visit.query,
                reply: visit.reply,
                client: visit.client,
                written,
                rsize: memory.size,
                nanos: self.now().saturating_sub(start),
            };
            line.write(&rule.format, &|label| visit.metadata(label));
        }
        Turn::Up
    }

    fn sent(&self, sent: &mut Sent<'_>, packet: &mut Vec<u8>) {
        let memory = Memory::of(sent.slot());
        if let Some(rule) = self.rule(memory) {
            let bits = packet.get(2..4).map_or(0, |bits| u16::from_be_bytes([bits[0], bits[1]]));
            let line = Line {
                query: sent.query,
                reply: sent.reply,
                client: sent.client,
                written: Written::Reply { flags: Flags(bits) },
                rsize: memory.size,
                nanos: self.now().saturating_sub(memory.start),
            };
            line.write(&rule.format, &|label| sent.metadata(label));
        }
        // The next query in this slot may be answered before it gets here.
        sent.slot().words = [0; 4];
    }

    fn as_metadata(&self) -> Option<&dyn Metadata> {
        Some(self)
    }
}

impl Metadata for Log {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        let kind = || Memory::of(view.slot()?).kind();
        match label {
            "log/class" => Some(kind()?.class().text().to_owned()),
            "log/type" => Some(kind()?.text().to_owned()),
            _ => None,
        }
    }
}

impl Log {
    fn new(rules: Vec<Rule>) -> Log {
        Log { rules, epoch: Instant::now() }
    }

    fn rule(&self, memory: Memory) -> Option<&Rule> {
        self.rules.get(usize::try_from(memory.rule).ok()?.checked_sub(1)?)
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

/// A failure is logged as the bare reply it becomes: header and question.
fn failure_len(query: &Query) -> u64 {
    (HEADER_LEN + query.question.name().len() + 4) as u64
}

/// What CoreDNS takes for the size of a query: once a reply without an OPT of its own was written, the query's
/// has lost its options to it.
fn query_len(query: &Query, reply: &Reply, written: Written) -> u64 {
    let lost = matches!(written, Written::Reply { .. }) && reply.opt.is_none();
    (query.plain_len() - if lost { query.opt_extra_len() } else { 0 }) as u64
}
